"""When the story of a workload is over: its job owns it no longer, or its object has been kept long enough."""

from events.catalogue import Decision
from events.event import Millis
from events.upkeep import DiscardReason, WorkloadDiscarded, WorkloadOrphaned
from projections.deadlines import kept_until
from projections.gates import enabled
from projections.workloads import Workload
from projections.world import World


def decide_end(world: World, workload: Workload, at: Millis) -> list[Decision]:
    """What has to happen at the end of a workload; nothing before it, and nothing more after it was discarded."""
    if workload.discarded:
        return []
    if workload.spec.leaving and workload.owner is None:
        return [WorkloadDiscarded(workload=workload.key, reason=DiscardReason.DELETED)]
    until = kept_until(workload, world.settings)
    if until is not None and at >= until:
        reason = DiscardReason.FINISHED if workload.finished else DiscardReason.DEACTIVATED
        return [WorkloadDiscarded(workload=workload.key, reason=reason)]
    if workload.spec.orphaned and not workload.released and enabled(world.settings, "FinishOrphanedWorkloads"):
        return [WorkloadOrphaned(workload=workload.key)]
    return []
