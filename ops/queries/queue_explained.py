"""Why a cluster queue or a local queue is as it is: whether it takes anything in, what is used and lent, and who is first in line."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from events.event import Millis
from events.json_object import JsonObject
from events.quota import LocalQueueObserved, StopPolicy
from projections.explanation.positions import in_turn
from projections.explanation.read_models import state_of, usage_rows
from projections.explanation.shortages import borrowers
from projections.fair_sharing.share import share_of
from projections.nodes.affinity import selects
from projections.queues.active_condition import inactive_reasons
from projections.queues.pending_queues import PlaceInLine
from projections.set_aside.left_alone import queue_left_alone
from projections.workloads.variants import as_shown
from projections.world import World

_FIRST = 5
_STATES = ("running", "admitted", "reserved", "stopping", "pending", "inactive")


def explain_queue(world: World, name: str, at: Millis) -> JsonObject:
    """Why a cluster queue is inactive, its usage by flavor and resource, and the first in line; as plain values."""
    node, line = world.quota.node(name), world.lines.of(name)
    places = line.tried_or_refused()
    return {
        "queue": name,
        "cohort": world.cluster_queues[name].cohort,
        "inactive": _closed(world, name),
        "left_alone": msgspec.to_builtins(queue_left_alone(world.aside, world.quota, name)),
        "share": share_of(node, world.quota.columns.names).as_text() if node is not None else "",
        "waiting": len(places),
        "parked": line.parked_count,
        "reserved": len(world.holders(name)),
        "usage": _usage(world, name),
        "first": _first(world, in_turn(world, name, places, at)),
    }


def explain_local_queue(world: World, key: str, at: Millis) -> JsonObject:
    """What stands in a local queue, who of it comes first at its cluster queue, what that has, and what keeps both from taking anything in."""
    found = world.local_queues[key]
    name = found.cluster_queue
    there = name in world.cluster_queues
    places = in_turn(world, name, world.lines.of(name).tried_or_refused(), at) if there else []
    own = [one for one in places if world.workloads[one.key].local_queue == key]
    return {
        "queue": key,
        "cluster_queue": name,
        "cohort": world.cluster_queues[name].cohort if there else "",
        "inactive": [*_local_closed(world, found), *(_closed(world, name) if there else ())],
        "left_alone": msgspec.to_builtins(queue_left_alone(world.aside, world.quota, name)) if there else [],
        "states": _states(world, key),
        "waiting": len(own),
        "waiting_in_cluster_queue": len(places),
        "usage": _usage(world, name),
        "first": _first(world, own, {one.key: number for number, one in enumerate(places, start=1)}),
    }


def _closed(world: World, name: str) -> list[JsonObject]:
    """Why a cluster queue takes nothing in."""
    reasons = inactive_reasons(world, name)
    if world.cluster_queues[name].terminating:
        reasons = [("Terminating", "is being deleted: it goes when nobody holds quota of it any more"), *reasons]
    return [{"reason": reason, "message": message} for reason, message in reasons]


def _local_closed(world: World, queue: LocalQueueObserved) -> list[JsonObject]:
    """Why a local queue takes nothing in, as far as it is not its cluster queue that doesn't."""
    found: list[JsonObject] = []
    if queue.terminating:
        found.append({"reason": "Terminating", "message": "the LocalQueue is being deleted"})
    if queue.stop is not StopPolicy.NONE:
        found.append(
            {"reason": "Stopped", "message": f"the LocalQueue is stopped (spec.stopPolicy: {queue.stop.value})"}
        )
    offered = world.cluster_queues.get(queue.cluster_queue)
    if offered is None:
        found.append(
            {"reason": "ClusterQueueDoesNotExist", "message": f"there is no ClusterQueue {queue.cluster_queue}"}
        )
        return found
    namespace = world.namespaces.get(queue.namespace)
    if not selects(offered.namespaces, namespace.labels if namespace is not None else {}):
        found.append(
            {
                "reason": "NamespaceMismatch",
                "message": f"spec.namespaceSelector of ClusterQueue {offered.name} does not select namespace {queue.namespace}",
            }
        )
    return found


def _states(world: World, key: str) -> dict[str, int]:
    """How many workloads of a local queue stand how, those that have ended left out; a job with variants counts once."""
    words = Counter(
        state_of(as_shown(world, one)).word
        for name in world.by_local_queue.get(key, ())
        if not (one := world.workloads[name]).spec.variant_of
    )
    return {state: words[state] for state in _STATES}


def _usage(world: World, name: str) -> list[JsonObject]:
    node = world.quota.node(name)
    usage = [msgspec.to_builtins(one) for one in usage_rows(world) if one.node == f"queue/{name}"]
    for one in usage:
        column = world.quota.columns.known(one["flavor"], one["resource"])
        found = borrowers(world, node, column) if node is not None and column is not None else ()
        one["borrowers"] = msgspec.to_builtins(list(found))
    return usage


def _first(world: World, places: Iterable[PlaceInLine], positions: dict[str, int] | None = None) -> list[JsonObject]:
    rows: list[JsonObject] = []
    for number, one in enumerate(places, start=1):
        if number > _FIRST:
            break
        condition = world.workloads[one.key].condition("QuotaReserved")
        rows.append(
            {
                "workload": one.key,
                "priority": world.workloads[one.key].priority,
                "position": positions[one.key] if positions is not None else number,
                "reason": condition.reason if condition is not None else "",
                "message": condition.message if condition is not None else "",
            }
        )
    return rows
