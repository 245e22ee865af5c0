"""Folding that a workload is preempted or evicted for any other reason (docs/rules/eviction.md#evicted)."""

from collections.abc import Mapping

from msgspec.structs import replace

from events.preemption import PreemptionOrdered
from events.workload import CheckState, CheckStatus, ConditionStatus, EvictionCount
from projections.log_position import LogPosition
from projections.preemption.loops import preempted_once_more
from projections.preemption.message import both_priorities, making_room_message
from projections.workloads.changed_part import changed_part
from projections.workloads.lifecycle import (
    BLOCKED_ON_GATES,
    EVICTED,
    PREEMPTED,
    Workload,
    condition_at,
    true_condition,
    with_condition,
    with_news,
)
from projections.workloads.pods import with_waiting_for_pods
from projections.workloads.state import WorkloadState


def preempted(world: WorkloadState, event: PreemptionOrdered, workload: Workload, position: LogPosition) -> Workload:
    """The victim with its conditions; victim and preemptor both get a Kubernetes Event."""
    _tell_preemptor(world, event, workload, position)
    condition = true_condition(PREEMPTED, event.reason, event.message, workload, position)
    message = _preempted_message(world.workloads, event, workload)
    workload = with_news(with_condition(workload, condition), position, "Preempted", message)
    stops = replace(
        workload.stops,
        preempted_count=workload.stops.preempted_count + 1,
        preempted_at=position.at,
        preempted_by=preempted_once_more(workload, event.preemptor),
    )
    workload = replace(workload, stops=stops)
    return evicted(workload, "Preempted", "", event.message, position)


def evicted(workload: Workload, reason: str, cause: str, message: str, position: LogPosition) -> Workload:
    """The evicted workload: its checks and gates are reset; its quota is released later, when its pods are gone."""
    full = f"DeactivatedDueTo{cause}" if reason == "Deactivated" and cause else reason
    workload = with_condition(workload, true_condition(EVICTED, full, message, workload, position))
    if workload.reserved:  # Of who holds nothing Kueue records no Event.
        workload = with_news(workload, position, f"EvictedDueTo{full}", message)
    workload = with_waiting_for_pods(workload, position)
    if workload.is_true(BLOCKED_ON_GATES):
        over = condition_at(BLOCKED_ON_GATES, ConditionStatus.FALSE, full, message, workload, position)
        workload = with_condition(workload, over)
    checks = {name: _reset(check, position) for name, check in workload.checks.items()}
    counts = {(count.reason, count.cause): count for count in workload.stops.evictions}
    known = counts.get((reason, cause))
    counts[(reason, cause)] = EvictionCount(reason=reason, cause=cause, count=known.count + 1 if known else 1)
    gates = {
        name: replace(gate, open=False, since=position.at) if gate.open else gate
        for name, gate in workload.gates.items()
    }
    stops = replace(
        workload.stops,
        evictions=tuple(counts[key] for key in sorted(counts)),
        stopped_by=position.sequence,
        pods_gone="",
    )
    return replace(
        workload,
        gates=gates,
        checks=checks,
        stops=stops,
        decided=position.sequence,
        in_cluster=changed_part(workload.in_cluster, start_failed=""),
        # Wherever it is placed next, it is not where these have failed.
        second_pass=changed_part(workload.second_pass, unhealthy_nodes=()),
        provisioning={},
    )


def _reset(check: CheckStatus, position: LogPosition) -> CheckStatus:
    """The check after an eviction; one that nobody has answered yet goes on as it is."""
    if check.state is CheckState.PENDING:
        return replace(check, decided=position.sequence)
    return CheckStatus(
        name=check.name,
        state=CheckState.PENDING,
        message=f"Reset to Pending after eviction. Previously: {check.state}",
        since=position.at,
        requeue_after=check.requeue_after,
        decided=position.sequence,
        retries=check.retries + (1 if check.state is CheckState.RETRY else 0),
    )


def _preempted_message(workloads: Mapping[str, Workload], event: PreemptionOrdered, victim: Workload) -> str:
    preemptor = workloads.get(event.preemptor)
    return event.message if preemptor is None else f"{event.message}; {both_priorities(preemptor, victim)}"


def _tell_preemptor(world: WorkloadState, event: PreemptionOrdered, victim: Workload, position: LogPosition) -> None:
    preemptor = world.workloads.get(event.preemptor)
    if preemptor is not None:
        message = making_room_message(preemptor, victim)
        world.put_workload(with_news(preemptor, position, "PreemptedWorkload", message))
