"""`kuelog bench`: its subcommands."""
