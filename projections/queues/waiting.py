"""Who waits for a cluster queue, apart: those in line, and those beside it until something changes; how many, and for how much."""

from collections.abc import Iterable, Iterator

import msgspec

from events.amount import Requests, add_requests, scale_requests
from events.quota import ClusterQueueObserved, StopPolicy
from events.workload import WorkloadSpec
from projections.devices.state import DeviceState, config_of
from projections.queues.state import QueueState
from projections.quota.adjusted_pods import adjusted
from projections.quota.effective_requests import has_quota_of_pods, pod_set_requests
from projections.workloads.conditions import (
    DELAYED_TOPOLOGY,
    GATED,
    NO_RESERVATION,
    PENDING,
    SILENT,
    UNSATISFIED_CHECKS,
    shown_reason,
)
from projections.workloads.lifecycle import QUOTA_RESERVED, Workload
from projections.workloads.second_pass import needs_second_pass
from projections.workloads.variants import as_shown, variants_of

_NOT_PENDING = frozenset({"Deactivated", GATED, "OnHold"})
"""Reasons to be parked under which Kueue does not even keep a workload in its queue."""


def in_line(world: QueueState, cluster_queue: str) -> list[str]:
    """Workloads whose turn comes, as far as nobody has found yet that they don't fit.

    Rule: docs/rules/queues.md#pending
    """
    return [key for key in world.lines.of(cluster_queue).waiting if _is_taken_in(world, key)]


def beside(world: QueueState, cluster_queue: str) -> list[str]:
    """Workloads that are not tried until something changes; without those of which Kueue's queue knows nothing, as of who is inactive.

    Rule: docs/rules/queues.md#pending
    """
    line = world.lines.of(cluster_queue)
    return [
        key
        for key, why in line.parked.items()
        if why not in _NOT_PENDING
        and not stays_out(world.workloads[key].spec)
        and (why != "Misconfigured" or key in line.refused)
        and _is_taken_in(world, key)
    ]


def stays_out(spec: WorkloadSpec) -> bool:
    """Whether no queue takes a workload in, as it stands: Kueue does not even keep it in one."""
    return not spec.active or bool(spec.gated_by) or spec.on_hold or spec.waits_for_pods


def _is_taken_in(world: QueueState, key: str) -> bool:
    local_queue = world.local_queues.get(world.workloads[key].local_queue)
    return local_queue is not None and local_queue.stop is StopPolicy.NONE


def asked(world: DeviceState, queue: ClusterQueueObserved, keys: Iterable[str]) -> Requests:
    """What workloads ask for together, as the queue would be charged for it; those of one class ask for the same."""
    classes: dict[str, list[Workload]] = {}
    for key in keys:
        workload = world.workloads[key]
        classes.setdefault(workload.equivalence or key, []).append(workload)
    total: Requests = {}
    for alike in classes.values():
        for requests in requested_by(world, queue, alike[0]).values():
            total = add_requests(total, scale_requests(requests, len(alike)))
    return total


def requested_by(world: DeviceState, queue: ClusterQueueObserved | None, workload: Workload) -> dict[str, Requests]:
    """By pod set, what the queue would be charged for the pods that are still needed, as the cluster fills them in.

    Rule: docs/rules/quota.md#filled-in
    """
    covers_pods = queue is not None and has_quota_of_pods(queue)
    return {
        one.name: pod_set_requests(
            adjusted(world.limits, world.runtime_classes, workload.namespace, one),
            max(one.count - workload.reclaimable.get(one.name, 0), 0),
            world.settings,
            covers_pods=covers_pods,
            config=config_of(world),
        )
        for one in workload.spec.pod_sets
    }


class Unadmitted(msgspec.Struct, frozen=True):
    """Where a workload stands that is not admitted, and why: counted as one with all that stand so."""

    local_queue: str
    cluster_queue: str
    """The one that it holds quota of, else that its local queue leads to; empty without either."""
    reason: str
    cause: str = ""
    """Why it has no quota; empty once it has."""


def unadmitted(world: QueueState) -> Iterator[Unadmitted]:
    """All workloads that are not admitted and have not finished; of one with variants what it shows, and none of these."""
    for local_queue_key, keys in world.by_local_queue.items():
        local_queue = world.local_queues.get(local_queue_key)
        name = local_queue.cluster_queue if local_queue is not None else ""
        for key in keys:
            workload = world.workloads[key]
            if workload.finished or workload.spec.variant_of or workload.in_cluster.discarded:
                continue
            workload = as_shown(world, workload)
            if workload.admitted:
                continue
            if workload.admission is not None:
                lacks = DELAYED_TOPOLOGY if needs_second_pass(workload) else UNSATISFIED_CHECKS
                yield Unadmitted(local_queue_key, workload.admission.cluster_queue, lacks)
            else:
                yield Unadmitted(local_queue_key, name, NO_RESERVATION, _cause(world, workload))


def _cause(world: QueueState, workload: Workload) -> str:
    tried = [one for one in variants_of(world, workload.key) if one.spec.active and not one.reserved]
    if tried:
        workload = tried[0]
    parked = world.lines.of(workload.line).parked_as(workload.key)
    if parked is not None and parked in SILENT:
        return parked
    why = workload.condition(QUOTA_RESERVED)
    if why is None or why.reason == shown_reason(world.settings, PENDING):
        # Nothing is written of who was set aside with others of its class: it stands as the one that was tried.
        return parked or PENDING
    return why.reason
