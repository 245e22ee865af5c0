"""Why elastic jobs and their slices are others under Kueue than under kuelog, where that is meant; the reasons are in `compared.py`."""

import re
from typing import Any

from events.api.labels import (
    ADMISSION_GATED_BY,
    ELASTIC_JOB,
    MAX_EXEC_TIME_SECONDS,
    PRIORITY_CLASS,
    WORKLOAD,
    WORKLOAD_SLICE_NAME,
)
from tests.peers.worlds.difference import Difference
from tests.peers.worlds.drawn import NUMBERED, World, job_named
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.standing import holds

_GATED = [{"name": ELASTIC_JOB}]
_OTHER_FLAVOR = re.compile(
    r"could not assign \S+ flavor since the original workload is assigned: [^)]+|flavor \S+ doesn't match node affinity"
)
_SIZES = ("kueue.x-k8s.io/raycluster-generation", "kueue.x-k8s.io/raycluster-podset-replica-sizes")


class ElasticApart:
    """Names the differences of elastic jobs, and of others beside them."""

    def name(self, one: Difference, there: Seen, here: Seen) -> str:
        """The name of a difference that is meant, as it was seen of both."""
        match one.path:
            case _ if named := _of_ray(one):
                return named
            case ("jobs" | "workloads", _, *_, "schedulingGates") if (one.there, one.here) == (_GATED, None):
                return "gate at once"
            case ("jobs", name, *_, "podAnnotations" | "annotations", annotation) if (
                annotation == WORKLOAD_SLICE_NAME and one.here is None
            ):
                grown = _is_elastic(name, here) and here["jobs"][name].get("suspend") and _has_grown(name, there)
                return "slice of what was injected" if grown else "" if _is_elastic(name, here) else "slice of all"
            case ("pods", _, "annotations", annotation) if annotation == WORKLOAD_SLICE_NAME and one.here is None:
                return "slice of all"
            case ("jobs", name, *_) if here["jobs"].get(name, {}).get("suspend") and _has_grown(name, there):
                return "slice of what was injected" if _is_more(one.there, one.here or {}) or one.here is None else ""
            case ("workloads", key, "made", "finalizers") if one.there and not one.here and _is_slice(key, here):
                return "finalizers of slices" if "Finished" in here["workloads"][key]["conditions"] else ""
            case ("workloads", key, "pods", pod_set, "count" | "resourceUsage" | "domains", *_):
                return "admission of before" if _has_shrunk(key, pod_set, there, here) else ""
            case ("workloads", key, "made", "podSets", _, "template" | "topologyRequest", *_) if NUMBERED in key:
                return "slice of what was injected" if not one.here or _is_more(one.there, one.here) else ""
            case ("events", told) if NUMBERED in told and told.endswith("Normal QuotaReserved"):
                return (
                    "slice of what was injected" if _but_for_injected(one.there) == _but_for_injected(one.here) else ""
                )
            case _:
                return ""


def _but_for_injected(said: list[str] | None) -> list[str]:
    """What Events say, where a flavor that the slice before does not have is refused alike because of that or of its node selector."""
    return [_OTHER_FLAVOR.sub("another flavor", one) for one in said or ()]


def _of_ray(one: Difference) -> str:
    match one.path:
        case ("jobs", _, "annotations", annotation) if annotation in _SIZES and one.here is None:
            return "sizes of clusters"
        case ("jobs", _, "spec", "rayClusterSpec" | "submitterPodTemplate", *_, "schedulingGates") if one.here == [
            *_GATED,
            *(one.there or ()),
        ]:
            return "gate of its cluster"
        case ("workloads", _, "made", "podSets", "head", "template", "containers") if _but_for_autoscaler(one):
            return "autoscaler beside the head"
        case _:
            return ""


def _but_for_autoscaler(one: Difference) -> bool:
    """Whether the containers are the same but for one more here, that of Ray's autoscaler."""
    return bool(one.here) and one.here[-1]["name"] == "autoscaler" and one.here[:-1] == one.there


def _is_more(there: Any, here: Any) -> bool:
    """Whether one side has all that the other has."""
    match there, here:
        case (str(), {}):
            return True
        case (dict(), dict()) | (list(), list()):
            return all(one in there for one in here)
        case _:
            return False


def _has_shrunk(key: str, pod_set: str, there: Seen, here: Seen) -> bool:
    """Whether a slice asks for fewer pods than it was let in with, which only kuelog shows as what it was given."""
    sides = there["workloads"].get(key), here["workloads"].get(key)
    if not all(one and "made" in one and pod_set in one["pods"] for one in sides):
        return False
    asked = [one["made"]["podSets"][pod_set]["count"] for one in sides]
    given = [one["pods"][pod_set].get("count", 0) for one in sides]
    return asked[0] == asked[1] == given[1] < given[0]


