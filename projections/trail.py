"""The undo trail: how state may change in place and still be taken back exactly.

Every change of folded state goes through a trail. A trial decision or a fact that no commit has fixed yet is undone by
going back to a mark, at a cost proportional to what was changed, never to the size of the world
(docs/rules/log.md#undo).
"""

from collections.abc import Callable, MutableMapping
from functools import partial
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

    def trial(self, after: Callable[[], None] | None = None) -> "Trial":
        """`with trail.trial():` whatever is changed within is taken back at its end, also when it ends with an error."""
        return Trial(self, after)

    def put(self, table: MutableMapping[K, V], key: K, value: V) -> None:
        """Set `table[key]`, remembering what was there."""
        self._undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    def drop(self, table: MutableMapping[K, V], key: K) -> None:
        """Remove `key` if it is there, so that it can be put back."""
        if key in table:
            self._undo.append((table, key, table.pop(key)))

    def add(self, table: MutableMapping[K, dict[str, None]], owner: K, key: str) -> None:
        """Put a key among those of an owner."""
        if owner not in table:
            self.put(table, owner, {})
        self.put(table[owner], key, None)

    def take(self, table: MutableMapping[K, dict[str, None]], owner: K, key: str) -> None:
        """Remove a key of an owner, if he has it; who has none left is forgotten, because there are more and more of those."""
        keys = table.get(owner)
        if keys is None:
            return
        self.drop(keys, key)
        if not keys:
            self.drop(table, owner)

    def clear(self, table: MutableMapping[K, V]) -> None:
        """Empty a table, remembering what was there."""
        if table:
            self.note(partial(table.update, dict(table)))
            table.clear()

    def set_item(self, row: list[V], index: int, value: V) -> None:
        """Set `row[index]`, remembering what was there."""
        self._undo.append((row, index, row[index]))
        row[index] = value

    def note(self, undo: Callable[[], object]) -> None:
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


class Trial:
    """What is changed for a time, to see what would come of it."""

    __slots__ = ("_after", "_mark", "_trail")

    def __init__(self, trail: Trail, after: Callable[[], None] | None) -> None:
        self._trail, self._after, self._mark = trail, after, -1

    def __enter__(self) -> "Trial":
        self._mark = self._trail.mark()
        return self

    def __exit__(self, *error: object) -> None:
        if self._mark >= 0:
            self._trail.undo(self._mark)
        if self._after is not None:
            self._after()

    def keep(self) -> None:
        """Let stand what was changed so far; a trial around this one takes it back with its own."""
        self._mark = -1
