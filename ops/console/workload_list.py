"""Rows of workloads as people look for them: filtered, in any order, a part at a time, at the cost of that part and of what changed.

Each order that somebody looks at is kept, and brought up to date by the rows that changed since it was looked at last.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from events.json_object import JsonObject
from projections.explanation.read_models import WorkloadRow, cluster_queue_name, workload_row
from projections.workloads.lifecycle import Workload
from projections.world import World

MOST_ROWS = 200
"""Rows of one answer at most."""
MOST_KEPT = 64
"""Orders of rows that are kept, and as many counts; the one that was looked at longest ago goes first."""
_FEW = 16
"""Changes are kept as long as they are less than one in so many rows: behind more of them an order is made anew."""
_SORTS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("key", "queue", "cluster_queue", "priority", "since", "preempted")},
    "state": ("state", "reason"),
}
"""By the name of an order, the fields that make it, the first one most."""
SORTS = tuple(_SORTS)


class WorkloadQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which workloads, in which order, and which part of them."""

    namespaces: frozenset[str] | None = None
    """Those whose workloads are listed; None stands for all."""
    text: str = ""
    """What the key, the job, a queue or the reason has to hold, in any case of letters."""
    state: str = ""
    cluster_queue: str = ""
    sort: str = "key"
    descending: bool = False
    offset: int = 0
    limit: int = MOST_ROWS


