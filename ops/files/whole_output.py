"""What is printed arrives whole, also of a process that is paused while it writes."""

import io
import sys


def buffer_output() -> None:
    """Put a buffer before an output that has none, as with PYTHONUNBUFFERED; lines still go out at once.

    Python drops the rest of a text there, without a word, when the system took only a part of it: so it does of a pipe that is full
    when the process is stopped and goes on, as a container that is paused or moved.
    """
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and isinstance(out.buffer, io.RawIOBase):
        encoding, errors = out.encoding, out.errors
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(out.detach()), encoding, errors, line_buffering=True)
