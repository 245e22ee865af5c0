"""What is seen of one of the clusters of a world beside what is seen of any world: where workloads are tried and run, copies, and how clusters stand."""

import re
from collections.abc import Mapping
from typing import Any

from events.api.labels import MULTIKUEUE_ORIGIN
from events.json_object import JsonObject, object_at
from events.json_path import look
from tests.peers.worlds.jobs import but_for_ours, filled
from tests.peers.worlds.seen import Name, Seen

Objects = Mapping[Name, JsonObject]
_FOR_READERS = re.compile(
    r"(failed to parse kubeconfig\(apiconfig\):|invalid configuration:|for cluster) .*", re.DOTALL
)
"""What is wrong with a kubeconfig that can't be read, in the words of whoever reads it, and the name that it gives to its cluster."""
_TIMES = frozenset({"startTime", "completionTime"})


class Told:
    """How what is seen in one cluster is told in the others: Workloads by the names of their jobs, and UIDs of jobs by their place."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}
        """By the name of a Workload, that of its job."""
        self.uids: dict[str, str] = {}
        """By UID, of which job it is, and where."""


def with_clusters(
    place: str, found: Seen, names: Told, workloads: Objects, jobs: Objects, standing: Mapping[str, Objects], space: str
) -> Seen:
    """What is seen of a cluster with that; the manager comes first."""
    keys = names.keys
    names.uids.update((one["metadata"]["uid"], f"uid of {name} in {place}") for (_, name), one in jobs.items())
    mine = {name: one for (where, name), one in workloads.items() if where == space}
    for name, one in mine.items():
        owner = next((own["name"] for own in one["metadata"].get("ownerReferences") or ()), "")
        if owner:
            keys[name] = owner
    told: dict[str, Any] = {}
    named = {keys.get(name, name): one for name, one in mine.items()}
    for key, seen in found["workloads"].items():
        key = keys.get(key, key)
        conditions = {kind: [_named(text, names.uids) for text in one] for kind, one in seen["conditions"].items()}
        told[key] = {**seen, "conditions": conditions, **_placed(named[key], names.uids)}
    shown = {
        name: {**found["jobs"][name], "status": _status(one)} for (where, name), one in jobs.items() if where == space
    }
    stands = {
        f"{kind} {name}": _active(one)
        for kind, those in standing.items()
        for (_, name), one in sorted(those.items())
        if name.startswith(f"{space}-")
    }
    return {**found, "workloads": told, "jobs": shown, **({"standing": stands} if stands else {})}


def _named(text: str, uids: Mapping[str, str]) -> str:
    """A text in which UIDs of jobs are told by whose they are."""
    for uid, name in uids.items():
        text = text.replace(uid, name)
    return text


def _placed(workload: JsonObject, uids: Mapping[str, str]) -> dict[str, Any]:
    status = object_at(workload, "status")
    found: dict[str, Any] = {
        "cluster": status.get("clusterName"),
        "nominated": sorted(status.get("nominatedClusterNames") or ()),
    }
    meta = workload["metadata"]
    if MULTIKUEUE_ORIGIN in (meta.get("labels") or {}):
        found["copy"] = {
            "labels": {name: uids.get(one, one) for name, one in meta["labels"].items()},
            "annotations": but_for_ours(meta),
            "spec": {name: one for name, one in workload["spec"].items() if name != "podSets"},
            "podSets": [filled(one) for one in workload["spec"]["podSets"]],
        }
    return found


def _status(job: JsonObject) -> dict[str, Any]:
    """What a Job shows; of times only that there are any."""
    status = object_at(job, "status")
    return {
        **{name: bool(one) if name in _TIMES else one for name, one in status.items() if name != "conditions" and one},
        "conditions": {
            one["type"]: [one["status"], one.get("reason", ""), one.get("message", "")]
            for one in status.get("conditions") or ()
            # That it was suspended once is shown of one that was long enough for whoever plays its controller.
            if (one["type"], one["status"]) != ("Suspended", "False")
        },
    }


def _active(value: JsonObject) -> list[Any]:
    status, reason, message = (
        look(value, f"status.conditions[Active].{field}") for field in ("status", "reason", "message")
    )
    told = "…" if reason == "ClientConnectionFailed" else _FOR_READERS.sub(r"\1 …", message or "")
    return [status, reason, told]
