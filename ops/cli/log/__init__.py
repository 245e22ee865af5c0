"""`kuelog log`, `backup` and `restore`: what is done to a log, and what keeps it alive for long."""
