"""The order in which the workloads of a queue are tried (docs/rules/queues.md#order)."""

from functools import lru_cache

from events.event import Millis
from events.settings import RequeuingTimestamp, SettingsObserved
from events.workload import ConditionStatus
from projections.fair_sharing.usage_mode import by_usage
from projections.feature_gates import enabled
from projections.queues.pending_queues import PlaceInLine
from projections.queues.state import QueueState
from projections.workloads.lifecycle import EVICTED, OTHER_PODS, PREEMPTED, Workload

_PRIORITIES = 1024


def place_of(world: QueueState, workload: Workload, kind: str = "", reason: str = "") -> PlaceInLine:
    """Its place in line by the total order, sticky preemptor, priority, time, UID, key; and the local queue, where each has a head of its own."""
    sticky = world.lines.of(workload.line).held.get("sticky") == workload.key if workload.line else False
    return PlaceInLine(
        rank=0 if sticky else 1,
        priority=_highest_first(workload.priority),
        since=queue_timestamp(workload, world.settings),
        uid=workload.uid,
        key=workload.key,
        local_queue=workload.local_queue if by_usage(world, workload.line) else "",
        kind=kind,
        reason=reason,
    )


@lru_cache(maxsize=_PRIORITIES)
def _highest_first(priority: int) -> int:
    """A number that is smaller for a higher priority; one for all workloads that have it."""
    return -priority


def put_in_line(world: QueueState, cluster_queue: str, workload: Workload) -> None:
    """Have a workload wait in the line of a queue, in the place that it has by now; it is parked no longer."""
    world.lines.of(cluster_queue).push(world.trail, place_of(world, workload, workload.equivalence))


def order_anew(world: QueueState, cluster_queue: str) -> None:
    """Order the pending workloads of a queue anew: what orders them there has changed."""
    for key in list(world.lines.of(cluster_queue).in_order()):
        put_in_line(world, cluster_queue, world.workloads[key])


def priority_then_age(settings: SettingsObserved, workload: Workload, since: Millis) -> tuple[int, Millis, str, str]:
    """Sort key of workloads of several queues in one cycle, by what is their own: higher priority, older, UID."""
    by_priority = -workload.priority if enabled(settings, "PrioritySortingWithinCohort") else 0
    return by_priority, since, workload.uid, workload.key


def queue_timestamp(workload: Workload, settings: SettingsObserved) -> Millis:
    """The time that orders a workload: its creation, unless an eviction put it behind.

    Rule: docs/rules/queues.md#queue-timestamp
    """
    evicted = workload.condition(EVICTED)
    if evicted is not None and evicted.status is ConditionStatus.TRUE:
        by_eviction = settings.pods_ready is None or settings.pods_ready.timestamp is RequeuingTimestamp.EVICTION
        if evicted.reason == "PodsReadyTimeout" and by_eviction:
            return evicted.since
        if evicted.reason in ("AdmissionCheck", OTHER_PODS):
            return evicted.since
    if not enabled(settings, "PrioritySortingWithinCohort"):
        preempted = workload.condition(PREEMPTED)
        if (
            preempted is not None
            and preempted.status is ConditionStatus.TRUE
            and preempted.reason == "InCohortReclaimWhileBorrowing"
        ):
            return preempted.since + 1
    return workload.created_at
