"""Which workloads each service still has to look at: a hint, so that nobody looks at what has not changed.

A service takes each workload once after anything happened to it, in the order of keys. Whatever is taken away here comes
back when the trail goes back behind it.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from projections.trail import Trail


class WorkQueue:
    """Keys of workloads by reader. A reader that comes for the first time finds all workloads."""

    __slots__ = ("_all", "_readers", "_trail")

    def __init__(self, trail: Trail, everything: Mapping[str, object]) -> None:
        self._trail, self._all = trail, everything
        self._readers: dict[str, _Pile] = {}

    def mark_dirty(self, key: str) -> None:
        """Something happened to this workload."""
        for pile in self._readers.values():
            pile.add(key)

    def forget(self, key: str) -> None:
        """The workload is gone: there is nothing to look at, but for who wants to know that it is."""
        for reader, pile in self._readers.items():
            if pile.gone:
                pile.add(key)
            else:
                self.mark_done(reader, key)

    def waiting(self, reader: str) -> Iterable[str]:
        """What the reader has still to look at, in no order; nothing is taken."""
        pile = self._readers.get(reader)
        return self._all if pile is None else pile.keys

    def mark_done(self, reader: str, key: str) -> None:
        """The reader has nothing to look at there, such as after a change that was its own decision."""
        pile = self._readers.get(reader)
        if pile is not None and key in pile.keys:
            pile.keys.remove(key)
            self._trail.note(partial(pile.add, key))

    def take(self, reader: str) -> Iterator[str]:
        """What the reader has not looked at since something happened to it, by key; each is taken as it is yielded."""
        pile = self._readers.get(reader)
        if pile is None:
            pile = self._readers[reader] = _Pile(gone=False)
            for key in self._all:
                pile.add(key)
        while (key := pile.first()) is not None:
            self._trail.note(partial(pile.add, key))
            yield key

    def take_all(self, reader: str) -> Iterable[str]:
        """What `take` would yield and what is gone since, in no order, at once: for a reader of its own that keeps what it has read."""
        pile = self._readers.get(reader)
        if pile is None:
            self._readers[reader] = pile = _Pile(gone=True)
            found = set(self._all)
        else:
            found = pile.clear()
        if found:
            self._trail.note(partial(pile.add_all, found))
        return found


class _Pile:
    """Keys to look at, each once, the smallest first."""

    __slots__ = ("_heap", "gone", "keys")

    def __init__(self, *, gone: bool) -> None:
        self.gone = gone
        self.keys: set[str] = set()
        self._heap: list[str] = []

    def add(self, key: str) -> None:
        if key not in self.keys:
            self.keys.add(key)
            heapq.heappush(self._heap, key)

    def first(self) -> str | None:
        while self._heap:
            key = heapq.heappop(self._heap)
            if key in self.keys:
                self.keys.remove(key)
                return key
        self.keys = set()  # One that was large once would stay so.
        return None

    def add_all(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.add(key)

    def clear(self) -> set[str]:
        found, self.keys = self.keys, set[str]()
        self._heap.clear()
        return found
