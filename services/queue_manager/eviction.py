"""When a workload that holds quota has to stop, and when its quota is free again (kueue-semantics §8)."""

from events.catalogue import Decision
from events.event import Millis
from events.quota import StopPolicy
from events.workload import CheckState, CheckStatus, EvictionOrdered, QuotaReleased, WorkloadDeactivated
from projections.deadlines import pods_ready_until, runs_until
from projections.workloads import DEACTIVATION_TARGET, EVICTED, PODS_READY, Workload
from projections.world import World

LIMIT_EXCEEDED = "RequeuingLimitExceeded"


def decide_holding(world: World, workload: Workload, at: Millis) -> list[Decision]:
    """What has to happen to a workload that holds quota; nothing when all is well."""
    if workload.evicted:
        return _release(workload)
    for rule in (_deactivated, _stopped, _checks, _cards, _ran_too_long, _not_ready):
        events = rule(world, workload, at)
        if events:
            return events
    return []


def _release(workload: Workload) -> list[Decision]:
    """Its quota is free when its pods are gone; when it never ran, or has no pods of its own, at once."""
    evicted = workload.condition(EVICTED)
    if evicted is None:
        return []
    if workload.owner is not None and workload.admitted and not workload.pods_gone:
        return []
    reason = evicted.reason
    return [QuotaReleased(workload=workload.key, reason=reason, message=evicted.message)]


def _deactivated(world: World, workload: Workload, at: Millis) -> list[Decision]:
    del world, at
    if workload.spec.active:
        return []
    target = workload.condition(DEACTIVATION_TARGET)
    cause = target.reason if target is not None and workload.is_true(DEACTIVATION_TARGET) else ""
    message = "The workload is deactivated"
    if cause and target is not None:
        message = f"{message} due to {target.message}"
    return [EvictionOrdered(workload=workload.key, reason="Deactivated", cause=cause, message=message)]


def _stopped(world: World, workload: Workload, at: Millis) -> list[Decision]:
    del at
    if workload.admission is None:
        return []
    queue = world.cluster_queues.get(workload.admission.cluster_queue)
    door = world.local_queues.get(workload.local_queue)
    for kind, stop in (
        ("ClusterQueue", queue.stop if queue is not None else StopPolicy.NONE),
        ("LocalQueue", door.stop if door is not None else StopPolicy.NONE),
    ):
        drain = stop is StopPolicy.HOLD_AND_DRAIN or (stop is StopPolicy.HOLD and not workload.admitted)
        if drain:
            return [EvictionOrdered(workload=workload.key, reason=f"{kind}Stopped", message=f"The {kind} is stopped")]
    return []


def _checks(world: World, workload: Workload, at: Millis) -> list[Decision]:
    del world
    rejected = _in_state(workload, CheckState.REJECTED)
    if rejected:
        message = _told("Rejected", rejected)
        return [WorkloadDeactivated(workload=workload.key, cause="AdmissionCheck", message=message)]
    retry = _in_state(workload, CheckState.RETRY)
    if retry:
        waits = [check.since + check.requeue_after for check in retry if check.requeue_after is not None]
        return [
            EvictionOrdered(
                workload=workload.key,
                reason="AdmissionCheck",
                message=f"Evicted due to {_told('Retry', retry)}",
                requeue_count=workload.requeue.count if waits else None,
                requeue_at=max(max(waits), at) if waits else None,
            )
        ]
    return []


def _cards(world: World, workload: Workload, at: Millis) -> list[Decision]:
    del world, at
    if workload.devices is None or not workload.devices.refused:
        return []
    message = f"Cards can't be given: {workload.devices.message}"
    return [EvictionOrdered(workload=workload.key, reason="DevicesRefused", message=message)]


def _ran_too_long(world: World, workload: Workload, at: Millis) -> list[Decision]:
    del world
    until = runs_until(workload)
    if until is None or at < until:
        return []
    message = "exceeding the maximum execution time"
    return [WorkloadDeactivated(workload=workload.key, cause="MaximumExecutionTimeExceeded", message=message)]


def _not_ready(world: World, workload: Workload, at: Millis) -> list[Decision]:
    rule = world.settings.pods_ready
    until = pods_ready_until(workload, world.settings)
    if rule is None or until is None or at < until:
        return []
    count = workload.requeue.count + 1
    if rule.backoff_limit is not None and count > rule.backoff_limit:
        message = "exceeding the maximum number of re-queuing retries"
        return [WorkloadDeactivated(workload=workload.key, cause=LIMIT_EXCEEDED, message=message)]
    ready = workload.condition(PODS_READY)
    recovering = ready is not None and ready.reason == "WaitForRecovery"
    wait = min(rule.backoff_base * 2 ** min(count - 1, 40), rule.backoff_max)
    return [
        EvictionOrdered(
            workload=workload.key,
            reason="PodsReadyTimeout",
            cause="WaitForRecovery" if recovering else "WaitForStart",
            message=f"Exceeded the PodsReady timeout {workload.key}",
            requeue_count=count,
            requeue_at=at + wait,
        )
    ]


def _in_state(workload: Workload, state: CheckState) -> list[CheckStatus]:
    return [workload.checks[name] for name in sorted(workload.checks) if workload.checks[name].state is state]


def _told(state: str, checks: list[CheckStatus]) -> str:
    names = "; ".join(f'"{check.name}"' + (f" ({check.message})" if check.message else "") for check in checks)
    return f"{'AdmissionCheck' if len(checks) == 1 else 'AdmissionChecks'} in {state} state: {names}"
