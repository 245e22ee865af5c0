"""When a workload with reserved quota is evicted, and when its quota is released (docs/rules/eviction.md#evicted)."""

from events.admission import UnhealthyNodesChanged
from events.catalogue import Decision
from events.event import Millis
from events.quota import StopPolicy
from events.upkeep import CheckSettled, DeactivationOrdered, WorkloadFailedToStart
from events.workload import CheckState, CheckStatus, Condition, EvictionOrdered, QuotaReleased
from projections.budgets.enforcement import EXHAUSTED, stopped_by, used_up, warned_of
from projections.budgets.rates import own_checks
from projections.budgets.state import BudgetState
from projections.configuration import Configuration
from projections.topology.placement.node_failures import lost_hosts, lost_place, unhealthy_nodes
from projections.topology.pods.remaining import too_many_go_on
from projections.topology.state import TopologyState
from projections.workloads.conditions import GATED, NODE_FAILURES
from projections.workloads.deadlines import runs_until
from projections.workloads.lifecycle import EVICTED, OBJECT_DELETED, OTHER_PODS, PODS_READY, Workload, chain_of
from projections.workloads.other_pods import asks_for_other_pod_sets, asks_for_others
from projections.workloads.pods import pods_hold, stands_still
from projections.workloads.pods_ready import pods_ready_until
from projections.workloads.slices import slices_of
from projections.workloads.state import WorkloadState
from projections.workloads.terminating import has_to_stop
from services.queue_manager.back_off import back_off
from services.queue_manager.provisioning import decide_provisioning
from services.queue_manager.state import QueueManagerState
from services.queue_manager.upkeep import check_backoff, check_list, deactivation, gate_message, hold_message

LIMIT_EXCEEDED = "RequeuingLimitExceeded"


def decide_holding(world: QueueManagerState, workload: Workload, at: Millis) -> list[Decision]:
    """The next decision about a workload with reserved quota; nothing when all is well. One at a time, as Kueue does."""
    first = deactivation(workload)
    if first:
        return first
    evicted = workload.condition(EVICTED)
    if evicted is not None and workload.evicted:
        return _taken_over(workload, evicted) or _ran_too_long(world, workload, at) or _release(workload, evicted, at)
    for rule in (
        _object_deleted,
        _other_pods,
        _start,
        _on_hold,
        _backoff,
        _gated,
        _required,
        _budget,
        decide_provisioning,
        _checks,
        _local_queue,
        _cluster_queue,
        _cards,
        _place_lost,
        _nodes_failed,
        _ran_too_long,
        _not_ready,
    ):
        events = rule(world, workload, at)
        if events:
            return events
    return []


def _taken_over(workload: Workload, evicted: Condition) -> list[Decision]:
    """Evict anew who another manager has begun to evict: by the mark of this decision it is seen when its pods are gone.

    Rule: docs/rules/adoption.md#begun-eviction
    """
    if workload.stops.stopped_by or workload.owner is None or not workload.admitted:
        return []
    reason, _, cause = evicted.reason.partition("DueTo")
    return [EvictionOrdered(workload=workload.key, reason=reason, cause=cause, message=evicted.message)]


def _release(workload: Workload, evicted: Condition, at: Millis) -> list[Decision]:
    """Release the quota of an evicted workload once its pods are gone, or, without a job, who runs it says so; at once if it was never admitted."""
    if workload.pods_may_run and not stands_still(workload, at):
        return []
    return [QuotaReleased(workload=workload.key, reason=evicted.reason, message=evicted.message)]


