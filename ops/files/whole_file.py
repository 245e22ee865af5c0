"""Files that are written whole or not at all: whoever reads finds the old bytes or the new ones, also after a crash."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace a file. Raises `OSError`, for instance of a full disk, and leaves the file as it was then."""
    write_pieces(path, [data], mode=mode)


def write_pieces(path: Path, pieces: Iterable[bytes], *, mode: int = 0o644) -> None:
    """Replace a file by what these are in one. Raises `OSError`, and leaves the file as it was then."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as out:
            out.writelines(pieces)
            out.flush()
            os.fsync(descriptor)
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
