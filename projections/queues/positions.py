"""Positions of pending workloads: in their cluster queue, and among those of the same local queue.

First those in line, in its order; then those beside it, as they would stand if they were in it.
"""

import msgspec

from projections.queues.order import place_of
from projections.queues.state import QueueState
from projections.queues.waiting import beside
from projections.workloads.lifecycle import Workload


class Position(msgspec.Struct, frozen=True):
    """A pending workload; positions begin at 0."""

    workload: Workload
    in_cluster_queue: int
    in_local_queue: int


def positions(world: QueueState, cluster_queue: str) -> list[Position]:
    """All pending workloads of a cluster queue, first to last."""
    line = world.lines.of(cluster_queue)
    parked = [world.workloads[key] for key in beside(world, cluster_queue)]
    parked.sort(key=lambda one: place_of(world, one))
    by_local_queue: dict[str, int] = {}
    found: list[Position] = []
    for workload in (*(world.workloads[key] for key in line.in_order()), *parked):
        before = by_local_queue.get(workload.local_queue, 0)
        by_local_queue[workload.local_queue] = before + 1
        found.append(Position(workload, len(found), before))
    return found
