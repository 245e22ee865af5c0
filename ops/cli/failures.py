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
    except ExceptionGroup as group:
        found, rest = group.split((*_known(), *further))
        if rest is not None or found is None:
            raise
        for failure in _leaves(found):
            complain(failure)
    except Exception as failure:
        if not isinstance(failure, (*_known(), *further)):
            raise
        complain(failure)
    except (KeyboardInterrupt, asyncio.CancelledError):
        terminal(stderr=True).print("stopped")
        outcome.code = STOPPED


def _known() -> tuple[type[Exception], ...]:
    from ops.cli.failure_kinds import KNOWN  # noqa: PLC0415 - only who fails needs all the parts that can

    return KNOWN


def _leaves(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for one in group.exceptions:
        if isinstance(one, ExceptionGroup):
            yield from _leaves(one)
        else:
            yield one
