"""Workload objects of jobs that somebody has deleted, and that stay while they are needed (Kueue's `resource-in-use`)."""

import msgspec

from events.workload_object import WorkloadTerminating
from projections.workloads.lifecycle import Workload
from projections.workloads.pods import made_of_pods


class Terminating(msgspec.Struct, frozen=True, gc=False):
    """An object that was deleted, and the reservation that its workload held then; 0 when it held none."""

    uid: str
    reservation: int = 0


def terminating(event: WorkloadTerminating, workload: Workload | None) -> Terminating:
    """The record of an object that is being deleted."""
    held = workload.admission if workload is not None else None
    return Terminating(event.uid, 0 if held is None else held.reservation)


def is_being_deleted(found: Terminating | None, workload: Workload) -> bool:
    """Whether it is the object of this workload that was deleted, and not that of an earlier one of its name."""
    return found is not None and found.uid == workload.uid


def has_to_stop(found: Terminating | None, workload: Workload | None) -> bool:
    """Whether a workload still holds what it held when its object was deleted, and its job has to stop first.

    Not so a job that has ended or is being deleted itself. Pods without a job go when their object has.
    """
    if found is None or workload is None or workload.admission is None or workload.finished:
        return False
    if workload.owner is None or made_of_pods(workload) or workload.spec.leaving:
        return False
    return workload.admission.reservation == found.reservation
