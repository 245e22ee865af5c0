"""A digest of the world: the same log gives the same digest, on any machine and under any hash seed."""

import hashlib
from typing import Any

from projections.configuration import TABLES, table_of
from projections.json_in_pieces import rows_as_json
from projections.queues.pending_queues import ScanProgress
from projections.queues.state import QueueState
from projections.workloads.saved_workload import as_saved
from projections.world import World

_AS_BEFORE = frozenset(
    {
        "cluster_queues",
        "cohorts",
        "local_queues",
        "flavors",
        "topologies",
        "priority_classes",
        "namespaces",
        "checks",
        "limit_ranges",
        "runtime_classes",
    }
)
"""Tables whose place in the digest is what it was in logs that were written before; others follow where they hold anything."""


def state_hash(world: World) -> str:
    """SHA-256 over the tables of the world in a fixed order; indexes that derive from them are left out."""
    digest = hashlib.sha256()
    for name, table in tables(world):
        digest.update(name.encode())
        for part in rows_as_json(table, as_saved) if name == "workloads" else rows_as_json(table):
            digest.update(part)
    return digest.hexdigest()


def tables(world: World) -> list[tuple[str, dict[str, Any]]]:
    """The tables that make up the state."""
    lines = {
        name: {
            "waiting": [[place.order, place.key] for place in sorted(world.lines.of(name).waiting.values())],
            "parked": dict(sorted(world.lines.of(name).parked.items())),
            "held": dict(sorted(world.lines.of(name).held.items())),
            "stale": stale_classes(world, name),
            "scan": scan_of(world, name),
            "tried": tried_of(world, name),
        }
        for name in world.lines.names()
        if not world.lines.of(name).empty
    }
    usage = {
        name: {f"{flavor}/{resource}": amount for (flavor, resource), amount in world.quota.usage_by_name(node).items()}
        for name, node in sorted(world.quota.queues.items())
    }
    care = {
        name: dict(sorted(getattr(world.cards.care, name).items()))
        for name in ("health", "silent", "lost", "suspects", "stale", "told", "short")
    }
    cards = {uuid: [use.slots, use.memory, use.cores] for uuid, use in sorted(world.cards.used.items()) if use.slots}
    # A world without budgets has the digest that it had before there were any; so has one without pods to let go.
    counted = [("budgets", dict(world.budgets)), ("budgeted", dict(world.budgeted))] if world.budgets else []
    asked = [
        (name, dict(table))
        for name, table in (
            ("budget_news", world.budget_news),
            ("provisioning_configs", world.provisioning_configs),
            ("provisioning_requests", world.provisioning_requests),
            ("dispatches", world.dispatches),
            ("remotes", world.remotes),
            ("left_behind", world.left_behind),
            ("remote_queues", world.remote_queues),
            ("quota_automation", world.quota_automation),
        )
        if table
    ]
    topologies = [
        (name, dict(table))
        for name, table in (
            ("topologies", world.topologies),
            ("node_usage", world.node_usage),
            ("domains", world.domains.held()),
        )
        if table
    ]
    answered = [("answered", dict(world.answered))] if world.answered else []
    assigned = [("pod_cards", dict(world.pod_cards))] if world.pod_cards else []
    quotas = [("card_quotas", dict(world.cards.care.quotas))] if world.cards.care.quotas else []
    configs = [
        (name, dict(table))
        for name, table in (
            ("device_configs", world.cards.care.device_configs),
            ("node_configs", world.cards.care.node_configs),
        )
        if table
    ]
    claimed = [
        (name, dict(table))
        for name, table in (
            ("resource_slices", world.resource_slices),
            ("resource_claims", world.resource_claims),
        )
        if table
    ]
    locks = [("node_locks", dict(world.node_locks))] if world.node_locks else []
    unusual = [(name, dict(table)) for name, table in (("aside", world.aside), ("amiss", world.amiss)) if table]
    let_go = [
        (name, dict(table))
        for name, table in (
            ("accounted", world.accounted),
            ("terminating", world.terminating),
            ("rejected", world.rejected),
            ("forced_pods", world.forced_pods),
        )
        if table
    ]
    configured = [
        (name, dict(table))
        for kind, name in TABLES.items()
        if name not in _AS_BEFORE and (table := table_of(world, kind))
    ]
    divided = [
        (name, dict(getattr(world, name)))
        for name in ("partition_map", "homes", "namespace_homes", "forks", "elsewhere", "unplaced")
        if getattr(world, name)
    ]
    seen = world.versions
    versions = [("versions", {**seen.known, "": seen.epoch})] if seen.known or seen.epoch else []
    return [
        *counted,
        *asked,
        *let_go,
        *topologies,
        *answered,
        *assigned,
        *quotas,
        *locks,
        *claimed,
        *configs,
        *unusual,
        *versions,
        *configured,
        *divided,
        ("settings", dict(world.sole)),
        ("cluster_queues", dict(world.cluster_queues)),
        ("cohorts", dict(world.cohorts)),
        ("local_queues", dict(world.local_queues)),
        ("flavors", dict(world.flavors)),
        ("priority_classes", dict(world.priority_classes)),
        ("namespaces", dict(world.namespaces)),
        ("checks", dict(world.checks)),
        ("nodes", dict(world.nodes)),
        ("registered", dict(world.registered)),
        ("pods", dict(world.pods)),
        ("refused", dict(world.refused)),
        ("workloads", dict(world.workloads)),
        ("requests", dict(world.requests)),
        ("claims", dict(world.claims)),
        ("epochs", dict(world.epochs)),
        ("ledgers", dict(world.ledgers)),
        ("entered", dict(world.entered)),
        ("lines", lines),
        ("usage", usage),
        ("cards", cards),
        ("care", care),
    ]


def tried_of(world: QueueState, cluster_queue: str) -> tuple[ScanProgress, ...]:
    """How far the workload of a queue that tries its flavors one by one had come each time, since quota came back last."""
    stamp = world.stamp(cluster_queue)
    return next((one.tried for one in world.lines.of(cluster_queue).scan.values() if one.stamp == stamp), ())


def scan_of(world: QueueState, cluster_queue: str) -> tuple[str, bool, bool, bool] | None:
    """The workload of a queue that tries its flavors one by one, and whether its tree is as it was when it began, whether no quota came
    back since, and whether it has been through all of them."""
    line = world.lines.of(cluster_queue)
    came, stamp = world.quota.changed(cluster_queue) + line.news[0], world.stamp(cluster_queue)
    return next(((key, one.began == came, one.stamp == stamp, one.done) for key, one in line.scan.items()), None)


def stale_classes(world: QueueState, cluster_queue: str) -> list[str]:
    """The classes of refused workloads of a queue that may be tried again."""
    stamp = world.stamp(cluster_queue)
    classes = world.lines.of(cluster_queue).classes
    return sorted(kind for kind, parked in classes.items() if parked.stamp != stamp)
