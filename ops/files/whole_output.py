"""What is printed arrives whole, also of a process that is paused while it writes; where it can't, that is said."""

import errno
import io
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

UNREAD = 141
"""Nobody reads what is printed any more, as of `| head -1`: what a shell says of a command that ends for that."""


def buffer_output() -> None:
    """Put a buffer before an output that has none, as with PYTHONUNBUFFERED; lines still go out at once.

    Python drops the rest of a text there, without a word, when the system took only a part of it: so it does of a pipe that is full
    when the process is stopped and goes on, as a container that is paused or moved.
    """
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and isinstance(out.buffer, io.RawIOBase):
        encoding, errors = out.encoding, out.errors
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(out.detach()), encoding, errors, line_buffering=True)


@contextmanager
def told_output() -> Generator[None, None, None]:
    """End with one message where what is printed can't be written, as to a file on a disk that is full; quietly where nobody reads it."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except SystemExit as ending:
        # typer and rich end so themselves where nobody reads, with a code that means bad news here.
        if isinstance(ending.__context__, BrokenPipeError):
            sys.exit(UNREAD)
        raise
    except OSError as problem:
        if not _is_refused():
            raise
        # What is left would be tried once more at the end of the process, and complained of.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if problem.errno == errno.EPIPE:
            sys.exit(UNREAD)
        print(f"error: standard output can't be written: {problem.strerror}", file=sys.stderr)  # noqa: T201 - what prints otherwise is broken
        sys.exit(2)


def _is_refused() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False
