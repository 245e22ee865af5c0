"""Workloads that are pods: whether anything of one still runs, and the condition WaitingForReplacementPods."""

from collections.abc import Collection, Iterable
from typing import Protocol, TypeVar

from msgspec.structs import replace

from events.event import Millis
from events.whole_number import whole_number
from events.workload import ConditionStatus, MemberState
from projections.log_position import LogPosition
from projections.workloads.decision_mark import number_in
from projections.workloads.lifecycle import EVICTED, WAITING_FOR_PODS, Admission, Workload, condition_at, with_condition

_MADE_OF_PODS = frozenset(
    {("", "Pod"), ("", "PodGroup"), ("apps", "StatefulSet"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")}
)


def made_of_pods(workload: Workload) -> bool:
    """Whether no job starts and stops its pods: each is let through its gate and deleted by itself."""
    owner = workload.owner
    return owner is not None and (owner.api_version.rpartition("/")[0], owner.kind) in _MADE_OF_PODS


def goes_with_its_job(workload: Workload) -> bool:
    """Whether it is a job's that is started and stopped on its behalf alone, and so is deleted with it: no pods, and no variant."""
    owner = workload.owner
    return owner is not None and owner.kind != "Workload" and not made_of_pods(workload)


def is_single_pod(workload: Workload) -> bool:
    """Whether it is one pod by itself, which nobody makes anew."""
    return workload.owner is not None and workload.owner.is_pod


def stands_still(workload: Workload, at: Millis) -> bool:
    """Whether it was stopped and nothing of it runs any more, or only what was waited for long enough."""
    if not made_of_pods(workload):
        return bool(workload.stops.pods_gone)
    return workload.applied >= workload.stops.stopped_by and not pods_hold(workload, at)


def ends_last_attempt(workload: Workload, stop: str) -> bool:
    """Whether pods that are gone by this stop, as `PodsGone` names it, are those of the attempt that was stopped last.

    Rule: docs/rules/eviction.md#without-a-job
    """
    if workload.owner is not None:
        return number_in(stop) >= workload.stops.stopped_by
    return workload.evicted and whole_number(stop) == sum(one.count for one in workload.stops.evictions)


def has_live_pods(workload: Workload) -> bool:
    """Whether a pod that is its member runs."""
    return any(one.state is MemberState.LIVE for one in workload.spec.members)


def pods_hold(workload: Workload, at: Millis) -> bool:
    """Whether a pod that is its member runs, and is not one that should have been gone by now.

    Rule: docs/rules/eviction.md#hanging-pods
    """
    return any(one.state is MemberState.LIVE and not 0 < one.holds_until <= at for one in workload.spec.members)


def pods_hold_until(workload: Workload) -> Millis | None:
    """From when on pods that are to end hold its quota no more, if they hang; None where nothing is to end, or not all is being deleted."""
    if not workload.reserved or not (workload.evicted or workload.spec.on_hold):
        return None
    times = [one.holds_until for one in workload.spec.members if one.state is MemberState.LIVE]
    return max(times) if times and all(times) else None


def has_hanging_pods(workload: Workload) -> bool:
    """Whether a pod of it is there still that is being deleted."""
    return any(one.state is MemberState.LIVE and one.holds_until for one in workload.spec.members)


def runs_without_admission(workload: Workload) -> bool:
    """Whether a pod of it runs that nobody has let in, or not yet: somebody took its gate away.

    Those of who is evicted have to end anyway, and those that are being deleted do.
    Rule: docs/rules/eviction.md#by-hand
    """
    to_end = any(one.state is MemberState.LIVE and not one.holds_until for one in workload.spec.members)
    if not made_of_pods(workload) or workload.finished or not to_end:
        return False
    return not workload.reserved or not (workload.pods_may_run or workload.evicted)


class OfPodSet(Protocol):
    """A pod of which is known to what pod set it belongs."""

    @property
    def pod_set(self) -> str:
        """The name of the pod set that the pod belongs to."""
        ...


Waiting = TypeVar("Waiting", bound=OfPodSet)


def with_room(admission: Admission, running: Iterable[OfPodSet], waiting: Iterable[Waiting]) -> list[Waiting]:
    """The waiting pods that may run beside those that do: of each pod set as many as it was admitted for, the first first."""
    room = {one.name: one.count for one in admission.assignments}
    for one in running:
        room[one.pod_set] = room.get(one.pod_set, 0) - 1
    found: list[Waiting] = []
    for one in waiting:
        if room.get(one.pod_set, 0) > 0:
            room[one.pod_set] -= 1
            found.append(one)
    return found


def found_running(workload: Workload, uids: Collection[str]) -> Workload:
    """The workload, with these of its pods marked as having run: they ran when they were deleted, before the watcher had seen it."""
    members = tuple(
        replace(one, state=MemberState.LIVE) if one.uid in uids and one.state is MemberState.GATED else one
        for one in workload.spec.members
    )
    return replace(workload, spec=replace(workload.spec, members=members))


def with_waiting_for_pods(workload: Workload, position: LogPosition) -> Workload:
    """The workload with the condition that says whether pods of it have to be replaced, in Kueue's words."""
    before = workload.condition(WAITING_FOR_PODS)
    if not workload.spec.waits_for_pods:
        if before is None:
            return workload
        status, reason, message = ConditionStatus.FALSE, "PodsReady", "No pods need replacement"
    else:
        evicted = workload.condition(EVICTED) if workload.evicted else None
        status, reason, message = ConditionStatus.TRUE, "PodsFailed", "Some Failed pods need replacement"
        if evicted is not None:
            reason, message = evicted.reason, evicted.message
    if before is not None and (before.status, before.reason, before.message) == (status, reason, message):
        return workload
    return with_condition(workload, condition_at(WAITING_FOR_PODS, status, reason, message, workload, position))
