"""What is seen of a world when it is at rest: who holds what, and what conditions and queues say; UIDs are told by name."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from events.api.topology import ApiTopologyAssignment
from events.json_object import JsonObject
from events.json_path import look
from projections.topology.domains.stored_assignment import read_assignment
from tests.peers.worlds.drawn import job_named
from tests.peers.worlds.elastic import by_key, is_elastic
from tests.peers.worlds.job_kinds import seen_of_job_kind
from tests.peers.worlds.jobs import filled, job_of, seen_of_job, seen_of_made
from tests.peers.worlds.pods import group_of, seen_of_pod
from tests.peers.worlds.provisioning import seen_of_asked
from tests.peers.worlds.serving import SERVED, seen_of_served
from tests.peers.worlds.trainer import is_made

Name = tuple[str, str]
Seen = dict[str, Any]
QUEUE_COUNTS = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")


def seen(
    workloads: Mapping[Name, JsonObject],
    queues: Mapping[Name, JsonObject],
    doors: Mapping[Name, JsonObject],
    jobs: Mapping[Name, JsonObject],
    pods: Mapping[Name, JsonObject],
    kinds: Mapping[str, Mapping[Name, JsonObject]],
    asked: Mapping[str, Mapping[Name, JsonObject]],
    space: str,
    known: dict[str, str],
) -> Seen:
    """One world's part of what is there, jobs of other `kinds` by these, and what is `asked` of an autoscaler; Workloads of Jobs are told by the names of these, and so are all UIDs, `known` from before or not."""
    mine = by_key(workloads, space)
    jobs = {name: one for name, one in jobs.items() if name[0] == space}
    others = {
        name[1]: (kind, one)
        for kind, those in kinds.items()
        for name, one in those.items()
        if name[0] == space and not is_made(one)
    }
    known.update((one["metadata"]["uid"], f"uid of {job_named(name)}") for name, one in mine.items())
    known.update((one["metadata"]["name"], f"slice {name}") for name, one in mine.items() if is_elastic(one))
    # The log knows the UID of the job, and of its Workload no other: docs/rules/preemption.md#message.
    known.update((one["metadata"]["uid"], f"uid of {name[1]}") for name, one in jobs.items())
    known.update((one["metadata"]["uid"], f"uid of {name}") for name, (_, one) in others.items())
    pods = {name: one for name, one in pods.items() if name[0] == space}
    known.update((one["metadata"]["uid"], f"uid of {group_of(one) or name[1]}") for name, one in pods.items())
    of_pods = {name[1]: _without_uids(seen_of_pod(one), known) for name, one in sorted(pods.items())}
    told = {name[1]: _without_uids(seen_of_job(one), known) for name, one in sorted(jobs.items())}
    told.update(
        (name, _without_uids((seen_of_served if kind in SERVED else seen_of_job_kind)(kind, one), known))
        for name, (kind, one) in sorted(others.items())
    )
    return {
        **({"jobs": told} if told else {}),
        **({"pods": of_pods} if of_pods else {}),
        **seen_of_asked(asked, space, {one["metadata"]["name"]: name for name, one in mine.items()}),
        "workloads": {name: _without_uids(_workload(one), known) for name, one in sorted(mine.items())},
        "queues": {name[1]: _queue(one) for name, one in sorted(queues.items()) if name[1].startswith(f"{space}-")},
        "doors": {name[1]: _queue(one) for name, one in sorted(doors.items()) if name[0] == space},
    }


def _without_uids(value: Any, names: dict[str, str]) -> Any:
    match value:
        case str():
            # A later slice may be called as the first one is, and a word more.
            for uid, name in sorted(names.items(), key=lambda pair: -len(pair[0])):
                value = value.replace(uid, name)
            return value
        case dict():
            return {key: _without_uids(one, names) for key, one in value.items()}
        case list():
            return [_without_uids(one, names) for one in value]
        case _:
            return value


def _workload(value: JsonObject) -> Seen:
    status = value.get("status") or {}
    admission = status.get("admission") or {}
    return {
        **({"made": seen_of_made(value)} if job_of(value) else {}),
        "door": look(value, "spec.queueName"),
        "priority": look(value, "spec.priority") or 0,
        "active": look(value, "spec.active") is not False,
        "conditions": _conditions(one for one in status.get("conditions") or () if one["type"] != "PodsReady"),
        "queue": admission.get("clusterQueue", ""),
        "pods": {one["name"]: _assigned(one) for one in admission.get("podSetAssignments") or ()},
        "checks": {
            one["name"]: [one["state"], one.get("message", ""), one.get("retryCount", 0)]
            for one in status.get("admissionChecks") or ()
        },
        "updates": {
            one["name"]: filled(updates)
            for one in status.get("admissionChecks") or ()
            if (updates := one.get("podSetUpdates"))
        },
        "requests": {one["name"]: one.get("resources", {}) for one in status.get("resourceRequests") or ()},
        **({"gates": gates} if (gates := _gates(status)) else {}),
        "requeue": (status.get("requeueState") or {}).get("count", 0),
        "evictions": sorted(
            [one["reason"], one.get("underlyingCause", ""), one["count"]]
            for one in look(status, "schedulingStats.evictions") or ()
        ),
    }


def _gates(status: JsonObject) -> dict[str, str]:
    return {one["name"]: one["position"] for one in status.get("preemptionGates") or ()}


def _assigned(value: JsonObject) -> Seen:
    found: Seen = {
        name: value.get(name)
        for name in ("flavors", "count", "resourceUsage", "delayedTopologyRequest")
        if value.get(name)
    }
    if value.get("topologyAssignment"):
        assignment = read_assignment(msgspec.convert(value["topologyAssignment"], ApiTopologyAssignment))
        found["domains"] = {
            "/".join(one.values): one.count for one in sorted(assignment.domains, key=lambda one: one.values)
        }
        found["levels"] = list(assignment.levels)
    return found


def _conditions(conditions: Iterable[JsonObject]) -> dict[str, list[str]]:
    return {
        one["type"]: [one["status"], one.get("reason", ""), one.get("message", "")]
        for one in sorted(conditions, key=lambda one: one["type"])
    }


def _queue(value: JsonObject) -> Seen:
    status = value.get("status") or {}
    found: Seen = {name: status.get(name, 0) for name in QUEUE_COUNTS}
    found["conditions"] = _conditions(status.get("conditions") or ())
    for kind in ("flavorsReservation", "flavorsUsage"):
        found[kind] = {
            one["name"]: {
                used["name"]: [used.get("total", "0"), used.get("borrowed", "0")] for used in one.get("resources") or ()
            }
            for one in status.get(kind) or ()
        }
    found["share"] = (status.get("fairSharing") or {}).get("weightedShare", 0)
    return found
