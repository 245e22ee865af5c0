"""Positions of pending workloads: in their cluster queue, and among those of the same local queue.

Those beside the line stand where they would stand in it, as in Kueue's: nobody moves by being tried and refused.
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
    parked = [place_of(world, world.workloads[key]) for key in beside(world, cluster_queue)]
    by_local_queue: dict[str, int] = {}
    found: list[Position] = []
    for place in sorted((*line.waiting.values(), *parked)):
        workload = world.workloads[place.key]
        before = by_local_queue.get(workload.local_queue, 0)
        by_local_queue[workload.local_queue] = before + 1
        found.append(Position(workload, len(found), before))
    return found
