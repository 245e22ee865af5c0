"""What the cluster should show of a workload: its object, its status, and the job that it starts or stops."""

from collections.abc import Mapping
from typing import Any

import msgspec

from events.amount import Requests
from events.api.labels import (
    CLUSTER_QUEUE_NAME,
    LOCAL_QUEUE_NAME,
    MULTIKUEUE_WORKER_POD,
    POD_SET,
    PODSET_UNCONSTRAINED_TOPOLOGY,
    RESOURCE_IN_USE,
    WORKLOAD,
    WORKLOAD_SLICE_NAME,
)
from events.json_object import JsonObject
from events.quantity import from_units
from events.settings import SettingsObserved
from events.timestamp import format_timestamp
from events.workload import CheckStatus, Condition, GateState, PodSetAssignment, PodSetUpdate
from projections.configuration import Configuration
from projections.devices.annotations.pins import needs_pins, pins, placements_of
from projections.feature_gates import enabled
from projections.topology.domains.stored_assignment import stored
from projections.workloads.lifecycle import Workload, first_slice_name
from projections.workloads.stops import Requeue
from services.jobs.pod_sets.pod_set import Injection, Original
from services.jobs.pod_sets.updates import Update
from services.validation.fields.names import why_no_dns_label

NOT_ADMITTED = "Not admitted by cluster queue"
"""What is told of a job or pod that runs and that nobody has let in."""


def workload_status(
    workload: Workload,
    settings: SettingsObserved = SettingsObserved(),  # noqa: B008 - frozen
    requests: Mapping[str, Requests] | None = None,
) -> JsonObject:
    """The whole status of the Workload object: a field that is left out has to be removed.

    `requests` is what each pod set was tried with, shown while it has no quota; afterwards the admission shows it.
    """
    status: JsonObject = {"conditions": [_condition(one) for _, one in sorted(workload.conditions.items())]}
    if workload.admission is not None:
        status["admission"] = {
            "clusterQueue": workload.admission.cluster_queue,
            "podSetAssignments": [_assignment(one, settings) for one in workload.admission.assignments],
        }
    elif requests:
        status["resourceRequests"] = [
            {"name": name, "resources": texts(requested)} for name, requested in requests.items()
        ]
    if workload.checks:
        status["admissionChecks"] = [_check(one) for _, one in sorted(workload.checks.items())]
    requeue = _waiting(workload.stops.requeue)
    if requeue is not None:
        status["requeueState"] = requeue
    if workload.gates:
        known = (workload.gates.get(name) for name in workload.spec.preemption_gates)
        status["preemptionGates"] = [_gate(one) for one in known if one is not None]
    if workload.second_pass.unhealthy_nodes:
        status["unhealthyNodes"] = [{"name": name} for name in workload.second_pass.unhealthy_nodes]
    if workload.reclaimable:
        status["reclaimablePods"] = [
            {"name": name, "count": count} for name, count in sorted(workload.reclaimable.items())
        ]
    if workload.stops.past_execution:
        status["accumulatedPastExecutionTimeSeconds"] = workload.stops.past_execution // 1000
    if workload.stops.evictions:
        status["schedulingStats"] = {
            "evictions": [
                {"reason": one.reason, "underlyingCause": one.cause, "count": one.count}
                for one in workload.stops.evictions
            ]
        }
    return status


def finalizers_left(meta: JsonObject) -> list[str] | None:
    """The finalizers of an object without the one that is ours to remove; None when that is not there."""
    found: list[str] = list(meta.get("finalizers") or ())
    return [one for one in found if one != RESOURCE_IN_USE] if RESOURCE_IN_USE in found else None


def job_should_run(workload: Workload) -> bool:
    """Whether the cluster is to have the job run."""
    return workload.should_run and workload.admission is not None


def injections(world: Configuration, workload: Workload) -> tuple[Injection, ...]:
    """What each pod set gets when the job starts: node selector, tolerations, labels, card pins."""
    admission = workload.admission
    if admission is None:
        return ()
    given = {one.name: one for one in admission.assignments}
    return tuple(
        _injection(world, workload, original, given[original.name], admission.cluster_queue)
        for original in originals(workload)
        if original.name in given
    )


def originals(workload: Workload) -> tuple[Original, ...]:
    """What each pod set asked for, where something is injected at the start."""
    return tuple(
        Original(
            name=one.name,
            count=one.count,
            node_selector=one.shape.node_selector,
            tolerations=tuple(toleration(found) for found in one.shape.tolerations),
            annotations=one.shape.device_annotations,
            elastic=workload.spec.elastic,
            named=workload.in_cluster.prebuilt,
            unconstrained=one.topology is not None and one.topology.unconstrained is not None,
        )
        for one in workload.spec.pod_sets
    )


def _injection(
    world: Configuration, workload: Workload, original: Original, given: PodSetAssignment, cluster_queue: str
) -> Injection:
    flavors = [world.flavors[name] for name in sorted(set(given.flavors.values())) if name in world.flavors]
    selector: dict[str, str] = {}
    tolerations: list[JsonObject] = []
    for flavor in flavors:
        selector.update(flavor.node_labels)
        tolerations.extend(found for one in flavor.tolerations if (found := toleration(one)) not in tolerations)
    placed = given.topology is not None
    return Injection(
        count=given.count,
        original=original,
        labels={
            POD_SET: original.name,
            **_queue_labels(world.settings, cluster_queue, workload.spec.queue),
            **({MULTIKUEUE_WORKER_POD: "true"} if workload.spec.origin else {}),
        },
        annotations={
            **_named(workload),
            **card_pins(workload, original.name),
            **(_said_to_be_placed(workload, original.name) if placed else {}),
        },
        placed=placed,
        sliced=workload.spec.elastic,
        gated=needs_pins(workload, original.name),
        node_selector=selector,
        tolerations=tuple(tolerations),
        updates=_updates(workload, original.name),
    )


