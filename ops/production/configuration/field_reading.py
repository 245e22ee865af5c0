"""Values of the file, read so that a mistake names its field."""

from collections.abc import Callable
from typing import TypeVar

from events.event import Millis
from ops.production.configuration.durations import duration

T = TypeVar("T")
V = TypeVar("V")


def at(field: str, read: Callable[[V], T], value: V) -> T:
    """A value of the file. Raises `ValueError` naming its field."""
    try:
        return read(value)
    except ValueError as problem:
        raise ValueError(f"{field}: {problem}") from problem


def duration_at(field: str, text: str | None) -> Millis | None:
    """A duration, where the file has one. Raises `ValueError` naming its field."""
    return None if text is None else at(field, duration, text)
