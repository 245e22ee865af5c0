"""The status of a Workload object in parts, each written by server-side apply under the field manager that Kueue uses for it.

Each apply names a whole part: a field that is left out is removed. Fields of other managers are in no part.
"""

import hashlib
from typing import Any

import msgspec

from events.json_object import JsonMapping, JsonObject, object_at
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

NOMINATED = "nominatedClusterNames"
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
    "unhealthyNodes",
    NOMINATED,
    "clusterName",
)


class StatusPart(msgspec.Struct, frozen=True):
    """Some fields of a status, and the field manager that owns them."""

    manager: str
    status: JsonObject


def decided_part(status: JsonObject) -> StatusPart:
    """The fields of a status that hold decisions."""
    found = {name: status[name] for name in _FIELDS if status.get(name) is not None}
    return StatusPart(ADMISSION, {"conditions": _conditions(status, _DECIDED), **found})


def seen_parts(status: JsonObject, found: JsonObject | None, *, pods: bool) -> list[StatusPart]:
    """The parts that hold observations of the job, without those that the object shows already (all if `found`, the object, is None).

    A Finished condition that is true is never written again, by whichever manager it is. Without `pods`, PodsReady is left out.
    """
    parts: list[StatusPart] = []
    shown = object_at(found or {}, "status")
    for kind in _SEEN if pods else (FINISHED, WAITING_FOR_PODS):
        wanted, there = _conditions(status, (kind,)), _conditions(shown, (kind,))
        over = kind == FINISHED and any(one.get("status") == "True" for one in there)
        if wanted != there and not over:
            parts.append(StatusPart(f"{_OF_THE_JOB}-{kind}", {"conditions": wanted}))
    reclaimable = status.get("reclaimablePods")
    if (reclaimable or None) != (shown.get("reclaimablePods") or None):
        parts.append(StatusPart(_RECLAIMABLE, {"reclaimablePods": reclaimable} if reclaimable else {}))
    return parts


def left_behind(wanted: JsonObject, found: JsonObject, *, others_nominate: bool = False) -> JsonObject | None:
    """The merge patch that removes decided fields which hold no more and which another manager owns, too; None without any.

    Where `others_nominate`, the clusters that they have named stay.
    """
    fields = (name for name in _FIELDS if not others_nominate or name != NOMINATED)
    gone = {name: None for name in fields if found.get(name) and name not in wanted}
    return gone or None


def print_of(status: JsonObject) -> str:
    """A digest of the decided fields of a status: as long as it is the same, nobody else has written decisions."""
    text = msgspec.json.encode(_sorted(decided_part(status).status), order="deterministic")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _sorted(status: JsonObject) -> JsonObject:
    return {**status, "conditions": sorted(status["conditions"], key=lambda one: str(one.get("type")))}


def _conditions(status: JsonMapping, kinds: Any) -> list[JsonObject]:
    return [one for one in status.get("conditions") or () if one.get("type") in kinds]
