"""Why a cluster queue is as it is: whether it is active, what it uses and lends, and which workloads are first in line."""

import msgspec

from events.json_object import JsonObject
from projections.explanation.read_models import usage_rows
from projections.explanation.shortages import borrowers
from projections.fair_sharing.share import share_of
from projections.queues.active_condition import inactive_reasons
from projections.set_aside.left_alone import queue_left_alone
from projections.world import World

_FIRST = 5


def explain_queue(world: World, name: str) -> JsonObject:
    """Why a cluster queue is inactive, its usage by flavor and resource, and the first in line; as plain values."""
    node, line = world.quota.node(name), world.lines.of(name)
    places = line.tried_or_refused()
    usage = [msgspec.to_builtins(one) for one in usage_rows(world) if one.node == f"queue/{name}"]
    for one in usage:
        column = world.quota.columns.known(one["flavor"], one["resource"])
        found = borrowers(world, node, column) if node is not None and column is not None else ()
        one["borrowers"] = msgspec.to_builtins(list(found))
    first = [_waits(world, one.key) for one in sorted(places)[:_FIRST]]
    return {
        "queue": name,
        "cohort": world.cluster_queues[name].cohort,
        "inactive": [{"reason": reason, "message": message} for reason, message in inactive_reasons(world, name)],
        "left_alone": msgspec.to_builtins(queue_left_alone(world.aside, world.quota, name)),
        "share": share_of(node, world.quota.columns.names).as_text() if node is not None else "",
        "waiting": len(places),
        "parked": line.parked_count,
        "reserved": len(world.holders(name)),
        "usage": usage,
        "first": first,
    }


def _waits(world: World, key: str) -> JsonObject:
    condition = world.workloads[key].condition("QuotaReserved")
    return {
        "workload": key,
        "priority": world.workloads[key].priority,
        "reason": condition.reason if condition is not None else "",
        "message": condition.message if condition is not None else "",
    }
