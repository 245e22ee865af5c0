"""What others wrote, read within bounds: files, YAML and JSON become values, or are refused in one sentence.

Nothing that is read may end a process or fill its memory, so that every file and body from outside comes in here.
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from events.bounded_yaml import (
    DEPTH_AT_MOST,
    NODES_AT_MOST,
    Unreadable,
    check_each_once,
    decoded,
    value_of,
    yaml_as_written,
    yaml_documents,
    yaml_of,
)

__all__ = [
    "DEPTH_AT_MOST",
    "NODES_AT_MOST",
    "Unreadable",
    "check_each_once",
    "value_of",
    "yaml_as_written",
    "yaml_documents",
    "yaml_of",
]

BYTES_AT_MOST = 64 << 20
STANDARD_INPUT = Path("-")

T = TypeVar("T")


def bytes_of(path: Path, at_most: int | None = BYTES_AT_MOST) -> bytes:
    """A whole file, `-` for standard input; None for one of any length. Raises `Unreadable`."""
    try:
        with _opened(path) as file:
            data = file.read(-1 if at_most is None else at_most + 1)
    except (OSError, ValueError) as problem:
        raise Unreadable(getattr(problem, "strerror", None) or str(problem), place=path) from problem
    if at_most is not None and len(data) > at_most:
        raise Unreadable(f"it is longer than {at_most >> 20} MiB", place=path)
    return data


def _opened(path: Path) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else path.open("rb")


def text_of(path: Path) -> str:
    """The text of a file, with lines that end in \\n. Raises `Unreadable`."""
    try:
        return decoded(bytes_of(path)).replace("\r\n", "\n").replace("\r", "\n")
    except Unreadable as problem:
        raise Unreadable(problem.problem, place=path) from problem


def yaml_file(path: Path) -> Any:
    """The value of the only YAML document of a file. Raises `Unreadable`."""
    text = text_of(path)
    try:
        return yaml_of(text)
    except Unreadable as problem:
        raise Unreadable(problem.problem, place=path, line=problem.line) from problem


def json_of(data: bytes | str, kind: type[T], place: Path | str = "") -> T:
    """A JSON value of a type. Raises `Unreadable`."""
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError as problem:
        raise Unreadable("can't be read: nested too deep", place=place) from problem
    except (msgspec.MsgspecError, ValueError) as problem:
        raise Unreadable(f"can't be read: {problem}", place=place) from problem


def rows_in(path: Path, kind: type[T]) -> tuple[T, ...]:
    """The rows of a JSON file; none where it was never written. Raises `Unreadable`."""
    return json_of(path.read_bytes(), tuple[kind, ...], path) if path.exists() else ()
