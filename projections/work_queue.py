"""Which workloads each service still has to look at: a hint, so that nobody looks at what has not changed.

A service takes each workload once after anything happened to it, in the order of keys, or one namespace after the other. Whatever is
taken away here comes back when the trail goes back behind it.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sized
from functools import partial

from projections.trail import Trail

SHARE = 20
"""After so many decisions about workloads of a namespace it is the turn of the others (docs/rules/log.md#turns-of-namespaces)."""
_BY_NAME = 100
"""So many decisions of a commit go by the names of namespaces, the others by lot."""


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
        pile.begin()
        while (key := pile.first()) is not None:
            self._trail.note(partial(pile.add, key))
            yield key

    def take_in_turns(self, reader: str, decided: Sized, lot: int) -> Iterator[str]:
        """What `take` yields, one namespace after the other; `decided` grows by what the reader decides.

        The lot is a number that the log gives. It alone says who comes first, and not what there is to look at: that differs
        between who has folded all along and who has just begun.
        """
        space, since, drawn = "", 0, False
        for key in self.take(reader):
            before, own = len(decided), _space(key)
            yield key
            if own != space and len(decided) > before:
                space, since = own, before
            if own == space and len(decided) - since >= SHARE:
                self._readers[reader].put_behind(key)
                space = ""
            if not drawn and len(decided) >= _BY_NAME:
                drawn = True
                self._readers[reader].draw(lot)

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

    __slots__ = ("_behind", "_lot", "_order", "_spaces", "gone", "keys")

    def __init__(self, *, gone: bool) -> None:
        self.gone = gone
        self.keys: set[str] = set()
        self._spaces: dict[str, list[str]] = {}
        """Heaps of keys by namespace, each with the slash behind it: in that order the keys are in theirs as well."""
        self._lot: int | None = None
        """By which lot namespaces are in order; None while they are so by name."""
        self._order: list[tuple[bytes, str]] = []
        """A heap of the namespaces whose turn it is before those behind, each behind what its lot is."""
        self._behind: list[str] = []

    def add(self, key: str) -> None:
        if key in self.keys:
            return
        self.keys.add(key)
        space = _space(key)
        known = self._spaces.get(space)
        if known is None:
            self._spaces[space] = [key]
            heapq.heappush(self._order, self._place(space))
        else:
            heapq.heappush(known, key)

    def first(self) -> str | None:
        while self._order or self._behind:
            if not self._order:
                self._arrange(self._behind)
                self._behind = []
            heap = self._spaces[self._order[0][1]]
            while heap:
                key = heapq.heappop(heap)
                if key in self.keys:
                    self.keys.remove(key)
                    return key
            del self._spaces[heapq.heappop(self._order)[1]]
        self.keys = set()  # One that was large once would stay so.
        return None

    def put_behind(self, key: str) -> None:
        """Of the namespace of this key, which `first` gave last, come no more before all others had their turn as well."""
        place = self._place(_space(key))
        if place in self._order:
            self._order.remove(place)
            heapq.heapify(self._order)
            self._behind.append(place[1])

    def draw(self, lot: int) -> None:
        """Namespaces have their turns in another order from now on, by lot."""
        self._lot = lot
        self._arrange([space for _, space in self._order])

    def begin(self) -> None:
        """The smallest comes first again, whoever was put behind."""
        if self._behind or self._lot is not None:
            self._lot = None
            self._arrange([*(space for _, space in self._order), *self._behind])
            self._behind = []

    def _arrange(self, spaces: Iterable[str]) -> None:
        self._order = [self._place(space) for space in spaces]
        heapq.heapify(self._order)

    def _place(self, space: str) -> tuple[bytes, str]:
        if self._lot is None:
            return b"", space
        return hashlib.blake2b(f"{self._lot}/{space}".encode(), digest_size=8).digest(), space

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