def why_slices_end_it(world: World, number: int, there: Seen, here: Seen) -> str:
    """The name of a difference of slices, after which the world goes on otherwise; empty while there is none."""
    step = world.steps[number]
    if step.verb == "move" and any(
        holds(one) and key in here["workloads"] and holds(here["workloads"][key])
        for key, one in there["workloads"].items()
        if job_named(key) == step.name
    ):
        return "moves with its quota"
    if any(
        not holds(one)
        and key in here["workloads"]
        and _is_slice(key, here)
        and holds(here["workloads"][key])
        and world.changes(key, "template")
        for key, one in there["workloads"].items()
    ):
        return "same containers"
    if any(_has_no_places(one, here["workloads"].get(key)) for key, one in there["workloads"].items()):
        return "no places beside slices"
    if any(_lies_beside_those_that_stay(key, there, here) for key in there["workloads"]):
        return "those that stay twice"
    if any(_is_silent(key, there, here) for key in there["workloads"]):
        return "silent slice"
    for key, one in there["workloads"].items():
        ours = here["workloads"].get(key)
        finished = one["conditions"].get("Finished", ["", "", ""])
        if finished[1] == "FailedToStart" and f"conflict for key={WORKLOAD}," in finished[2]:
            return "conflict of slices"
        if ours is not None and _is_slice(key, here) and one.get("made") and _takes_no_notice(key, there, here):
            return "class of slices"
    return _why_jobs_end_it(there, here)


def _takes_no_notice(key: str, there: Seen, here: Seen) -> bool:
    """Whether a slice has another class, gate or longest time than its job under Kueue alone."""
    job = there["jobs"].get(job_named(key))
    if job is None or "Finished" in there["workloads"][key]["conditions"]:
        return False
    theirs, ours = there["workloads"][key]["made"], here["workloads"][key]["made"]
    if (longest := job["labels"].get(MAX_EXEC_TIME_SECONDS)) is not None:
        asked = [one["spec"].get("maximumExecutionTimeSeconds") for one in (theirs, ours)]
        if asked[0] != asked[1] == int(longest):
            return True
    classes = [(one["spec"].get("priorityClassRef") or {}).get("name") for one in (theirs, ours)]
    gates = [one["annotations"].get(ADMISSION_GATED_BY) for one in (theirs, ours)]
    told = job["labels"].get(PRIORITY_CLASS), job["annotations"].get(ADMISSION_GATED_BY)
    return (classes[0], gates[0]) != (classes[1], gates[1]) and (classes[1], gates[1]) == told


def _has_no_places(there: Seen, here: Seen | None) -> bool:
    """Whether Kueue has looked for no place for pods that want a domain, and let them in or refused them for that."""
    told = there["conditions"].get("QuotaReserved", ["", "", ""])
    if told[0] == "False" and "topology is not supported with ElasticJobsViaWorkloadSlices" in told[2]:
        return True
    if here is None or not (holds(there) and holds(here)):
        return False
    return any(
        one.get("domains") and not there["pods"].get(name, one).get("domains") for name, one in here["pods"].items()
    )


def _lies_beside_those_that_stay(key: str, there: Seen, here: Seen) -> bool:
    """Whether pods of a slice have come here to hosts of the slice before, or got in so, and did not under Kueue."""
    mine, ours = there["workloads"][key], here["workloads"].get(key)
    if NUMBERED not in key or ours is None or not holds(ours):
        return False
    number = int(key.rpartition(NUMBERED)[2])
    before = here["workloads"].get(f"{job_named(key)}{NUMBERED}{number - 1}" if number > 1 else job_named(key))
    stays = {host for one in (before or {"pods": {}})["pods"].values() for host in one.get("domains") or ()}
    return any(
        domains.get(host, 0) > (mine["pods"].get(name, {}).get("domains") or {}).get(host, 0)
        for name, one in ours["pods"].items()
        if (domains := one.get("domains") or {})
        for host in stays
    )


def _is_silent(key: str, there: Seen, here: Seen) -> bool:
    """Whether a slice holds quota here alone, of which Kueue has said nothing, and has refused one that asks for as much."""
    mine, ours = there["workloads"][key], here["workloads"].get(key)
    if NUMBERED not in key or ours is None or "QuotaReserved" in mine["conditions"] or not holds(ours):
        return False
    used = {name: one.get("resourceUsage") for name, one in ours["pods"].items()}
    return any(
        one["requests"] == used and one["priority"] == mine["priority"]
        for other, one in there["workloads"].items()
        if other != key and not holds(one)
    )


def _why_jobs_end_it(there: Seen, here: Seen) -> str:
    for name, one in there.get("jobs", {}).items():
        ours = here["jobs"].get(name)
        if ours is None or not _is_elastic(name, here):
            continue
        slices = [key for key in there["workloads"] if job_named(key) == name and key in here["workloads"]]
        left = [key for key in slices if holds(there["workloads"][key])]
        waits = [key for key in slices if not holds(there["workloads"][key]) and not _is_over(key, there)]
        if left and all(_is_over(key, here) for key in slices) and _is_over(slices[-1], there):
            return "slice left behind"
        if one["suspend"] and not ours["suspend"] and left and waits:
            return "stopped beside a slice"
        admitted = any("Admitted" in there["workloads"][key]["conditions"] for key in left)
        if not one["suspend"] and ours["suspend"] and not admitted and (left or waits):
            return "begun by hand"
    return ""


def _has_grown(name: str, side: Seen) -> bool:
    """Whether a job has more slices than one."""
    return f"{name}{NUMBERED}1" in side["workloads"]


def _is_over(key: str, side: Seen) -> bool:
    return "Finished" in side["workloads"][key]["conditions"]


def _is_slice(key: str, side: Seen) -> bool:
    made = side["workloads"][key].get("made") or {"annotations": {}}
    return made["annotations"].get(ELASTIC_JOB) == "true"


def _is_elastic(name: str, side: Seen) -> bool:
    return side["jobs"][name].get("annotations", {}).get(ELASTIC_JOB) == "true"
