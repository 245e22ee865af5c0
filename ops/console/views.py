"""What each page shows, as plain values, of a folded world: the rows that the command line prints, and sums of them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from events.event import Millis
from events.json_object import JsonObject
from ops.console.guard import BadQuestion
from ops.production.cards_view import CardView
from projections.explanation.read_models import UsageRow, WorkloadRow, queue_rows, usage_rows
from projections.quota.lending import lending
from projections.quota.node import Node
from projections.world import World

MOST_ROWS = 200
"""Rows of one answer at most."""
_FIRST = 5
_DIGITS = 9
_SORTS: dict[str, Callable[[WorkloadRow], tuple[object, ...]]] = {
    "key": lambda row: (),
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


def overview(
    world: World, rows: Sequence[WorkloadRow], cards: Sequence[CardView], *, queues: bool = True
) -> JsonObject:
    """How many there are in which state, who waits longest; with `queues` also what the trees use, and how the cards are."""
    waiting = sorted((row for row in rows if row.state == "pending"), key=lambda row: (row.since, row.key))
    roots = {root.key for root in _nodes(world) if root.parent is None}
    return msgspec.to_builtins(
        {
            "states": dict(sorted(Counter(row.state for row in rows).items())),
            "longest_waiting": waiting[:_FIRST],
            "usage": [row for row in usage_rows(world) if row.node in roots] if queues else None,
            "cards": None
            if not queues
            else {
                "states": dict(sorted(Counter(card.state for card in cards).items())),
                "memory": sum(card.memory for card in cards),
                "memory_used": sum(card.memory_used for card in cards),
            },
        }
    )


def queues(world: World) -> JsonObject:
    """The nodes of the quota trees, each below its parent, with what they use; the cluster queues as rows; and what is borrowed."""
    usage: dict[str, list[UsageRow]] = {}
    for row in usage_rows(world):
        usage.setdefault(row.node, []).append(row)
    tops = sorted((node for node in _nodes(world) if node.parent is None), key=lambda node: node.key)
    tree: list[JsonObject] = []
    left = [(node, 0) for node in reversed(tops)]
    while left:
        node, depth = left.pop()
        tree.append(
            {
                "node": node.key,
                "name": node.name,
                "is_queue": node.is_queue,
                "depth": depth,
                "usage": usage.get(node.key, []),
            }
        )
        below = sorted(node.children.values(), key=lambda child: child.key, reverse=True)
        left += [(child, depth + 1) for child in below]
    return msgspec.to_builtins({"tree": tree, "queues": queue_rows(world), "lending": lending(world.quota)})


def workloads(rows: Sequence[WorkloadRow], query: WorkloadQuery) -> JsonObject:
    """A part of the rows that are wanted, and how many there are in all and by state."""
    text = query.text.lower()
    named = [row for row in rows if not text or text in " ".join((row.key, row.job, row.queue, row.reason)).lower()]
    named = [row for row in named if query.cluster_queue in ("", row.cluster_queue)]
    found = [row for row in named if query.state in ("", row.state)]
    # By key first: a sort that keeps the order of equals makes the order total, so that rows hold still.
    found.sort(key=lambda row: row.key, reverse=query.descending and query.sort == "key")
    found.sort(key=_SORTS[query.sort], reverse=query.descending)
    return msgspec.to_builtins(
        {
            "total": len(rows),
            "found": len(found),
            "states": dict(sorted(Counter(row.state for row in named).items())),
            "offset": query.offset,
            "workloads": found[query.offset : query.offset + query.limit],
        }
    )


def query_of(query: Mapping[str, str]) -> WorkloadQuery:
    """The filter, order and part of the workloads that an address asks for. Raises `BadQuestion`."""
    sort = query.get("sort", "key")
    if sort.removeprefix("-") not in SORTS:
        raise BadQuestion(f"sort: {sort!r} is no column: write one of {', '.join(SORTS)}, with - for descending")
    return WorkloadQuery(
        text=query.get("text", ""),
        state=query.get("state", ""),
        cluster_queue=query.get("queue", ""),
        sort=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        offset=_number(query, "offset", 0),
        limit=min(_number(query, "limit", MOST_ROWS), MOST_ROWS),
    )


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise BadQuestion(f"{name}: {text!r} is not a whole number, at least 0")
    return int(text)


def as_of(at: Millis, sequences: dict[str, int], *, live: bool) -> JsonObject:
    """The moment that an answer is of, and the last sequence of each stream that it rests on."""
    return {"at": at, "sequences": sequences, "live": live}


def _nodes(world: World) -> list[Node]:
    return [*world.quota.cohorts.values(), *world.quota.queues.values()]
