"""Admissions on their way to the cluster: decided, and not seen written there yet."""

from projections.partitions.homes import FIRST
from projections.queues.state import QueueState
from projections.workloads.lifecycle import Workload


def on_their_way(world: QueueState, cluster_queue: str) -> list[Workload]:
    """Those of the partition that decides about a cluster queue, the oldest first (docs/rules/log.md#on-their-way)."""
    home = world.homes.get(cluster_queue, FIRST)
    found = [
        one
        for one in world.workloads.values()
        if one.should_run
        and one.admission is not None
        and max(one.applied, world.rejected.get(one.key, 0)) < one.decided
        and world.homes.get(one.admission.cluster_queue, FIRST) == home
    ]
    return sorted(found, key=lambda one: (one.admitted_at or 0, one.key))
