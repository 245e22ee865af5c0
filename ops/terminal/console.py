"""What commands print on: as wide as a terminal on a terminal; a pipe and a file get whole lines, never cut or wrapped."""

from collections.abc import Callable

from rich.console import Console

_WIDER_THAN_ANY_LINE = 100_000
"""Columns; rich wraps and cuts at 80 what does not go to a terminal."""


def terminal(*, stderr: bool = False, soft_wrap: bool = False) -> Console:
    """A console for standard output, or for standard error."""
    found = Console(stderr=stderr, soft_wrap=soft_wrap)
    if not found.file.isatty():
        found.width = _WIDER_THAN_ANY_LINE
    return found


def sayer(console: Console) -> Callable[..., None]:
    """Prints text as it is, a line each, in a style where one is given: names of others are no markup."""

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    return say