class WorkloadList:
    """Rows by key, and the orders and counts that were asked for."""

    def __init__(self, rows: Iterable[WorkloadRow] = ()) -> None:
        self._rows = {row.key: row for row in rows}
        self._namespaces = Counter(_namespace(key) for key in self._rows)
        self._changes: list[tuple[WorkloadRow | None, WorkloadRow | None]] = []
        """What changed since the orders that are kept were made: each row as it was and as it is."""
        self._by_key = _Order(_Wanted(), "", ("key", False), sorted(self._rows.values(), key=attrgetter("key")), 0)
        """All rows by key, from which every other order is made."""
        self._texts: dict[str, str] = {}
        """By key what is searched in a row, of those that were searched since they changed last."""
        self._orders = OrderedDict[tuple[_Wanted, str, str, bool], _Order]()
        self._counts = OrderedDict[_Wanted, _Counts]()

    def __len__(self) -> int:
        return len(self._rows)

    def change(self, rows: Mapping[str, WorkloadRow | None]) -> None:
        """Take rows in place of those of the same keys; without a row that key is gone."""
        for key, row in rows.items():
            before = self._rows.pop(key, None) if row is None else self._rows.get(key)
            if row is not None:
                self._rows[key] = row
            self._namespaces[_namespace(key)] += (row is not None) - (before is not None)
            if before != row:
                self._changes.append((before, row))
                self._texts.pop(key, None)
        while len(self._changes) * _FEW > len(self._rows) and self._changes:
            self._let_go((len(self._changes) + 1) // 2)

    def _let_go(self, changes: int) -> None:
        """Forget the oldest changes, and whatever was not looked at since: it is made anew when somebody does."""
        self._by_key.followed(self._changes)
        del self._changes[:changes]
        self._by_key.upto -= changes
        self._orders = _still(self._orders, changes)
        self._counts = _still(self._counts, changes)

    def namespaces(self) -> frozenset[str]:
        """Those that have a workload."""
        return frozenset(name for name, count in self._namespaces.items() if count)

    def answer(self, query: WorkloadQuery) -> JsonObject:
        """A part of the rows that are wanted, and how many there are in all and by state."""
        wanted = _Wanted(query.namespaces, query.text.lower(), query.cluster_queue)
        matching = cache(partial(self._matching, wanted))
        states = self._states(wanted, matching)
        readable = self._states(_Wanted(query.namespaces))
        found = self._ordered(wanted, query.state, query.sort, descending=query.descending, matching=matching)
        return {
            "total": sum(readable.values()),
            "found": len(found),
            "states": dict(sorted(states.items())),
            "offset": query.offset,
            "workloads": msgspec.to_builtins(found[query.offset : query.offset + query.limit]),
        }

    def states(self, namespaces: frozenset[str] | None) -> dict[str, int]:
        """How many there are in each state."""
        return dict(sorted(self._states(_Wanted(namespaces)).items()))

    def longest_waiting(self, namespaces: frozenset[str] | None, most: int) -> Sequence[WorkloadRow]:
        """Those that wait for quota since the earliest times."""
        return self._ordered(_Wanted(namespaces), "pending", "since", descending=False)[:most]

    def _states(self, wanted: "_Wanted", matching: Callable[[], list[WorkloadRow]] | None = None) -> Mapping[str, int]:
        found = self._counts.pop(wanted, None)
        if found is None:
            states = Counter(row.state for row in (matching() if matching else self._matching(wanted)))
            found = _Counts(wanted, states, len(self._changes))
        self._counts[wanted] = found
        if len(self._counts) > MOST_KEPT:
            self._counts.popitem(last=False)
        return found.followed(self._changes)

    def _ordered(
        self,
        wanted: "_Wanted",
        state: str,
        sort: str,
        *,
        descending: bool,
        matching: Callable[[], list[WorkloadRow]] | None = None,
    ) -> Sequence[WorkloadRow]:
        key = wanted, state, sort, descending
        found = self._orders.pop(key, None)
        if found is None:
            rows = matching() if matching else self._matching(wanted)
            if state:
                rows = [row for row in rows if row.state == state]
            found = _Order(wanted, state, (sort, descending), rows, len(self._changes))
        self._orders[key] = found
        if len(self._orders) > MOST_KEPT:
            self._orders.popitem(last=False)
        return found.followed(self._changes)

    def _matching(self, wanted: "_Wanted") -> list[WorkloadRow]:
        """The rows that are wanted, by key."""
        rows = list(self._by_key.followed(self._changes))
        if wanted.cluster_queue:
            rows = [row for row in rows if row.cluster_queue == wanted.cluster_queue]
        if (namespaces := wanted.namespaces) is not None:
            rows = [row for row in rows if _namespace(row.key) in namespaces]
        if wanted.text:
            text, texts = wanted.text, self._texts
            rows = [row for row in rows if text in (texts.get(row.key) or self._text_of(row))]
        return rows

    def _text_of(self, row: WorkloadRow) -> str:
        found = self._texts[row.key] = _searched(row)
        return found


def _searched(row: WorkloadRow) -> str:
    return f"{row.key} {row.job} {row.queue} {row.reason}".lower()


def _namespace(key: str) -> str:
    return key.partition("/")[0]


class _Wanted(msgspec.Struct, frozen=True):
    """Which rows are looked at, in whatever state."""

    namespaces: frozenset[str] | None = None
    text: str = ""
    cluster_queue: str = ""

    def matches(self, row: WorkloadRow) -> bool:
        """Whether a row is among them."""
        if self.namespaces is not None and _namespace(row.key) not in self.namespaces:
            return False
        if self.cluster_queue not in ("", row.cluster_queue):
            return False
        return not self.text or self.text in _searched(row)


_Changes = Sequence[tuple[WorkloadRow | None, WorkloadRow | None]]


class _Counts:
    """How many rows are in each state."""

    def __init__(self, wanted: _Wanted, states: Counter[str], upto: int) -> None:
        self._wanted, self._states, self.upto = wanted, states, upto

    def followed(self, changes: _Changes) -> Mapping[str, int]:
        """The counts with all that changed."""
        for before, after in changes[self.upto :]:
            for row, by in ((before, -1), (after, 1)):
                if row is not None and self._wanted.matches(row):
                    self._states[row.state] += by
                    if not self._states[row.state]:
                        del self._states[row.state]
        self.upto = len(changes)
        return self._states


class _Order:
    """Rows in one order, made of rows by key; of equals the one with the smaller key stands first, so every order is total, and rows hold still."""

    def __init__(
        self, wanted: _Wanted, state: str, order: tuple[str, bool], rows: list[WorkloadRow], upto: int
    ) -> None:
        sort, self._descending = order
        self._wanted, self._state, self.upto = wanted, state, upto
        fields = _SORTS[sort]
        self._value: Callable[[WorkloadRow], Any] = attrgetter(*fields)
        if order != ("key", False):
            for field in reversed(fields):  # One after the other is faster than by all of them at once.
                rows.sort(key=attrgetter(field), reverse=self._descending)
        self._rows = rows

    def followed(self, changes: _Changes) -> Sequence[WorkloadRow]:
        """The rows with all that changed."""
        for before, after in changes[self.upto :]:
            if before is not None and self._holds(before):
                del self._rows[self._place(before)]
            if after is not None and self._holds(after):
                self._rows.insert(self._place(after), after)
        self.upto = len(changes)
        return self._rows

    def _holds(self, row: WorkloadRow) -> bool:
        return self._state in ("", row.state) and self._wanted.matches(row)

    def _place(self, row: WorkloadRow) -> int:
        """Where a row stands, or is to stand: by bisection."""
        low, high = 0, len(self._rows)
        while low < high:
            middle = (low + high) // 2
            if self._before(self._rows[middle], row):
                low = middle + 1
            else:
                high = middle
        return low

    def _before(self, one: WorkloadRow, other: WorkloadRow) -> bool:
        first, second = self._value(one), self._value(other)
        if first == second:
            return one.key < other.key
        return first > second if self._descending else first < second


K = TypeVar("K")
V = TypeVar("V", _Counts, _Order)


def _still(kept: OrderedDict[K, V], changes: int) -> OrderedDict[K, V]:
    """Of what is kept that which has followed so many changes, which are forgotten."""
    found = OrderedDict((key, one) for key, one in kept.items() if one.upto >= changes)
    for one in found.values():
        one.upto -= changes
    return found


class FollowedRows:
    """The list of a world that goes on: what is folded, tried or taken back there changes only the rows that it is about."""

    def __init__(self, world: World) -> None:
        self.world, self.list = world, WorkloadList()
        self._known: dict[str, tuple[Workload, str]] = {}

    def followed(self) -> WorkloadList:
        """The list as the world stands."""
        changed: dict[str, WorkloadRow | None] = {}
        for key in self.world.work.take_all(_READER):
            workload = self.world.workloads.get(key)
            if workload is None:
                self._known.pop(key, None)
                changed[key] = None
                continue
            queue, known = cluster_queue_name(self.world, workload), self._known.get(key)
            # A workload never changes: whatever happens to it puts another in its place.
            if known is None or known[0] is not workload or known[1] != queue:
                self._known[key] = workload, queue
                changed[key] = workload_row(self.world, workload)
        if changed:
            self.list.change(changed)
        return self.list


_READER = "console"
