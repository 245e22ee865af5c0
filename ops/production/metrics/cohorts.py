"""Kueue's gauges of cohorts, read from a world at the moment."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric

from events.amount import add
from ops.production.metrics.families import gauge, in_units
from projections.fair_sharing.share import share_of
from projections.quota.columns import Column
from projections.quota.node import Node
from projections.world import World

_NAN = float("nan")


def cohorts(world: World, admitted: Mapping[str, int]) -> Iterator[Metric]:
    """All of them; `admitted` says how many workloads of each cluster queue may run."""
    nodes = sorted(world.quota.cohorts.items())
    yield gauge("kueue_cohort_info", [((name, _parent(node), node.root.name), 1) for name, node in nodes])
    yield gauge(
        "kueue_cohort_subtree_quota",
        [
            ((name, *where), in_units(where[1], node.subtree[column]))
            for name, node in nodes
            for column, where in enumerate(world.quota.columns.names[: len(node.subtree)])
            if node.subtree[column]
        ],
    )
    yield gauge(
        "kueue_cohort_subtree_resource_reservations",
        [
            ((name, *world.quota.columns.names[column]), in_units(world.quota.columns.names[column][1], amount))
            for name, node in nodes
            for column, amount in sorted(_reserved(node).items())
        ],
    )
    yield gauge(
        "kuelog_cohort_overbooked",
        [
            ((name, *where), in_units(where[1], max(node.usage[column] - node.subtree[column], 0)))
            for name, node in nodes
            for column, where in enumerate(world.quota.columns.names[: len(node.subtree)])
            if node.parent is None and (node.usage[column] or node.subtree[column])
        ],
    )
    yield gauge(
        "kueue_cohort_subtree_admitted_active_workloads",
        [((name,), sum(admitted.get(queue.name, 0) for queue in node.below)) for name, node in nodes],
    )
    fair = nodes if world.settings.fair_sharing else ()
    yield gauge("kueue_cohort_weighted_share", [((name,), share_value(world, node)) for name, node in fair])


def share_value(world: World, node: Node) -> float:
    """The share of a node as Kueue tells it: not a number where no weight divides it."""
    share = share_of(node, world.quota.columns.names)
    return _NAN if share.infinite else share.numerator / share.denominator


def _parent(node: Node) -> str:
    return "" if node.parent is None else node.parent.name


def _reserved(node: Node) -> dict[Column, int]:
    """What all cluster queues below hold."""
    total: dict[Column, int] = {}
    for queue in node.below:
        for column, amount in enumerate(queue.usage):
            if amount or queue.subtree[column]:
                total[column] = add(total.get(column, 0), amount)
    return total
