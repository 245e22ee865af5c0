"""How commands end: the exit codes that all of them have in common, and the one message of a failure (docs/commands.md#exit-codes)."""

from rich.markup import escape

from ops.terminal.console import terminal

FOUND = 1
"""The answer is there and it is bad news: something differs, is missing, does not fit."""
FAILED = 2
"""It was asked wrongly, or could not be done."""
STOPPED = 130
"""Somebody pressed Ctrl-C."""


def complain(problem: object) -> int:
    """Say on standard error what is wrong; the exit code for it."""
    terminal(stderr=True, soft_wrap=True).print(f"[red]error:[/red] {escape(str(problem))}", highlight=False)
    return FAILED
