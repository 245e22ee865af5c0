"""Whether a Workload object differs from how it was looked at last in anything that is read of it.

What kuelog writes of its decisions comes back with the watch, and says nothing that is not on the log: neither the admission nor its
conditions are read of an object whose workload is known, but for its end, and for whether pods are ready, and whether they stopped, of
which no job tells. To read it again would cost more than to write it.
"""

import hashlib
from collections.abc import Iterable
from typing import Protocol

import msgspec

from events.application import DecisionApplied
from events.catalogue import Fact
from events.control import ObjectMended, ObjectRemoved
from events.json_object import JsonMapping, JsonObject, object_at, objects_at
from events.quota import LocalQueueObserved, NamespaceObserved, PriorityClassObserved
from events.workload import WorkloadFinished
from projections.workloads.lifecycle import FINISHED, PODS_READY
from projections.workloads.preemption_gates import turned_by_others
from services.jobs.kinds.managed_kinds import Kinds
from services.watcher.fields.problems import is_named
from services.watcher.seen_versions import place_in
from services.watcher.workloads.reported_state import ReportedState
from services.watcher.workloads.workload_object_diff import stop_of_manager
from services.watcher.workloads.workload_objects import belongs_to_job, given_back_in, pods_ready_in

_DIGEST = 8
_NOT_READ = frozenset({"resourceVersion", "managedFields"})
_UNDERSTOOD_BY = (PriorityClassObserved, LocalQueueObserved, NamespaceObserved, ObjectRemoved, ObjectMended)
"""What others are understood by, or are understood again with."""


class Looking(Protocol):
    """Who looks at objects, and what was reported so far."""

    facts: dict[str, Fact]
    workloads: dict[str, ReportedState]
    kinds: Kinds

    def look_at(self, kind: str, value: JsonObject) -> list[Fact]:
        """The facts in which an object differs from what was reported, read in full."""
        ...

    def fresh(self, found: Iterable[Fact]) -> list[Fact]:
        """Those facts that are not reported yet."""
        ...

    def hangs_together(self, key: str) -> bool:
        """Whether what follows from a Workload object depends on other objects, too."""
        ...


class LastLooks:
    """By place, a digest of what was read of the object when nothing of it was left to report."""

    def __init__(self, view: Looking) -> None:
        self._view = view
        self._digests: dict[str, bytes] = {}

    def see(self, place: str, value: JsonObject, *, whole: bool) -> list[Fact]:
        """The facts in which a Workload object differs from what was reported; with `whole` it is read in full in any case."""
        try:
            digest = digest_of(value)
        except Exception:  # noqa: BLE001 - whatever is wrong with it, it is told when it is read in full
            digest = None
        same = not whole and f"{place}#refused" not in self._view.facts and self._digests.get(place, b"") == digest
        fresh = self.ended(value) if same else self._view.look_at("Workload", value)
        if digest is not None and self._stands_alone(place):
            self._digests[place] = digest
        return fresh

    def heed(self, fact: Fact) -> None:
        """What else is reported of a workload makes its object be read again, and so does what objects are understood by."""
        if isinstance(fact, _UNDERSTOOD_BY):
            self._digests.clear()
        elif not isinstance(fact, DecisionApplied):
            self.forget(f"Workload/{getattr(fact, 'workload', '')}")

    def forget(self, place: str) -> None:
        """Have the object of a place read in full when it is seen next: it is gone, or something else was reported of it."""
        self._digests.pop(place, None)

    def ended(self, value: JsonObject) -> list[Fact]:
        """The end of a workload whose object says it and nothing else that is new, or that is understood; that of a job is read from the job."""
        if not is_named(value):
            return []
        place = place_in("Workload", value)
        key = place.removeprefix("Workload/")
        reported, end = self._view.workloads.get(key), end_of(value)
        if reported is None or reported.source != place or reported.job.finished or end is None:
            return []
        return self._view.fresh([WorkloadFinished(workload=key, reason=end[0], message=end[1])])

    def _stands_alone(self, place: str) -> bool:
        """Whether nothing but what is read of a Workload object makes a difference to what follows from it."""
        key, view = place.removeprefix("Workload/"), self._view
        reported = view.workloads.get(key)
        if reported is None or view.hangs_together(key) or f"{place}#refused" in view.facts:
            return False
        return reported.source == place or reported.source.partition("/")[0] in view.kinds.by_place


def digest_of(value: JsonMapping) -> bytes:
    """A digest of all that is read of an object whose workload is known, but for its end; the rest of its status may change."""
    read = (
        {name: field for name, field in object_at(value, "metadata").items() if name not in _NOT_READ},
        value.get("spec"),
        object_at(value, "status").get("admissionChecks"),
        object_at(value, "status").get("nominatedClusterNames"),
        object_at(value, "status").get("reclaimablePods"),
        [one for one in objects_at(value, "status", "preemptionGates") if turned_by_others(one["name"])],
        stop_of_manager(value),
        pods_ready_in(value) if _tells_of_pods(value) else None,
        None if belongs_to_job(value) else given_back_in(value),
    )
    return hashlib.blake2b(msgspec.json.encode(read), digest_size=_DIGEST).digest()


def _tells_of_pods(value: JsonMapping) -> bool:
    """Whether somebody says on the object itself how its pods stand, as no job does."""
    shown = any(one.get("type") == PODS_READY for one in objects_at(value, "status", "conditions"))
    return shown and not belongs_to_job(value)


def end_of(value: JsonMapping) -> tuple[str, str] | None:
    """Reason and message of the condition by which an object says that its workload has ended; None where none does."""
    for one in objects_at(value, "status", "conditions"):
        if one.get("type") == FINISHED and one.get("status") == "True":
            return str(one.get("reason") or ""), str(one.get("message") or "")
    return None
