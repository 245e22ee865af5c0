"""A status that others than its manager write of a Workload: admission, checks, pods that are given back, and where it runs."""

import random
from typing import Any

from events.json_object import JsonObject

_SINCE = "2026-01-01T00:00:00Z"


def drawn_status(workload: JsonObject, chance: random.Random) -> JsonObject:
    """A status that may stand there, for those pod sets."""
    pod_sets: list[dict[str, Any]] = workload["spec"]["podSets"]
    names = [one.get("name", "main") for one in pod_sets]
    found: JsonObject = {"requeueState": {"count": 1}}
    if chance.random() < 0.6:
        found["conditions"] = [
            _condition("QuotaReserved"),
            *([_condition("Admitted")] if chance.random() < 0.5 else []),
        ]
        found["admission"] = {
            "clusterQueue": "q",
            "podSetAssignments": [_assigned(one, chance) for one in pod_sets],
        }
    if chance.random() < 0.5:
        found["admissionChecks"] = [_check(name, names, chance) for name in ("a", "b")[: chance.randint(1, 2)]]
    if chance.random() < 0.5:
        given = chance.sample(pod_sets, chance.randint(1, len(pod_sets)))
        found["reclaimablePods"] = [
            {"name": one.get("name", "main"), "count": chance.randint(0, int(one.get("count", 1)))} for one in given
        ]
    where = chance.choice(("", "", "nominated", "runs"))
    if where == "nominated":
        found["nominatedClusterNames"] = ["east", "west"]
    elif where == "runs":
        found["clusterName"] = "east"
    return found


def next_status(workload: JsonObject, status: JsonObject, chance: random.Random) -> JsonObject:
    """What somebody may write next, which is right as often as not."""
    other = drawn_status(workload, chance)
    kept = {name: one for name, one in status.items() if chance.random() < 0.75}
    return {**{name: one for name, one in other.items() if chance.random() < 0.5}, **kept}


def _condition(kind: str) -> JsonObject:
    return {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": _SINCE}


def _assigned(pod_set: JsonObject, chance: random.Random) -> JsonObject:
    count = int(pod_set.get("count", 1))
    usage = {"cpu": str(count * chance.choice((1, 1, 2)))}
    return {"name": pod_set.get("name", "main"), "count": count, "flavors": {"cpu": "f"}, "resourceUsage": usage}


def _check(name: str, pod_sets: list[str], chance: random.Random) -> JsonObject:
    updates = [{"name": one, "labels": {"a": chance.choice("xy")}} for one in pod_sets if chance.random() < 0.5]
    state = chance.choice(("Ready", "Ready", "Pending", "Retry"))
    found = {"name": name, "state": state, "message": "", "lastTransitionTime": _SINCE}
    return {**found, "podSetUpdates": updates} if updates else found
