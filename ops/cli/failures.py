"""Failures that a person can do something about: one clear message, an exit code, never a traceback."""

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from ops.terminal.console import terminal
from ops.terminal.endings import FAILED, STOPPED, complain


class ExitCode:
    """The exit code of a command (docs/commands.md#exit-codes)."""

    code = FAILED


@contextmanager
def known_failures(further: tuple[type[Exception], ...] = ()) -> Generator[ExitCode, None, None]:
    """Print a known failure, or one of the command's own, as one message on standard error with exit code 2; Ctrl-C ends with 130."""
    outcome = ExitCode()
    try:
        yield outcome
    except (KeyboardInterrupt, asyncio.CancelledError):
        terminal(stderr=True).print("stopped")
        outcome.code = STOPPED
    except Exception as failure:
        found = _known(failure, further)
        if found is None:
            raise
        for one in found:
            complain(one)


def _known(failure: Exception, further: tuple[type[Exception], ...]) -> list[Exception] | None:
    """The failures to be told; None where one is among them that nobody expects."""
    from ops.cli.known_failures import KNOWN  # noqa: PLC0415 - whatever can fail: a command that does not loads none of it

    known = (*KNOWN, *further)
    if not isinstance(failure, ExceptionGroup):
        return [failure] if isinstance(failure, known) else None
    leaves = list(_leaves(failure))
    return leaves if all(isinstance(one, known) for one in leaves) else None


def _leaves(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for one in group.exceptions:
        if isinstance(one, ExceptionGroup):
            yield from _leaves(one)
        else:
            yield one
