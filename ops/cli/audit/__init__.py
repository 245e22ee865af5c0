"""`kuelog audit`: its subcommands."""
