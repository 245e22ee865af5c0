"""What operators have entered for a time: each is in force until the next one begins.

The first may begin in the past. A later one that would change what was in force already counts from when it was entered:
what was charged is changed by corrections alone (docs/rules/billing.md#prices).
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from events.event import Millis


class InForceFrom(Protocol):
    """Something with a time from which it is in force."""

    @property
    def starts(self) -> Millis:
        """From when it really counts."""
        ...


T = TypeVar("T", bound=InForceFrom)


class InForce(Generic[T]):
    """What was entered, by the time from which it is in force."""

    def __init__(self) -> None:
        self._all: list[T] = []

    @property
    def all(self) -> Sequence[T]:
        """In the order of their time."""
        return self._all

    def start_of(self, wanted: Millis, entered: Millis) -> Millis:
        """From when something really counts that was entered at a time to begin at another."""
        return max(wanted, entered) if self.at(wanted) is not None else wanted

    def put(self, one: T) -> None:
        """It is entered; what was to start at the same time is superseded."""
        self._all = sorted([*(other for other in self._all if other.starts != one.starts), one], key=_starts)

    def at(self, at: Millis) -> T | None:
        """What is in force at a time; None before the first."""
        found = bisect_right(self._all, at, key=_starts)
        return self._all[found - 1] if found else None

    def cuts(self, since: Millis, until: Millis) -> list[Millis]:
        """When something else comes into force between two times."""
        return [one.starts for one in self._all if since < one.starts < until]


def _starts(one: InForceFrom) -> Millis:
    return one.starts
