"""The status of a Workload object in parts: each is written in the name that Kueue writes it in, and holds nothing else.

Who writes a part names all of it: what is left out goes. What others have written is not in any of them.
"""

import hashlib
from typing import Any

import msgspec

from events.json_object import JsonObject
from projections.workloads.lifecycle import (
    ADMITTED,
    BLOCKED_ON_GATES,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    WAITING_FOR_PODS,
)

ADMISSION = "kueue-admission"
"""Whose field everything is that is decided."""
_OF_THE_JOB = "kueue-job-controller"
_RECLAIMABLE = "kueue-reclaimable-pods"
_DECIDED = frozenset({QUOTA_RESERVED, ADMITTED, EVICTED, PREEMPTED, REQUEUED, DEACTIVATION_TARGET, BLOCKED_ON_GATES})
_SEEN = (FINISHED, PODS_READY, WAITING_FOR_PODS)
"""Conditions that say what was seen of a job: each has an owner of its own."""
_FIELDS = (
    "admission",
    "requeueState",
    "admissionChecks",
    "resourceRequests",
    "preemptionGates",
    "accumulatedPastExecutionTimeSeconds",
    "schedulingStats",
)


class Part(msgspec.Struct, frozen=True):
    """Some fields of a status, and who they belong to."""

    manager: str
    status: JsonObject


def decided_part(status: JsonObject) -> Part:
    """What was decided."""
    found = {name: status[name] for name in _FIELDS if status.get(name) is not None}
    return Part(ADMISSION, {"conditions": _conditions(status, _DECIDED), **found})


def seen_parts(status: JsonObject, found: JsonObject | None, *, pods: bool = True) -> list[Part]:
    """What was seen of the job, as far as an object does not show it already; all there is, if none is known.

    That a job has ended is said once: whoever has said it has said it for good. Whether its pods are ready is said where that
    is asked for.
    """
    parts: list[Part] = []
    for kind in _SEEN if pods else (FINISHED, WAITING_FOR_PODS):
        wanted, there = _conditions(status, (kind,)), _conditions(found or {}, (kind,))
        over = kind == FINISHED and any(one.get("status") == "True" for one in there)
        if wanted != there and not over:
            parts.append(Part(f"{_OF_THE_JOB}-{kind}", {"conditions": wanted}))
    reclaimable = status.get("reclaimablePods")
    if (reclaimable or None) != ((found or {}).get("reclaimablePods") or None):
        parts.append(Part(_RECLAIMABLE, {"reclaimablePods": reclaimable} if reclaimable else {}))
    return parts


def left_behind(wanted: JsonObject, found: JsonObject) -> JsonObject | None:
    """The merge patch of a status for what was decided once and holds no more, and belongs to others, too."""
    gone = {name: None for name in _FIELDS if found.get(name) and name not in wanted}
    return gone or None


def print_of(status: JsonObject) -> str:
    """A digest of what an object shows of what was decided: as long as it is the same, nobody else has decided."""
    text = msgspec.json.encode(_sorted(decided_part(status).status), order="deterministic")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _sorted(status: JsonObject) -> JsonObject:
    return {**status, "conditions": sorted(status["conditions"], key=lambda one: str(one.get("type")))}


def _conditions(status: JsonObject, kinds: Any) -> list[JsonObject]:
    return [one for one in status.get("conditions") or () if one.get("type") in kinds]