def _object_deleted(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    """Stop a workload whose object somebody deletes, before the object goes (docs/rules/eviction.md#object-deleted)."""
    del at
    if not has_to_stop(world.terminating.get(workload.key), workload):
        return []
    return [EvictionOrdered(workload=workload.key, reason=OBJECT_DELETED, message="Workload is deleted")]


def _other_pods(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    """Stop a job that asks for other pods than it was let in with: it is let in anew (docs/rules/eviction.md#other-pods)."""
    del at
    message = asks_for_others(workload)
    if workload.spec.elastic and not message:
        message = asks_for_other_pod_sets(workload, slices_of(world, chain_of(workload))[-1].spec.pod_sets)
    return [EvictionOrdered(workload=workload.key, reason=OTHER_PODS, message=message)] if message else []


def _start(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    """Finish a workload whose job cannot be started: its checks contradict it.

    Rule: docs/rules/eviction.md#failed-to-start
    """
    del world, at
    message = workload.in_cluster.start_failed
    return [WorkloadFailedToStart(workload=workload.key, message=message)] if message else []


def _on_hold(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    """Withdraw the quota of a workload scaled to zero once its pods are gone."""
    del world
    if not workload.spec.on_hold or pods_hold(workload, at):
        return []
    return [_withdrawn(workload, "OnHold", hold_message(workload))]


def _backoff(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    del world, at
    return check_backoff(workload)


def _gated(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    del world, at
    if workload.pods_may_run:
        return []
    if workload.spec.gated_by:
        return [_withdrawn(workload, GATED, gate_message(workload))]
    return [_withdrawn(workload, "OnHold", "The job is on hold")] if workload.spec.on_hold else []


def _required(world: Configuration, workload: Workload, at: Millis) -> list[Decision]:
    del at
    queue = world.cluster_queues.get(workload.admission.cluster_queue) if workload.admission is not None else None
    return [] if queue is None else check_list(world, workload, queue)


def _local_queue(world: Configuration, workload: Workload, at: Millis) -> list[Decision]:
    del at
    local_queue, name = world.local_queues.get(workload.local_queue), workload.spec.queue
    gone = local_queue is None or local_queue.terminating
    return _stopped(
        workload, "LocalQueue", name, local_queue.stop if local_queue is not None else StopPolicy.NONE, gone=gone
    )


def _cluster_queue(world: Configuration, workload: Workload, at: Millis) -> list[Decision]:
    del at
    name = workload.admission.cluster_queue if workload.admission is not None else ""
    queue = world.cluster_queues.get(name)
    gone = queue is None or queue.terminating
    return _stopped(workload, "ClusterQueue", name, queue.stop if queue is not None else StopPolicy.NONE, gone=gone)


def _stopped(workload: Workload, kind: str, name: str, stop: StopPolicy, *, gone: bool) -> list[Decision]:
    """Evict an admitted workload only under HoldAndDrain; withdraw quota that is reserved and not admitted yet.

    Rule: docs/rules/queues.md#stop-policy
    """
    if workload.pods_may_run:
        if stop is not StopPolicy.HOLD_AND_DRAIN:
            return []
        return [EvictionOrdered(workload=workload.key, reason=f"{kind}Stopped", message=f"The {kind} is stopped")]
    if gone:
        return [_withdrawn(workload, "Misconfigured", f"{kind} {name} is terminating or missing")]
    return [] if stop is StopPolicy.NONE else [_withdrawn(workload, "Suspended", f"{kind} {name} is stopped")]


def _withdrawn(workload: Workload, reason: str, message: str) -> Decision:
    return QuotaReleased(workload=workload.key, reason=reason, message=message, withdrawn=True)


def _budget(world: BudgetState, workload: Workload, at: Millis) -> list[Decision]:
    """Settle the budget check: ready while something is left; else the quota is withdrawn, so that others may use it.

    Rule: docs/rules/budgets.md#at-the-end
    """
    if workload.admission is None:
        return []
    queue = workload.admission.cluster_queue
    if workload.admitted:
        end = stopped_by(world, workload, queue, at)
        return [] if end is None else [EvictionOrdered(workload=workload.key, reason=EXHAUSTED, message=end.message)]
    if not workload.checks:
        return []
    spent = used_up(world, workload, queue, at)
    if spent is not None:
        return [] if workload.resizing.continues else [_withdrawn(workload, EXHAUSTED, spent.message)]
    pending = [
        name
        for name in own_checks(world.cluster_queues, world.checks, queue)
        if name in workload.checks and workload.checks[name].state is CheckState.PENDING
    ]
    warned = warned_of(world, workload, queue, at) if pending else None
    message = "Within the budget" if warned is None else warned.message
    ready = [CheckStatus(name=name, state=CheckState.READY, message=message, since=at) for name in pending]
    return [CheckSettled(workload=workload.key, check=check) for check in ready]


def _checks(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    del world, at
    rejected = _in_state(workload, CheckState.REJECTED)
    if rejected:
        message = _checks_message("Rejected", rejected)
        return [DeactivationOrdered(workload=workload.key, cause="AdmissionCheck", message=message)]
    retry = _in_state(workload, CheckState.RETRY)
    if retry:
        message = f"Evicted due to {_checks_message('Retry', retry)}"
        return [EvictionOrdered(workload=workload.key, reason="AdmissionCheck", message=message)]
    return []


def _cards(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    del world, at
    if workload.devices is None or not workload.devices.refused:
        return []
    message = f"Cards can't be given: {workload.devices.message}"
    return [EvictionOrdered(workload=workload.key, reason="DevicesRefused", message=message)]


def _place_lost(world: TopologyState, workload: Workload, at: Millis) -> list[Decision]:
    """Evict an admitted workload that can't go on where it runs (a node or its devices failed): it is admitted anew."""
    del at
    message = lost_place(world, workload) if workload.admitted else ""
    return [EvictionOrdered(workload=workload.key, reason=NODE_FAILURES, message=message)] if message else []


def _nodes_failed(world: TopologyState, workload: Workload, at: Millis) -> list[Decision]:
    """Have another node found for the one that has failed under an admitted workload; evict it when a second one fails."""
    if not workload.admitted:
        return []
    failed = unhealthy_nodes(world, workload, at)
    if failed and too_many_go_on(world, workload, lost_hosts(world, workload, at)):
        failed = ()
    if set(failed) == set(workload.second_pass.unhealthy_nodes):
        return []
    if len(failed) > 1:
        known = [one for one in workload.second_pass.unhealthy_nodes if one in failed]
        names = ", ".join([*known, *(one for one in failed if one not in known)])
        message = f"Workload eviction triggered due to multiple TAS assigned node failures, including: {names}"
        return [EvictionOrdered(workload=workload.key, reason=NODE_FAILURES, message=message)]
    return [UnhealthyNodesChanged(workload=workload.key, nodes=failed)]


def _ran_too_long(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    del world
    until = runs_until(workload)
    if until is None or at < until:
        return []
    message = "exceeding the maximum execution time"
    return [DeactivationOrdered(workload=workload.key, cause="MaximumExecutionTimeExceeded", message=message)]


def _not_ready(world: Configuration, workload: Workload, at: Millis) -> list[Decision]:
    rule = world.settings.pods_ready
    if rule is None:
        return []
    until = pods_ready_until(workload, rule)
    if until is None or at < until:
        return []
    count = workload.stops.requeue.count + 1
    if rule.backoff_limit is not None and count > rule.backoff_limit:
        message = "exceeding the maximum number of re-queuing retries"
        return [DeactivationOrdered(workload=workload.key, cause=LIMIT_EXCEEDED, message=message)]
    ready = workload.condition(PODS_READY)
    recovering = ready is not None and ready.reason == "WaitForRecovery"
    return [
        EvictionOrdered(
            workload=workload.key,
            reason="PodsReadyTimeout",
            cause="WaitForRecovery" if recovering else "WaitForStart",
            message=f"Exceeded the PodsReady timeout {workload.key}",
            requeue_count=count,
            requeue_at=at + back_off(rule.backoff_base, rule.backoff_max, count),
        )
    ]


def _in_state(workload: Workload, state: CheckState) -> list[CheckStatus]:
    return [workload.checks[name] for name in sorted(workload.checks) if workload.checks[name].state is state]


def _checks_message(state: str, checks: list[CheckStatus]) -> str:
    names = "; ".join(f'"{check.name}"' + (f" ({check.message})" if check.message else "") for check in checks)
    return f"{'AdmissionCheck' if len(checks) == 1 else 'AdmissionChecks'} in {state} state: {names}"
