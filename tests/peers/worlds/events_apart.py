"""Which differences of what Events say are meant."""

import re

from tests.peers.worlds.difference import Difference
from tests.peers.worlds.seen import Seen

_ONLY_THERE = {
    "Normal DeletedWorkload": "made anew",
    "Normal OwnerReferencesAdded": "owners of groups",
    "Warning Pending": "tried in between",
}
"""By type and reason of an Event that only Kueue has recorded, the name of that."""
_ONLY_HERE = {
    "Normal AdmissionGateCleared": "gated or inactive",
    "Normal EvictedDueToNoMatchingWorkload": "made anew",
    "Normal UpdatedWorkload": "same containers",
    "Warning Inadmissible": "said in an Event",
    "Warning OnHold": "on hold at zero",
    "Warning WorkloadPriorityClassNotFound": "class not found",
}
_DISCARDED = ["Deleted deactivated workload due to elapsed retention"]
_OF_CHECKS = ("AdmissionCheckRejected", "EvictedDueToAdmissionCheck", "EvictedDueToDeactivatedDueToAdmissionCheck")
_OF_GROUPS = (
    "Normal CreatedWorkload",
    "Normal FinishedWorkload",
    "Normal UpdatedAdmissionCheck",
    "Warning ErrWorkloadCompose",
)
_NO_MATCH = "No matching Workload"
_LEVEL = re.compile(r";borrow=\d+")
_LACKING = re.compile(
    r"(?:borrow=\d+;)?(?:insufficient quota for \S+ in (flavor \S+), previously considered podsets requests \([^)]*\)"
    r" \+ current podset request \([^)]*\) > maximum capacity \([^)]*\)"
    r"|insufficient unused quota for \S+ in (flavor \S+), \S+ more needed)"
)


def name_of_event(one: Difference, there: Seen, here: Seen) -> str:
    """The name of a difference of an Event that is meant."""
    if one.path[0] != "events":
        return ""
    about, _, said = one.path[1].partition(": ")
    if None in (one.there, one.here):
        return _of_one_side(one, about, said, there, here)
    if said == "Warning ErrWorkloadCompose" and all(any(theirs in ours for ours in one.here) for theirs in one.there):
        return "names the field"
    if said.endswith(_OF_CHECKS):
        return "later message"
    if said == "Normal Stopped" and any(text.startswith(_NO_MATCH) for text in one.there):
        return "made anew"
    if said == "Normal QuotaReserved" and _without_levels(one.there) == _without_levels(one.here):
        return "levels of who takes in"
    if said == "Normal QuotaReserved" and _in_any_order(one.there) == _in_any_order(one.here):
        return "order of resources"
    return ""


def _of_one_side(one: Difference, about: str, said: str, there: Seen, here: Seen) -> str:
    """Why an Event was recorded by Kueue alone, or here alone."""
    of_pod = about.startswith("Pod ")
    if of_pod and said in _OF_GROUPS:
        others = (there if one.there is None else here)["events"]
        return "any pod of its group" if any(_is_of_a_pod(other, said) for other in others) else ""
    if (said, one.here) == ("Normal Deleted", _DISCARDED):
        kept = there["workloads"].get(about.removeprefix("Workload "))
        return "kept of no job" if kept is not None and not kept.get("made") else ""
    if said == "Warning ErrWorkloadCompose" and any("WorkloadPriorityClass" in text for text in one.there or ()):
        return "class not found"
    if one.here is None:
        return "owners of groups" if of_pod and said == "Normal Stopped" else _ONLY_THERE.get(said, "")
    return _ONLY_HERE.get(said, "")


def _is_of_a_pod(event: str, said: str) -> bool:
    return event.startswith("Pod ") and event.endswith(f": {said}")


def _without_levels(messages: list[str]) -> list[str]:
    return [_LEVEL.sub("", one) for one in messages]


def _in_any_order(messages: list[str]) -> set[tuple[str, ...]]:
    """Their words in any order, without which resource was looked at, and at which level: where there are two, that is chance."""
    return {tuple(sorted(re.split(r"[ ,;:()]+", _LACKING.sub(r"\1\2", one)))) for one in messages}
