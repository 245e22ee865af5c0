"""The end of a workload: its job owns it no longer (orphaned), or its object has been retained long enough."""

from events.catalogue import Decision
from events.event import Millis
from events.settings import SettingsObserved
from events.upkeep import DiscardReason, WorkloadDiscarded, WorkloadOrphaned
from projections.feature_gates import enabled
from projections.workloads.deadlines import kept_until
from projections.workloads.lifecycle import Workload
from projections.workloads.pods import made_of_pods
from projections.workloads.state import WorkloadState
from projections.workloads.variants import variants_of


def decide_end(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    """The decision at the end of a workload; nothing before it is due, and nothing after it was discarded."""
    settings = world.settings
    if workload.in_cluster.discarded:
        return []
    if workload.owner is None and (workload.spec.orphaned or workload.spec.leaving):
        ended = _ownerless(settings, workload)
        if ended:
            return ended
    if workload.spec.orphaned and made_of_pods(workload):
        # Its owner has fewer groups now, and is still there: its object would stay.
        return [WorkloadDiscarded(workload=workload.key, reason=DiscardReason.DELETED)]
    until = kept_until(workload, settings)
    # Whose pods still have to stop holds quota, and is kept: so is a job whose variant does.
    if until is not None and at >= until and not any(one.reserved for one in variants_of(world, workload.key)):
        reason = DiscardReason.FINISHED if workload.finished else DiscardReason.DEACTIVATED
        return [WorkloadDiscarded(workload=workload.key, reason=reason)]
    return []


def _ownerless(settings: SettingsObserved, workload: Workload) -> list[Decision]:
    """Finish or discard a workload that no job will run any more, so that nothing keeps its object."""
    if enabled(settings, "FinishOrphanedWorkloads"):
        return [] if workload.in_cluster.released else [WorkloadOrphaned(workload=workload.key)]
    if workload.spec.leaving:
        return [WorkloadDiscarded(workload=workload.key, reason=DiscardReason.DELETED)]
    return []
