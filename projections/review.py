"""Which workloads each service still has to look at: a hint, so that nobody looks at what has not changed.

A service takes each workload once after anything happened to it. What it took for a decision that was taken back, it
finds here again.
"""

from collections.abc import Iterable, Iterator, Mapping

from projections.trail import Trail


class Review:
    """Keys of workloads by reader. A reader that comes for the first time finds all workloads."""

    __slots__ = ("_all", "_tables", "_trail")

    def __init__(self, trail: Trail, everything: Mapping[str, object]) -> None:
        self._trail, self._all = trail, everything
        self._tables: dict[str, dict[str, None]] = {}

    def add(self, key: str) -> None:
        """Something happened to this workload."""
        for table in self._tables.values():
            table[key] = None

    def add_all(self, keys: Iterable[str]) -> None:
        """Something happened that may matter to all of these."""
        for key in keys:
            self.add(key)

    def forget(self, key: str) -> None:
        """The workload is gone: there is nothing to look at."""
        for table in self._tables.values():
            table.pop(key, None)

    def take(self, reader: str) -> Iterator[str]:
        """What the reader has not looked at since something happened to it, by key; each is taken as it is told."""
        table = self._tables.get(reader)
        if table is None:
            table = self._tables[reader] = dict.fromkeys(self._all)
        for key in sorted(table):
            self._trail.drop(table, key)
            yield key
