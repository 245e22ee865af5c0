"""Rows of workloads as people look for them: filtered, in any order, a part at a time, without sorting them for each who asks."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from events.json_object import JsonObject
from projections.explanation.read_models import WorkloadRow, cluster_queue_name, workload_row
from projections.workloads.lifecycle import Workload
from projections.world import World

MOST_ROWS = 200
"""Rows of one answer at most."""
_SORTS: dict[str, Callable[[WorkloadRow], tuple[object, ...]]] = {
    "key": lambda row: (row.key,),
    "queue": lambda row: (row.queue,),
    "cluster_queue": lambda row: (row.cluster_queue,),
    "priority": lambda row: (row.priority,),
    "state": lambda row: (row.state, row.reason),
    "since": lambda row: (row.since,),
    "preempted": lambda row: (row.preempted,),
}
SORTS = tuple(_SORTS)


class WorkloadQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which workloads, in which order, and which part of them."""

    text: str = ""
    """What the key, the job, a queue or the reason has to hold, in any case of letters."""
    state: str = ""
    cluster_queue: str = ""
    sort: str = "key"
    descending: bool = False
    offset: int = 0
    limit: int = MOST_ROWS


class WorkloadList:
    """Rows by key; an order is made when it is first asked for."""

    def __init__(self, rows: Sequence[WorkloadRow]) -> None:
        self.rows = rows
        self._orders: dict[tuple[str, bool], Sequence[WorkloadRow]] = {("key", False): rows}
        self._states: dict[str, int] | None = None

    def answer(self, query: WorkloadQuery) -> JsonObject:
        """A part of the rows that are wanted, and how many there are in all and by state."""
        ordered = self._ordered(query.sort, descending=query.descending)
        if query.text or query.cluster_queue:
            named = list(_named(ordered, query.text.lower(), query.cluster_queue))
            states = dict(sorted(Counter(row.state for row in named).items()))
        else:
            named, states = ordered, self._all_states()
        found = [row for row in named if row.state == query.state] if query.state else named
        return {
            "total": len(self.rows),
            "found": len(found),
            "states": states,
            "offset": query.offset,
            "workloads": msgspec.to_builtins(found[query.offset : query.offset + query.limit]),
        }

    def _ordered(self, sort: str, *, descending: bool) -> Sequence[WorkloadRow]:
        if (sort, descending) not in self._orders:
            # Rows are sorted by key already, and a sort keeps the order of equals: so every order is total, and rows hold still.
            self._orders[sort, descending] = sorted(self.rows, key=_SORTS[sort], reverse=descending)
        return self._orders[sort, descending]

    def _all_states(self) -> dict[str, int]:
        if self._states is None:
            self._states = dict(sorted(Counter(row.state for row in self.rows).items()))
        return self._states


class KnownRows:
    """The rows of a world that goes on: one is made anew only where its workload has changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Workload, str, WorkloadRow]] = {}

    def of(self, world: World) -> list[WorkloadRow]:
        """All workloads of the world as it stands, by key."""
        before, self._known = self._known, {}
        for key in sorted(world.workloads):
            workload = world.workloads[key]
            queue, known = cluster_queue_name(world, workload), before.get(key)
            # A workload never changes: whatever happens to it puts another in its place.
            if known is None or known[0] is not workload or known[1] != queue:
                known = workload, queue, workload_row(world, workload)
            self._known[key] = known
        return [row for _, _, row in self._known.values()]


def _named(rows: Iterable[WorkloadRow], text: str, cluster_queue: str) -> Iterator[WorkloadRow]:
    for row in rows:
        if cluster_queue not in ("", row.cluster_queue):
            continue
        if not text or text in f"{row.key} {row.job} {row.queue} {row.reason}".lower():
            yield row