def _queue_labels(settings: SettingsObserved, cluster_queue: str, queue: str) -> dict[str, str]:
    """The queues that let pods in; a ClusterQueue only if its name is a DNS label, as under Kueue: with a longer one no pod would be taken.

    Rule: docs/rules/objects.md#queue-labels
    """
    if not enabled(settings, "AssignQueueLabelsForPods"):
        return {}
    named = {} if why_no_dns_label(cluster_queue) else {CLUSTER_QUEUE_NAME: cluster_queue}
    return {**named, LOCAL_QUEUE_NAME: queue}


def _named(workload: Workload) -> dict[str, str]:
    """To which workload pods belong; those of an elastic job outlive its slices, and name the first of them."""
    if not workload.spec.elastic:
        return {WORKLOAD: workload.name}
    first = first_slice_name(workload)
    return {WORKLOAD: first, WORKLOAD_SLICE_NAME: first}


def _said_to_be_placed(workload: Workload, pod_set: str) -> dict[str, str]:
    """By the annotation Kueue tells pods that are placed from those that hold room of nodes besides."""
    asked = next((one.topology for one in workload.spec.pod_sets if one.name == pod_set), None)
    says = asked is not None and (asked.required or asked.preferred or asked.unconstrained is not None)
    return {} if says else {PODSET_UNCONSTRAINED_TOPOLOGY: "true"}


def _updates(workload: Workload, pod_set: str) -> tuple[Update, ...]:
    """What its checks add to the pods of a pod set, in the order of their names."""
    return tuple(
        Update(
            check=name,
            labels=one.labels,
            annotations=one.annotations,
            node_selector=one.node_selector,
            tolerations=tuple(toleration(found) for found in one.tolerations),
        )
        for name in sorted(workload.checks)
        for one in workload.checks[name].updates
        if one.name == pod_set
    )


def card_pins(workload: Workload, pod_set: str) -> dict[str, str]:
    """By name, the annotations that make HAMi place a pod set's pods on their allocated cards, and its policy for choosing."""
    return pins(placements_of(workload, pod_set))


def texts(requests: dict[str, int]) -> dict[str, str]:
    """Amounts by resource as the quantities that Kubernetes writes."""
    return {name: from_units(name, amount) for name, amount in requests.items()}


def _condition(one: Condition) -> JsonObject:
    return {
        "type": one.type,
        "status": str(one.status),
        "reason": one.reason,
        "message": one.message,
        "lastTransitionTime": format_timestamp(one.since),
        # Where none is known nothing is said: `kubectl wait` does not believe a condition of an older generation.
        **({"observedGeneration": one.generation} if one.generation else {}),
    }


def _assignment(one: PodSetAssignment, settings: SettingsObserved) -> JsonObject:
    return {
        "name": one.name,
        "count": one.count,
        "flavors": one.flavors,
        "resourceUsage": texts(one.usage),
        **_topology(one, settings),
    }


def _topology(one: PodSetAssignment, settings: SettingsObserved) -> JsonObject:
    found: JsonObject = {}
    if one.topology is not None:
        prefixes = enabled(settings, "TASAssignmentsEncodingByHostnamePrefix")
        written = stored(one.topology.assignment, hostname_prefixes=prefixes)
        found["topologyAssignment"] = msgspec.json.decode(msgspec.json.encode(written))
    if one.delayed_topology is not None:
        found["delayedTopologyRequest"] = str(one.delayed_topology)
    return found


def _check(one: CheckStatus) -> JsonObject:
    return {
        "name": one.name,
        "state": str(one.state),
        "message": one.message,
        "lastTransitionTime": format_timestamp(one.since),
        **({"retryCount": one.retries} if one.retries else {}),
        **({} if one.requeue_after is None else {"requeueAfterSeconds": one.requeue_after // 1000}),
        **({"podSetUpdates": [_update(update) for update in one.updates]} if one.updates else {}),
    }


def _update(one: PodSetUpdate) -> JsonObject:
    return {
        "name": one.name,
        "labels": one.labels,
        "annotations": one.annotations,
        "nodeSelector": one.node_selector,
        "tolerations": [toleration(found) for found in one.tolerations],
    }


def _waiting(requeue: Requeue) -> JsonObject | None:
    found: JsonObject = {"count": requeue.count} if requeue.count else {}
    if requeue.at is not None:
        found["requeueAt"] = format_timestamp(requeue.at)
    return found or None


def _gate(one: GateState) -> JsonObject:
    return {
        "name": one.name,
        "position": "Open" if one.open else "Closed",
        "lastTransitionTime": format_timestamp(one.since),
    }


def toleration(one: Any) -> JsonObject:
    """A toleration as a Kubernetes object."""
    found = {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
    kept: JsonObject = {name: value for name, value in found.items() if value}
    if one.seconds is not None:
        kept["tolerationSeconds"] = one.seconds
    return kept
