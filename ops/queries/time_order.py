"""The events of a stream in the order of their time, while no more of them is held than times run against their order."""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import accumulate
from typing import Protocol, TypeVar

from events.event import Millis
from events.subjects import FACTS
from services.runtime.log_port import Entry

T = TypeVar("T")
Order = tuple[Millis, int, str, int, int]
"""The time first; no two events have the same."""


class StoredEvent(Protocol):
    """An event with its time and its place."""

    @property
    def at(self) -> Millis:
        """When it happened."""
        ...

    @property
    def entry(self) -> Entry:
        """The message that it is in."""
        ...

    @property
    def index(self) -> int:
        """Which of the events of its message it is."""
        ...


def order_of(one: StoredEvent) -> Order:
    """The place of an event among those of all streams: facts before decisions of the same millisecond, which were made on them."""
    return one.at, one.entry.stream != FACTS, one.entry.stream, one.entry.sequence, one.index


STEP = 1000
"""After so many messages is looked whose turn has come."""
NEVER: Millis = 1 << 62


def earliest_of(times: Iterable[Millis]) -> list[Millis]:
    """By step of a stream, the earliest time of any message that stands there or behind it; `times` holds one of each message."""
    least: list[Millis] = []
    for place, time in enumerate(times):
        if place % STEP == 0:
            least.append(NEVER)
        least[-1] = min(least[-1], time)
    return list(accumulate(reversed(least), min))[::-1]


def released(messages: Iterable[list[T]], earliest: list[Millis], order: Callable[[T], Order]) -> Iterator[T]:
    """The events of each message of a stream, in order. Nothing comes earlier than `earliest` says."""
    waiting: list[tuple[Order, T]] = []
    for place, events in enumerate(messages):
        if place % STEP == 0:
            # Of one time the one that was stored first comes first, so nothing that is not read yet comes before these.
            while waiting and waiting[0][0][0] <= earliest[place // STEP]:
                yield heappop(waiting)[1]
        for one in events:
            heappush(waiting, (order(one), one))
    while waiting:
        yield heappop(waiting)[1]
