"""Why a job, its pods or its Workload is another one under Kueue than under kuelog, where that is meant; the reasons are in `compared.py`."""

from collections import Counter

from events.api.labels import POD_GROUP_NAME
from tests.peers.worlds.difference import Difference
from tests.peers.worlds.drawn import World, job_named
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.standing import are_flavors_of_one, lacks_pods, resizings

_NOT_COMPARED = (("template", "nodeSelector"), ("template", "labels"))
_MADE_ANEW = ("Admitted", "Evicted", "Preempted", "Requeued", "PodsReady")


class JobsApart:
    """Names the differences of jobs."""

    def __init__(self, world: World) -> None:
        self._world = world

    def name(self, one: Difference, there: Seen, here: Seen) -> str:
        """The name of a difference that is meant, as it was seen of both."""
        match one.path:
            case ("pods", name, "nodeSelector", *_):
                return _of_places(name, one, there, here)
            case ("workloads", name, "made", "podSets", *_) if one.there is None and _is_made_of_pods(name, here):
                return "template of pods"
            case ("workloads", _, "made", "podSets", _, *rest) if tuple(rest[:2]) in _NOT_COMPARED:
                return "same containers"
            case ("workloads", name, "made", *_) if self._lost_its_class(name, there):
                return "class gone"
            case ("jobs", name, *_) if of_job := _of_job(name, one, there):
                return of_job
            case ("workloads", name, "made", *_) | ("jobs", name, *_):
                stopped = _was_evicted(name, there) or self._world.changes(name, "suspend")
                return "restored again" if self._world.changes(name, "template") and stopped else ""
            case ("workloads", name, "conditions", kind) if kind in _MADE_ANEW:
                told = one.there is None or _tells_of_other_pods(name, here)
                return "made anew" if told and _was_made_anew(name, here) else ""
            case ("workloads", name, "evictions") | ("workloads", name, "checks", _):
                return "made anew" if _was_made_anew(name, here) else ""
            case ("workloads", name, "requests" | "conditions", *_):
                return _of_who_lacks_pods(one) if _lacks_pods(name, there, here) else ""
            case _:
                return ""

    def _lost_its_class(self, name: str, there: Seen) -> bool:
        """Whether the class that its Workload names is deleted at some time."""
        made = there["workloads"].get(name, {}).get("made") or {"spec": {}}
        named = (made["spec"].get("priorityClassRef") or {}).get("name")
        return any(
            one.verb == "delete" and one.kind == "WorkloadPriorityClass" and one.name == named
            for one in self._world.steps
        )


def _of_job(name: str, one: Difference, there: Seen) -> str:
    """The name of a difference of what a job says of its pods."""
    match one.path[2:]:
        case ("spec", "submitterPodTemplate") if one.there is None:
            return "implied submitter"
        case (*_, "nodeSelector", _) if one.there and one.here and _has_two_flavors(name, there):
            return "order of flavors"
        case _:
            return ""


def _has_two_flavors(name: str, there: Seen) -> bool:
    """Whether a pod set of a workload has more than one flavor."""
    pods = there["workloads"].get(name, {}).get("pods", {})
    return any(len(set(one["flavors"].values())) > 1 for one in pods.values())


def _of_places(name: str, one: Difference, there: Seen, here: Seen) -> str:
    """The name of a difference of where a pod may run."""
    if are_flavors_of_one(one.there, one.here, here):
        return "order of flavors"
    return "order of pods" if _are_placed_alike(name, there, here) else ""


def _was_evicted(name: str, there: Seen) -> bool:
    """Whether Kueue has evicted it."""
    return any(one["evictions"] for key, one in there["workloads"].items() if job_named(key) == job_named(name))


def _was_made_anew(name: str, here: Seen) -> bool:
    """Whether its job has asked for other pods while it ran."""
    found = here["workloads"].get(name, {"evictions": ()})
    return resizings(found) > 0


def _tells_of_other_pods(name: str, here: Seen) -> bool:
    """Whether its last eviction is that: under Kueue the Workload made anew may have been stopped by somebody else, or be the former one."""
    evicted = here["workloads"].get(name, {"conditions": {}})["conditions"].get("Evicted", ["", "", ""])
    return "The job asks for " in evicted[2]


def _of_who_lacks_pods(one: Difference) -> str:
    """The name of a difference of a group that waits until its pods are replaced."""
    if one.path[2] == "requests":
        return "pods that go"
    tried = one.path[3] == "QuotaReserved" and one.here and one.here[1] == "Inadmissible"
    return "tried without pods" if tried else ""


def _lacks_pods(name: str, *sides: Seen) -> bool:
    return all(lacks_pods(side["workloads"].get(name, {"conditions": {}})) for side in sides)


def _is_made_of_pods(name: str, here: Seen) -> bool:
    """Whether a Workload is that of pods."""
    found = here["workloads"].get(name, {}).get("made") or {"owners": {}}
    return any(one["kind"] == "Pod" for one in found["owners"].values())


def _are_placed_alike(name: str, there: Seen, here: Seen) -> bool:
    """Whether the pods of a group have the same places on both sides, each of them another one."""
    group = here["pods"].get(name, {"labels": {}})["labels"].get(POD_GROUP_NAME)
    if group is None:
        return False
    taken = [
        Counter(
            str(sorted((one["nodeSelector"] or {}).items()))
            for one in side["pods"].values()
            if one["labels"].get(POD_GROUP_NAME) == group
        )
        for side in (there, here)
    ]
    return taken[0] == taken[1]
