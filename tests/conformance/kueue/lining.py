"""Puts the workloads of a record in line, as the queue manager does."""

from services.queue_manager.reconcile import reconcile
from tests.conformance.kueue.case_world import CaseWorld


def line_up(at: CaseWorld) -> None:
    """Everything that waits gets to its place; what holds quota is not reconciled by a scheduling cycle."""
    for key in sorted(at.world.workloads):
        while not (workload := at.world.workloads[key]).reserved:
            events = reconcile(at.world, workload, at.now)
            if not events:
                break
            at.fold(events)
