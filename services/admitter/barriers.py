"""What keeps a head from being tried at all, whatever the quota (docs/rules/cycle.md#nominate)."""

from collections.abc import Mapping

from events.admission import RequeueReason
from events.quota import ClusterQueueObserved, NamespaceObserved
from events.workload import CheckState
from projections.devices.placement.gang import EXCEEDS_CARDS
from projections.devices.placement.workload_gangs import chooses_cards
from projections.devices.requests.admission_rule import is_ignored
from projections.devices.requests.card_requests import any_asks_for_cards
from projections.devices.requests.refused_pods import refused_pods
from projections.devices.state import DeviceState, config_of
from projections.nodes.affinity import selects
from projections.workloads.lifecycle import Workload
from projections.workloads.multikueue_check import check_of
from projections.workloads.pods import made_of_pods
from projections.workloads.slices import replaced_slice
from projections.workloads.state import WorkloadState
from projections.workloads.variants import admitted_sibling, better, is_admitted_in

_MORE_FAVORABLE = "A more favorable variant is already admitted"
FAILED = frozenset({CheckState.RETRY, CheckState.REJECTED})

Barrier = tuple[str, str, RequeueReason]
"""Reason and message of the refusal, and where the workload waits."""


def barrier_to(world: DeviceState, workload: Workload, queue: ClusterQueueObserved) -> Barrier | None:
    """What keeps a workload from being tried at all; None when it may be."""
    return (
        barrier_of(world.namespaces, workload, queue)
        or slice_barrier(world, workload, queue)
        or _variant_barrier(world, workload, queue)
        or _webhook_barrier(world, workload)
    )


def barrier_of(
    namespaces: Mapping[str, NamespaceObserved], workload: Workload, queue: ClusterQueueObserved
) -> Barrier | None:
    """A failed admission check, or a namespace that the ClusterQueue does not admit; None when it may be tried."""
    if any(check.state in FAILED for check in workload.checks.values()):
        return "PendingEvaluation", "The workload has failed admission checks", RequeueReason.GENERIC
    namespace = namespaces.get(workload.namespace)
    if not selects(queue.namespaces, namespace.labels if namespace is not None else {}):
        message = "Workload namespace doesn't match ClusterQueue selector"
        return "Misconfigured", message, RequeueReason.NAMESPACE_MISMATCH
    return None


def slice_barrier(world: DeviceState, workload: Workload, queue: ClusterQueueObserved) -> Barrier | None:
    """Why a slice can't take the place of the one before yet: that stops, is in another queue, or waits for its cards or its cluster.

    Rule: docs/rules/elastic.md#waits
    """
    old = replaced_slice(world, workload)
    if old is None or old.admission is None:
        return None
    if old.evicted:
        return "PendingEvaluation", f"Workload slice {old.key} is being stopped", RequeueReason.GENERIC
    if old.admission.cluster_queue != queue.name:
        where = old.admission.cluster_queue
        return "PendingEvaluation", f"Workload slice {old.key} runs in ClusterQueue {where}", RequeueReason.GENERIC
    elsewhere = check_of(world.checks, old)
    if elsewhere and old.checks[elsewhere].state is not CheckState.READY:
        return "PendingEvaluation", f"Workload slice {old.key} runs in no other cluster yet", RequeueReason.GENERIC
    asks = any_asks_for_cards(old.spec.pod_sets, config_of(world))
    if asks and old.devices is None and chooses_cards(world, old):
        return "PendingEvaluation", f"Workload slice {old.key} has no cards yet", RequeueReason.GENERIC
    return None


def _variant_barrier(world: WorkloadState, workload: Workload, queue: ClusterQueueObserved) -> Barrier | None:
    """Why a variant is not tried at all: its job runs on a better flavor, or in another queue (docs/rules/variants.md#migration)."""
    sibling = admitted_sibling(world, workload)
    if sibling is None or sibling.admission is None:
        return None
    if not is_admitted_in(sibling, queue.name):
        where = sibling.admission.cluster_queue
        return "PendingEvaluation", f"Variant {sibling.key} is admitted in ClusterQueue {where}", RequeueReason.GENERIC
    return ("PendingEvaluation", _MORE_FAVORABLE, RequeueReason.GENERIC) if better(queue, sibling, workload) else None


def _webhook_barrier(world: DeviceState, workload: Workload) -> Barrier | None:
    """Pods that HAMi's webhook will refuse when they are made; those that are there already it has let through.

    Rule: docs/rules/devices.md#webhook
    """
    namespace = world.namespaces.get(workload.namespace)
    ignored = namespace is not None and is_ignored(namespace.labels)
    if ignored or made_of_pods(workload) or not chooses_cards(world, workload):
        return None
    why = refused_pods(workload.spec.pod_sets, config_of(world))
    return (EXCEEDS_CARDS, why, RequeueReason.GENERIC) if why else None
