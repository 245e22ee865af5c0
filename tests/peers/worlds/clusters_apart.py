"""Why what is sent to other clusters stands otherwise under Kueue than under kuelog, where that is meant; the reasons are in `compared.py`."""

import re
from typing import Any

from events.api.labels import JOB_UID, PRIORITY_CLASS, RESOURCE_IN_USE
from tests.peers.worlds.clusters_end import kept_copies
from tests.peers.worlds.difference import Difference
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.standing import holds

_LATER = (
    (r'^The workload got reservation on "(\S+)"$', r'^The workload was admitted on "(\S+)"$'),
    (r"^Reserving remote (lost)$", r"^Admitting remote (lost)$"),
)
"""How Kueue 0.17 says something of a check of other clusters, and how later versions do."""
_OF_EVICTED = frozenset({"Admitted", "Evicted", "Preempted", "Requeued"})


class ClustersApart:
    """Names the differences of workloads that run elsewhere, and of their copies."""

    def name(self, one: Difference, there: Seen, here: Seen, before: Seen) -> str:  # noqa: C901 - one case after the other
        """The name of a difference that is meant, as it was seen of both, and of Kueue `before` the step."""
        match one.path:
            case ("workloads", name, "checks", _) if one.there and one.here:
                return _of_check(one.there, one.here, holds_here=holds(here["workloads"][name]))
            case ("workloads", name, "conditions", "QuotaReserved") if (
                _is_rejected(there["workloads"][name]) and one.there
            ):
                return "rejected without quota" if one.there[2] == "The workload has failed admission checks" else ""
            case ("workloads", name, "nominated") if not one.here and not there["workloads"][name]["pods"]:
                return "nominated in between"
            case ("workloads", name, "nominated") if one.there == _before(name, before) and set(one.here) < set(
                one.there
            ):
                return "nominated before"
            case ("workloads", _, "conditions", _) if one.there and one.here and _names_no_job(one.there, one.here):
                return "job of the manager"
            case ("workloads", _, "copy", "labels", label) if label == JOB_UID and one.here is None:
                return "job of the manager"
            case ("workloads", name, "made", "finalizers") if _is_copy(name, here):
                return "finalizer of copies" if (one.there, one.here) == ([], [RESOURCE_IN_USE]) else ""
            case ("jobs", name, "labels", label) if label == PRIORITY_CLASS and _is_copy(name, here):
                return "class of a job elsewhere"
            case ("workloads" | "jobs", name, *rest) if name in kept_copies(there, here):
                return "copy kept" if _is_of_eviction(one, rest, there["workloads"][name]) else ""
            case ("jobs", name, "suspend") if _is_sent(name, here) and here["workloads"][name]["cluster"]:
                return "stays suspended" if one.here and not one.there else ""
            case ("jobs", name, "status", *rest) if _is_sent(name, here):
                return _of_status(name, one, rest, there, before)
            case _:
                return ""


def _is_rejected(workload: Seen) -> bool:
    return any(state == "Rejected" for state, *_ in workload["checks"].values())


def _before(name: str, before: Seen) -> list[str]:
    """Where a workload was tried before the step."""
    return before["workloads"].get(name, {}).get("nominated", [])


def _of_check(there: list[Any], here: list[Any], *, holds_here: bool) -> str:
    if there[0] == "Rejected" and here[0] == "Pending" and not holds_here:
        return "rejected without quota"
    if there[:2] == here[:2] and there[2] < here[2]:
        return "count of retries"
    return "later message" if _is_worded_later(there, here) else ""


def _is_worded_later(there: list[str], here: list[str]) -> bool:
    """Whether two states of a check are one, told in the words of a later version."""
    if (there[0], there[2]) != (here[0], here[2]):
        return False
    if here[1] == f'{there[1]}, Previously: "Pending"':
        return True
    found = ((re.search(earlier, there[1]), re.search(later, here[1])) for earlier, later in _LATER)
    return any(one and other and one[1] == other[1] for one, other in found)


def _names_no_job(there: list[str], here: list[str]) -> bool:
    """Whether a message names as the job of who needs the room that of the manager, and here none."""
    job = r"JobUID: uid of \S+ in manager\)"
    return there[:2] == here[:2] and re.sub(job, "JobUID: UNKNOWN)", there[2]) == here[2] != there[2]


def _is_copy(name: str, side: Seen) -> bool:
    return "copy" in side["workloads"].get(name, {})


def _is_sent(name: str, side: Seen) -> bool:
    """Whether it is a job that runs in another cluster than this one."""
    workload = side["workloads"].get(name)
    return workload is not None and not _is_copy(name, side) and bool(workload["checks"])


def _is_of_eviction(one: Difference, rest: list[str], copy: Seen) -> bool:
    """Whether a difference comes of that eviction alone: it is told, and the job that was stopped is there."""
    match one.path[0], rest:
        case "jobs", []:
            return one.here is None and one.there["suspend"] and not copy["pods"]
        case "workloads", ["made"]:
            return one.here is None and not copy["pods"]
        case "workloads", ["conditions", kind]:
            return one.here is None and kind in _OF_EVICTED and (kind != "Admitted" or one.there[0] == "False")
        case "workloads", ["evictions"] | ["requeue"]:
            return True
        case _:
            return False


def _of_status(name: str, one: Difference, rest: list[str], there: Seen, before: Seen) -> str:
    """Why a job shows something else of how it stands in another cluster."""
    job: dict[str, Any] = there["jobs"][name]
    if rest == ["conditions", "Suspended"] and one.there is None and one.here[0] == "True" and job["suspend"]:
        return "shown while suspended"
    kept = (before.get("jobs") or {}).get(name, {}).get("status", {"conditions": {}})
    return "heard of later" if job["status"] in (kept, {"conditions": {}}) else ""
