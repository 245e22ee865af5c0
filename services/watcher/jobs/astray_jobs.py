"""Jobs that run while the managed job that owns them waits: nothing is charged for them, and they are stopped.

Rule: docs/rules/objects.md#owned-jobs-that-run
"""

from collections.abc import Iterable
from typing import Protocol

from events.api.labels import DECISION
from events.control import ObjectRefused
from events.job_kind import JobKind
from events.json_object import JsonObject, object_at
from events.json_path import FieldBroken
from services.jobs.job_status import finished_of, is_stopped, is_suspended
from services.jobs.kinds.table import POD, POD_GROUP
from services.watcher.fields.problems import problem

_OF_PODS = (POD.place, POD_GROUP.place)


class Relatives(Protocol):
    """What has to be known of owners to tell who waits for whom."""

    def is_owned(self, place: str) -> bool:
        """Whether another job owns the one at a place."""
        ...

    def manager_of(self, place: str) -> str | None:
        """The managed job that stands highest above the one at a place."""
        ...

    def below(self, place: str) -> Iterable[str]:
        """The places of jobs that the one at a place owns, directly or over others."""
        ...


class AstrayJobs:
    """Which owned jobs run, and which jobs wait, by place."""

    def __init__(self) -> None:
        self._going: set[str] = set()
        """Jobs that do not wait: very many may."""
        self._running: dict[str, tuple[str, int]] = {}
        """Of owned ones, the UID and the generation."""
        self._spared: set[str] = set()
        """Those that ran already when they were listed, as after an upgrade: they go on until they stop, or are let in."""
        self.listing = False
        """Whether all objects of a kind are looked at, be it the first time or after a gap."""

    def note(self, place: str, kind: JobKind, value: JsonObject, around: "Relatives") -> None:
        """Take note of a job and of whose it is."""
        if kind.reader == POD.reader:
            return
        if _waits(kind, value):
            self._going.discard(place)
        else:
            self._going.add(place)
            if self._spared:
                self._spared.difference_update(around.below(place))
        if not around.is_owned(place) or not _runs(kind, value):
            self._running.pop(place, None)
            self._spared.discard(place)
            return
        meta = object_at(value, "metadata")
        generation = meta.get("generation")
        self._running[place] = str(meta.get("uid", "")), generation if isinstance(generation, int) else 1
        if self.listing:
            manager = around.manager_of(place)
            if manager is None or self.waits(manager):
                self._spared.add(place)

    def lose(self, place: str) -> None:
        """Forget a job that is gone."""
        self._going.discard(place)
        self._running.pop(place, None)
        self._spared.discard(place)

    def waits(self, place: str) -> bool:
        """Whether the job at a place waits, as far as it was seen: whoever stops another for that looks at it before."""
        return place not in self._going and place.partition("/")[0] not in _OF_PODS

    def refusals(self, places: Iterable[str], manager: str) -> list[ObjectRefused]:
        """That those of these places run, while `manager`, which owns them, waits."""
        if not self.waits(manager):
            return []
        owner, _, name = manager.split("/", 2)
        told = problem("metadata.ownerReferences", f"it runs while {owner} {name}, which owns it, waits")
        found: list[ObjectRefused] = []
        for place in places:
            if place in self._running and place not in self._spared:
                kind, namespace, own = place.split("/", 2)
                uid, generation = self._running[place]
                named = ObjectRefused(
                    kind=kind,
                    namespace=namespace,
                    name=own,
                    uid=uid,
                    running=generation,
                    owner=manager,
                    problems=(told,),
                )
                found.append(named)
        return found


def _runs(kind: JobKind, job: JsonObject) -> bool:
    return not is_suspended(kind, job) and finished_of(kind, job) is None


def _waits(kind: JobKind, job: JsonObject) -> bool:
    """Whether nothing of a job may run: it was not started, or has stopped. While it stops, its own controller ends what it owns."""
    if not is_suspended(kind, job) or finished_of(kind, job) is not None:
        return False
    try:
        return not object_at(job, "metadata", "annotations").get(DECISION) or is_stopped(kind, job)
    except FieldBroken:
        return False
