"""Many keys in their order, in rows that are short enough to be cheap to change: a third of what a table of them takes."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import partial
from operator import itemgetter

from projections.trail import Trail

MOST = 512
"""A row that has grown beyond this is divided."""
_first = itemgetter(0)


class SortedKeys:
    """Keys of objects, each once, walked in order; a change goes through the trail."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: list[list[str]] = []
        """None of them is empty."""

    def __iter__(self) -> Iterator[str]:
        for row in self._rows:
            yield from row

    def __len__(self) -> int:
        return sum(map(len, self._rows))

    def add(self, trail: Trail, key: str) -> None:
        """Put a key among them, unless it is there."""
        if self._insert(key):
            trail.note(partial(self._delete, key))

    def remove(self, trail: Trail, key: str) -> None:
        """Take a key from among them, if it is there."""
        if self._delete(key):
            trail.note(partial(self._insert, key))

    def _row(self, key: str) -> list[str] | None:
        """The row in which a key is, if it is there; None where there is no row yet."""
        rows = self._rows
        if len(rows) < 2:  # noqa: PLR2004 - one row or none: most queues have no more
            return rows[0] if rows else None
        return rows[max(bisect_right(rows, key, key=_first) - 1, 0)]

    def _insert(self, key: str) -> bool:
        """Whether it was not there."""
        row = self._row(key)
        if row is None:
            self._rows.append([key])
            return True
        index = bisect_left(row, key)
        if index < len(row) and row[index] == key:
            return False
        row.insert(index, key)
        if len(row) > MOST:
            half = len(row) // 2
            self._rows.insert(self._rows.index(row) + 1, row[half:])
            del row[half:]
        return True

    def _delete(self, key: str) -> bool:
        """Whether it was there."""
        row = self._row(key)
        index = 0 if row is None else bisect_left(row, key)
        if row is None or index == len(row) or row[index] != key:
            return False
        del row[index]
        if not row:
            self._rows.remove(row)
        return True
