"""In which order the turn of pending workloads comes, and their positions: in their cluster queue, and among those of the same local queue."""

from collections.abc import Iterable

import msgspec

from events.event import Millis
from projections.fair_sharing.past_usage import usage_ranks
from projections.fair_sharing.usage_mode import by_usage
from projections.preemption.state import PreemptionState
from projections.queues.order import place_of
from projections.queues.pending_queues import PlaceInLine
from projections.queues.waiting import beside
from projections.workloads.lifecycle import Workload


class Position(msgspec.Struct, frozen=True):
    """A pending workload; positions begin at 0."""

    workload: Workload
    in_cluster_queue: int
    in_local_queue: int


def in_turn(world: PreemptionState, cluster_queue: str, places: Iterable[PlaceInLine], at: Millis) -> list[PlaceInLine]:
    """Places at a cluster queue in the order in which their turn comes at a time: that of the line, or that of past usage.

    Rule: docs/rules/queues.md#order, docs/rules/fair-sharing.md#usage-order, docs/rules/fair-sharing.md#usage-preemptor
    """
    if not by_usage(world, cluster_queue):
        return sorted(places)
    local_queues = {place: world.workloads[place.key].local_queue for place in places}
    ranks = usage_ranks(world, local_queues.values(), at)
    return sorted(local_queues, key=lambda place: (place.key not in world.requests, ranks[local_queues[place]], place))


def positions(world: PreemptionState, cluster_queue: str, at: Millis) -> list[Position]:
    """All pending workloads of a cluster queue as they stand at a time, first to last.

    Those beside the line stand where they would stand in it, as in Kueue's: nobody moves by being tried and refused.
    """
    parked = [place_of(world, world.workloads[key]) for key in beside(world, cluster_queue)]
    by_local_queue: dict[str, int] = {}
    found: list[Position] = []
    for place in in_turn(world, cluster_queue, (*world.lines.of(cluster_queue).waiting.values(), *parked), at):
        workload = world.workloads[place.key]
        before = by_local_queue.get(workload.local_queue, 0)
        by_local_queue[workload.local_queue] = before + 1
        found.append(Position(workload, len(found), before))
    return found
