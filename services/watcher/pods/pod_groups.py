"""Pods that no job starts and stops, alone or as groups: which exist, and which of them need our finalizer no longer."""

from collections.abc import Iterable, Mapping

from events.api.labels import QUEUE_NAME
from events.api.meta import ApiStruct, ObjectMeta
from events.catalogue import Fact
from events.json_object import JsonObject
from events.json_path import FieldBroken
from events.pod import PodAccounted
from services.jobs.kinds import pods as rules
from services.watcher.fields.object_reading import read
from services.watcher.fields.problems import Refused, problem
from services.watcher.jobs.jobs import JobState, Surroundings
from services.watcher.pods.pod_members import age, counts_on
from services.watcher.pods.pod_state import excess_of, members_of_group, pod_state
from services.watcher.workloads.reported_state import ReportedState

EXCESS, DISMISSED = "ExcessPodDeleted", "WorkloadDeleted"
"""Why a pod has to go: there is no place for it in its group, or somebody has deleted the group's Workload."""


class _Headed(ApiStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta


class PodGroups:
    """The managed pods that are there, by the place of what they are part of."""

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        self._facts = facts
        self._pods: dict[str, dict[str, JsonObject]] = {}
        self._places: dict[str, str] = {}
        self.owners: dict[str, frozenset[str]] = {}
        """The UIDs of those that own a Workload, by its key: with the last of them it goes."""

    def see(self, value: JsonObject, around: Surroundings) -> list[str]:
        """Take note of a pod; the places of workloads that have to be looked at again: where it was before, if that is another, and its own."""
        meta = read(value, _Headed).metadata
        key = f"{meta.namespace}/{meta.name}"
        if key not in self._places and (
            not rules.is_managed(value)
            or not ((meta.labels or {}).get(QUEUE_NAME) or around.kinds.takes_all or rules.waits_for_its_group(value))
            or around.goes_with_owner(meta)
        ):
            return []
        group = rules.group_of(value)
        place = f"PodGroup/{meta.namespace}/{group}" if group else f"Pod/{key}"
        left = [self.lose(meta.namespace, meta.name)] if self._places.get(key, place) != place else []
        self._places[key] = place
        self._pods.setdefault(place, {})[meta.name] = value
        return [*left, place]

    def lose(self, namespace: str, name: str) -> str:
        """Forget a pod; the place of the workload that has to be looked at again, or nothing."""
        place = self._places.pop(f"{namespace}/{name}", "")
        self._pods.get(place, {}).pop(name, None)
        if place and not self._pods[place]:
            del self._pods[place]
        return place

    def owned(self, reported: ReportedState, key: str, workload: JsonObject) -> list[PodAccounted]:
        """Take note of who owns the object of a workload, if it is one of pods; which of them may go because of it."""
        if not self.known(reported.source):
            return []
        self.owners[key] = frozenset(one.get("uid", "") for one in workload["metadata"].get("ownerReferences") or ())
        return self.accounted(reported.source, key, reported)

    def known(self, place: str) -> bool:
        """Whether any pod of it is there."""
        return place in self._pods

    def size(self, place: str) -> int:
        """How many pods of it are there."""
        return len(self._pods.get(place, ()))

    def first(self, place: str) -> dict[str, str]:
        """The pod of a place on which problems of the group are reported: the oldest that runs here, or else the oldest."""
        meta = min(self._pods[place].values(), key=lambda one: (not rules.runs_here(one), age(one)))["metadata"]
        return {"pod": meta["name"], "uid": meta.get("uid", "")}

    def run_here(self, place: str) -> bool:
        """Whether any pod of a place went through its gate and runs."""
        return any(rules.runs_here(one) for one in self._pods[place].values())

    def keep_only(self, objects: Iterable[JsonObject]) -> None:
        """Forget all pods but these: there are no others."""
        there = {f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}" for one in objects}
        for key in [key for key in self._places if key not in there]:
            self.lose(*key.split("/", 1))

    def state(self, place: str, around: Surroundings, reported: ReportedState | None) -> JobState | None:
        """The workload of a place; None before all its pods were there once, and when none is left. Raises `Refused`."""
        found = self.pods(place)
        try:
            return pod_state(found, around, reported) if found else None
        except FieldBroken as broken:
            raise Refused([problem(broken.field, broken.message, broken.instead)]) from broken

    def accounted(self, place: str, key: str, reported: ReportedState | None) -> list[PodAccounted]:
        """The pods of a place that need our finalizer no longer, now that what they say of their workload is reported."""
        found = self.pods(place)
        if not place.startswith("PodGroup/"):
            over = reported is not None and reported.job.finished
            return [_accounted(one, key) for one in found if _lingers(one) and (over or rules.is_leaving(one))]
        if reported is None:
            return [
                *(_accounted(one) for one in found if rules.is_held(one) and not _counts_in_new_group(one)),
                *(_accounted(one, doomed=EXCESS) for one in excess_of(found)),
            ]
        if found and rules.has_parent(found[0]):
            return [_accounted(one, key) for one in found if _lingers(one)]
        group = members_of_group(found, reported)
        kept = {one["metadata"].get("uid", "") for one in group.kept}
        owners = self.owners.get(key)
        # The Workload goes with the last pod that owns it: those that came later have to own it first.
        replaced = group.replaced if owners is None or owners & kept else ()
        ended = group.kept if reported.job.finished else ()
        return [
            *(_accounted(one, key, EXCESS) for one in group.excess),
            *(_accounted(one, key) for one in (*replaced, *ended) if _lingers(one)),
        ]

    def dismissed(self, place: str, key: str) -> list[PodAccounted]:
        """Somebody has deleted their Workload: all pods of a place go with it."""
        return [_accounted(one, key, DISMISSED) for one in self.pods(place)]

    def pods(self, place: str) -> list[JsonObject]:
        """The pods of a place that were not dismissed, oldest first."""
        return sorted((one for one in self._pods.get(place, {}).values() if not self._goes(one)), key=age)

    def _goes(self, pod: JsonObject) -> bool:
        meta = pod["metadata"]
        fact = self._facts.get(f"Pod/{meta.get('namespace', '')}/{meta['name']}#accounted")
        return isinstance(fact, PodAccounted) and fact.doomed == DISMISSED and fact.uid == meta.get("uid", "")


def left_behind(pod: JsonObject) -> list[PodAccounted]:
    """A pod that is part of no workload is held no longer when somebody has deleted it."""
    return [_accounted(pod)] if rules.is_held(pod) and rules.is_leaving(pod) else []


def _counts_in_new_group(pod: JsonObject) -> bool:
    """Whether a pod is to take a place in a group of which there is no workload: not if it was deleted, and has ended."""
    return counts_on(pod) and not (rules.is_over(pod) and rules.is_leaving(pod))


def _lingers(pod: JsonObject) -> bool:
    return rules.is_held(pod) and (rules.is_over(pod) or rules.is_leaving(pod))


def _accounted(pod: JsonObject, workload: str = "", doomed: str = "") -> PodAccounted:
    meta = pod["metadata"]
    return PodAccounted(namespace=meta.get("namespace", ""), name=meta["name"], uid=meta.get("uid", ""), doomed=doomed)
