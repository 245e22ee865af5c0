"""What each page shows, as plain values, of a folded world: the rows that the command line prints, and sums of them."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from events.event import Millis
from events.json_object import JsonObject
from ops.console.guard import BadQuestion
from ops.console.rights import EVERYTHING, Rights
from ops.console.workload_list import MOST_ROWS, SORTS, WorkloadList, WorkloadQuery
from ops.production.cards_view import CardView
from projections.explanation.read_models import UsageRow, queue_rows, usage_rows
from projections.quota.borrowing_flows import lending
from projections.quota.node import Node
from projections.world import World

_FIRST = 5
_DIGITS = 9


def overview(world: World, listed: WorkloadList, cards: Sequence[CardView], rights: Rights) -> JsonObject:
    """How many there are in which state, who waits longest; who may read queues also sees what the trees use, and how the cards are."""
    roots = {root.key for root in _nodes(world) if root.parent is None}
    return msgspec.to_builtins(
        {
            "states": listed.states(rights.namespaces),
            "longest_waiting": listed.longest_waiting(rights.namespaces, _FIRST),
            "usage": [row for row in usage_rows(world) if row.node in roots] if rights.queues else None,
            "cards": None
            if not rights.queues
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


def query_of(query: Mapping[str, str], rights: Rights = EVERYTHING) -> WorkloadQuery:
    """The filter, order and part of the workloads that an address asks for, of those that may be read. Raises `BadQuestion`."""
    sort = query.get("sort", "key")
    if sort.removeprefix("-") not in SORTS:
        raise BadQuestion(f"sort: {sort!r} is no column: write one of {', '.join(SORTS)}, with - for descending")
    return WorkloadQuery(
        namespaces=rights.namespaces,
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
