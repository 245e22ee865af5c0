"""Copies of workloads in worker clusters, as facts."""

from events.api.labels import CITED, ESTIMATE, MULTIKUEUE_GATE, MULTIKUEUE_ORIGIN, POD_SETS, RESOURCE_IN_USE
from events.api.workload import MAXIMUM_EXECUTION_TIME
from events.citation import cited_in
from events.event import Millis
from events.json_object import JsonMapping, JsonObject, object_at, objects_at
from events.multikueue import RemoteCondition, RemoteWorkloadObserved
from events.object_version import version_number
from events.start_estimate import estimate_in
from events.timestamp import BadTimestamp, format_timestamp, parse_timestamp
from projections.workloads.lifecycle import DEACTIVATION_TARGET, EVICTED_ON_MANAGER
from services.runtime.cluster_port import Resource

WORKLOADS = Resource(group="kueue.x-k8s.io", version="v1beta2", plural="workloads", kind="Workload")
_TOLD = ("QuotaReserved", "Admitted", "Evicted", "Finished", "BlockedOnPreemptionGates")


def copies_of(origin: str) -> Resource:
    """The Workloads of a worker cluster that a manager has made."""
    return Resource(
        group=WORKLOADS.group,
        version=WORKLOADS.version,
        plural=WORKLOADS.plural,
        kind=WORKLOADS.kind,
        labels=f"{MULTIKUEUE_ORIGIN}={origin}",
    )


def key_of(value: JsonObject) -> str:
    """The key of the workload that an object is a copy of."""
    meta = object_at(value, "metadata")
    return f"{meta.get('namespace', '')}/{meta.get('name', '')}"


def remote_workload_fact(cluster: str, value: JsonObject) -> RemoteWorkloadObserved:
    """A copy as it stands; what can't be read of it is left out, for another controller has written it."""
    meta, spec = object_at(value, "metadata"), object_at(value, "spec")
    return RemoteWorkloadObserved(
        cluster=cluster,
        workload=key_of(value),
        uid=str(meta.get("uid", "")),
        version=version_number(meta.get("resourceVersion")),
        queue=str(spec.get("queueName", "")),
        priority=spec["priority"] if isinstance(spec.get("priority"), int) else 0,
        priority_class=str(object_at(spec, "priorityClassRef").get("name", "")),
        counts={str(one.get("name", "")): int(one.get("count") or 0) for one in objects_at(spec, "podSets")},
        asks=str(object_at(meta, "annotations").get(POD_SETS, "")),
        max_execution=1000 * int(spec.get(MAXIMUM_EXECUTION_TIME) or 0),
        active=spec.get("active") is not False,
        conditions={
            kind: RemoteCondition(
                since=_since(one),
                reason=str(one.get("reason", "")),
                message=str(one.get("message", "")),
            )
            for one in objects_at(value, "status", "conditions")
            if (kind := str(one.get("type"))) in _TOLD and one.get("status") == "True"
        },
        opened=max((_since(one) for one in objects_at(value, "status", "preemptionGates") if _is_open(one)), default=0),
        estimate=estimate_in(str(object_at(meta, "annotations").get(ESTIMATE, ""))),
        cited=cited_in(str(object_at(meta, "annotations").get(CITED, ""))),
    )


def _since(entry: JsonMapping) -> Millis:
    """When a condition or a gate came to stand so; 0 where it does not say so that it can be read."""
    try:
        return parse_timestamp(str(entry.get("lastTransitionTime")))
    except BadTimestamp:
        return 0


def _is_open(gate: JsonMapping) -> bool:
    return gate.get("name") == MULTIKUEUE_GATE and gate.get("position") == "Open"


def with_open_gate(copy: JsonObject, at: Millis) -> JsonObject | None:
    """The merge patch of the status of a copy by which it may preempt; None when it may, or has no such gate."""
    gates = objects_at(copy, "status", "preemptionGates")
    asked = [one.get("name") for one in objects_at(copy, "spec", "preemptionGates")]
    if MULTIKUEUE_GATE not in asked or any(map(_is_open, gates)):
        return None
    ours = {"name": MULTIKUEUE_GATE, "position": "Open", "lastTransitionTime": format_timestamp(at)}
    rest = [one for one in gates if one.get("name") != MULTIKUEUE_GATE]
    version = {"resourceVersion": copy["metadata"]["resourceVersion"]}
    return {"metadata": version, "status": {"preemptionGates": [*rest, ours]}}


def told_to_stop(copy: JsonObject, why: str, at: Millis) -> JsonObject:
    """The merge patch of the status of a copy that says why it is about to be set inactive, in Kueue's words."""
    rest = [one for one in objects_at(copy, "status", "conditions") if one.get("type") != DEACTIVATION_TARGET]
    ours = {
        "type": DEACTIVATION_TARGET,
        "status": "True",
        "reason": EVICTED_ON_MANAGER,
        "message": why,
        "lastTransitionTime": format_timestamp(at),
    }
    version = {"resourceVersion": copy["metadata"]["resourceVersion"]}
    return {"metadata": version, "status": {"conditions": [*rest, ours]}}


def without_finalizer(copy: JsonObject) -> JsonObject | None:
    """The merge patch that lets a copy go; None when nothing holds it."""
    meta = copy["metadata"]
    borne: list[str] = list(meta.get("finalizers") or ())
    if RESOURCE_IN_USE not in borne:
        return None
    left = [one for one in borne if one != RESOURCE_IN_USE]
    return {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left}}
