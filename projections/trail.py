"""The undo trail: how state may change in place and still be taken back exactly.

Every change of folded state goes through a trail. A trial decision or a fact that no commit has fixed yet is undone by
going back to a mark, at a cost proportional to what was changed, never to the size of the world (design §6).
"""

from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_ABSENT: Any = object()


class Trail:
    """Changes in the order in which they were made, each with what undoes it."""

    __slots__ = ("_undo",)

    def __init__(self) -> None:
        self._undo: list[tuple[Any, Any, Any]] = []

    def mark(self) -> int:
        """A place to come back to with `undo`."""
        return len(self._undo)

    def put(self, table: MutableMapping[K, V], key: K, value: V) -> None:
        """Set `table[key]`, remembering what was there."""
        self._undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    def drop(self, table: MutableMapping[K, V], key: K) -> None:
        """Remove `key` if it is there."""
        if key in table:
            self._undo.append((table, key, table.pop(key)))

    def set_item(self, row: list[V], index: int, value: V) -> None:
        """Set `row[index]`, remembering what was there."""
        self._undo.append((row, index, row[index]))
        row[index] = value

    def note(self, undo: Callable[[], None]) -> None:
        """Remember how to undo a change that was made elsewhere."""
        self._undo.append((None, None, undo))

    def undo(self, mark: int) -> None:
        """Take back everything since `mark`, last change first."""
        trail = self._undo
        while len(trail) > mark:
            table, key, old = trail.pop()
            if table is None:
                old()
            elif old is _ABSENT:
                del table[key]
            else:
                table[key] = old

    def forget(self) -> None:
        """Let go of the past: what has happened so far can't be undone any more."""
        self._undo.clear()
