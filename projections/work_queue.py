"""Which workloads each service still has to look at: a hint, so that nobody looks at what has not changed.

A service takes each workload once after anything happened to it, in the order of keys, or one namespace after the other. Whatever is
taken away here comes back when the trail goes back behind it.
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
        pile.in_order()
        while (key := pile.first()) is not None:
            self._trail.note(partial(pile.add, key))
            yield key

    def let_others_first(self, reader: str, key: str) -> None:
        """Of the namespace of this key, which `take` yielded last, come no more before all others had their turn as well."""
        self._readers[reader].put_behind(key)

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
    """Keys to look at, each once, the smallest first, or one namespace after the other."""

    __slots__ = ("_behind", "_order", "_spaces", "gone", "keys")

    def __init__(self, *, gone: bool) -> None:
        self.gone = gone
        self.keys: set[str] = set()
        self._spaces: dict[str, list[str]] = {}
        """Heaps of keys by namespace, each with the slash behind it: in that order the keys are in theirs as well."""
        self._order: list[str] = []
        """A heap of the namespaces whose turn it is before those behind."""
        self._behind: list[str] = []

    def add(self, key: str) -> None:
        if key in self.keys:
            return
        self.keys.add(key)
        space = _space(key)
        known = self._spaces.get(space)
        if known is None:
            self._spaces[space] = [key]
            heapq.heappush(self._order, space)
        else:
            heapq.heappush(known, key)

    def first(self) -> str | None:
        while self._order or self._behind:
            if not self._order:
                self.in_order()
            heap = self._spaces[self._order[0]]
            while heap:
                key = heapq.heappop(heap)
                if key in self.keys:
                    self.keys.remove(key)
                    return key
            del self._spaces[heapq.heappop(self._order)]
        self.keys = set()  # One that was large once would stay so.
        return None

    def put_behind(self, key: str) -> None:
        space = _space(key)
        if space in self._order:
            self._order.remove(space)
            heapq.heapify(self._order)
            self._behind.append(space)

    def in_order(self) -> None:
        """The smallest comes first again, whoever was put behind."""
        if self._behind:
            self._order += self._behind
            heapq.heapify(self._order)
            self._behind.clear()

    def add_all(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.add(key)

    def clear(self) -> set[str]:
        found, self.keys = self.keys, set[str]()
        self._spaces.clear()
        self._order.clear()
        self._behind.clear()
        return found


def _space(key: str) -> str:
    return key[: key.find("/") + 1]
