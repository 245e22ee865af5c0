"""Facts about pods without a job and about the serving objects that own them: each group is reported as one workload."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from events.catalogue import Fact
from events.json_object import JsonObject
from events.workload import WorkloadDeleted, WorkloadOwned
from services.watcher.fields.problems import Refused, refusal, understood, well_formed
from services.watcher.jobs.jobs import JobState, Surroundings
from services.watcher.pods.pod_group_owners import PodGroupOwners, key_of
from services.watcher.pods.pod_groups import PodGroups, left_behind
from services.watcher.pods.serving_state import serving_state
from services.watcher.seen_versions import place_in
from services.watcher.workloads.prebuilt_workloads import NamingJob, PrebuiltWorkloads
from services.watcher.workloads.reported_state import ReportedState

_MANY = 100
"""Of more pods than this a group is not looked at with each change of one: that would be the square of what a user asks for."""


class Reporting(Surroundings, Protocol):
    """What this part of the view needs of the rest: the facts reported so far, and reporting new ones."""

    facts: dict[str, Fact]
    workloads: dict[str, ReportedState]
    by_source: dict[str, str]
    prebuilt: PrebuiltWorkloads

    def manages(self, place: str) -> bool:
        """Whether kuelog manages the object at a place."""
        ...

    def fresh(self, found: Iterable[Fact]) -> list[Fact]:
        """The facts that were not reported yet; they count as reported from now on."""
        ...

    def mended(self, place: str, found: Iterable[Fact]) -> list[Fact]:
        """The fact that a refused object is understood again, unless `found` says so."""
        ...

    def workload_facts(self, place: str, state: JobState | None) -> list[Fact]:
        """The facts in which the workload of a place differs from what was reported."""
        ...

    def facts_of_prebuilt(self, place: str, state: JobState, job: NamingJob) -> list[Fact]:
        """The next facts about pods, or what serves with them, that run in a Workload which was made before them."""
        ...


class PodWatch:
    """The part of a view that is about pods without a job."""

    def __init__(self, view: Reporting) -> None:
        self._view, self._groups, self._parents = view, PodGroups(view.facts), PodGroupOwners(view.kinds)
        self._pods_seen = False
        """Whether any pod was seen; before that the pods of a group that was reported are not known."""
        self._refused: dict[str, str] = {}
        """By place of what can't be understood, as it was looked at last, the place of the object on which that is reported."""
        self._put_off: set[str] = set()
        """Large groups of which something has changed since they were looked at."""

    @property
    def put_off(self) -> int:
        """How many pods have to be looked at in groups that were not looked at with each change, as they are large."""
        return sum(self._groups.size(place) for place in self._put_off)

    def look_at_put_off(self) -> list[Fact]:
        """The facts that follow from all changes of large groups since they were looked at last."""
        places, self._put_off = sorted(self._put_off), set()
        return self._look_at(places)

    def see(self, kind: str, value: JsonObject) -> list[Fact]:
        """The facts that follow from a change of a pod, or of a serving object; those about large groups come later."""
        if kind in self._view.kinds.parents:
            return self._look_soon_at(self._parents.see(kind, value))
        if kind != "Pod":
            return []
        self._pods_seen = True
        places = self._take_note(value)
        return self._look_soon_at(places) if places else self._view.fresh(left_behind(value))

    def refuses(self, place: str) -> bool:
        """Whether something is reported on the object at a place that can't be understood, be it for long."""
        return self._refused.get(place) == place or place in self._refused.values()

    def lose(self, kind: str, namespace: str, name: str) -> list[Fact]:
        """The facts that follow from the deletion of an object."""
        if kind in self._view.kinds.parents:
            return self._look_soon_at(self._parents.lose(kind, namespace, name))
        match kind:
            case "Pod":
                place = self._groups.lose(namespace, name)
                self._refused.pop(place, None)
                known = place in self._view.by_source or place.startswith("PodGroup/")
                return self._look_soon_at([place] if known else [])
            case "Workload":
                return self._lose_workload(f"{namespace}/{name}")
            case _:
                return []

    def owned(self, reported: ReportedState, key: str, workload: JsonObject) -> list[Fact]:
        """Record who owns a Workload object; the facts about pods that may go because of it."""
        return list(self._groups.owned(reported, key, workload))

    def expect(self, kind: str, objects: Sequence[JsonObject]) -> None:
        """Record all pods of a list before any is reported, so that no group looks as if it had lost some."""
        if kind == "Pod":
            self._pods_seen = True
            self._groups.keep_only(objects)
            for value in objects:
                with suppress(Refused):
                    well_formed(value)
                    understood(lambda pod=value: self._silently(pod))
        elif kind in self._view.kinds.parents:
            self._parents.keep_only(kind, objects)

    def settle(self, kind: str) -> list[Fact]:
        """The facts about groups that are certain only once all objects of a kind were seen."""
        if kind != "Pod" and kind not in self._view.kinds.parents:
            return []
        places = {place for place in self._view.by_source if place.startswith("PodGroup/")}
        return [*self._look_at(sorted(places - self._put_off)), *self.look_at_put_off()]

    def _take_note(self, pod: JsonObject) -> list[str]:
        places = self._groups.see(pod, self._view)
        for place in places[-1:]:
            self._parents.see_pod(place, pod)
        return places

    def _silently(self, pod: JsonObject) -> list[Fact]:
        self._take_note(pod)
        return []

    def _look_soon_at(self, places: Iterable[str]) -> list[Fact]:
        """As `_look_at`, but of large groups only once for many changes."""
        at_once: list[str] = []
        for place in places:
            if self._groups.size(place) > _MANY:
                self._put_off.add(place)
            else:
                at_once.append(place)
        return self._look_at(at_once)

    def _look_at(self, places: Iterable[str]) -> list[Fact]:
        """The differences of workloads made of pods from what was reported, and which pods need our finalizer no longer."""
        fresh: list[Fact] = []
        for place in places:
            self._refused.pop(place, None)
            found = self._or_refused(place, self._facts_of)
            fresh += self._view.fresh(found)
            if any(isinstance(one, WorkloadOwned) for one in found):
                found = self._or_refused(place, self._facts_of)  # Now it is known whose they are.
                fresh += self._view.fresh(found)
            accounted = self._or_refused(place, self._accounted)
            fresh += self._view.fresh(accounted)
            fresh += self._view.mended(place, [*found, *accounted])
        return fresh

    def _or_refused(self, place: str, derive: Callable[[str], list[Fact]]) -> list[Fact]:
        """The facts derived from the pods of a place; when they can't be understood, one pod or the parent is refused."""
        try:
            return understood(lambda: derive(place))
        except Refused as refused:
            reported = self._view.workloads.get(self._view.by_source.get(place, ""))
            owner = self._parents.find(place, reported)
            if owner.value is not None:
                self._refused[place] = place_in(owner.kind, owner.value)
                return [refusal(owner.kind, owner.value, refused)]
            self._refused[place] = place
            word, namespace, name = place.split("/", 2)
            who = {**self._groups.first(place), "namespace": namespace, "name": name}
            return [refusal(word, {}, refused, running=int(self._groups.run_here(place)), who=who)]

    def _accounted(self, place: str) -> list[Fact]:
        key = self._view.by_source.get(place, "")
        return list(self._groups.accounted(place, key, self._view.workloads.get(key)))

    def _facts_of(self, place: str) -> list[Fact]:
        reported = self._view.workloads.get(self._view.by_source.get(place, ""))
        if reported is not None and not self._pods_seen:
            return []  # What serves may be listed before the pods are.
        owner = self._parents.find(place, reported)
        kind, parent = owner.kind, owner.value
        if kind and parent is None and kind not in self._parents.listed:
            return []  # Who says how many pods it has was not seen yet.
        unknown = not kind and place.partition("/")[0] not in self._view.kinds.by_place
        if unknown or not self._view.manages(place):
            return []
        state = self._state(place, kind, parent, reported)
        if state is not None and state.prebuilt:
            seen = NamingJob(kind, parent) if parent is not None else NamingJob("Pod", self._groups.pods(place)[0])
            return self._view.facts_of_prebuilt(place, state, seen)
        self._view.prebuilt.forget(place)
        return self._view.workload_facts(place, state)

    def _state(
        self, place: str, kind: str, parent: JsonObject | None, reported: ReportedState | None
    ) -> JobState | None:
        view, pods = self._view, self._groups.pods(place)
        if parent is not None:
            job_kind = view.kinds.parents[kind]
            known = None if reported is None else (view.by_source[place], reported)
            key = key_of(job_kind, parent, place, known)
            # Under another key it is another workload: what was reported of the one before says nothing about it.
            reported = reported if known is not None and known[0] == key else None
            return serving_state(job_kind, parent, place, key, pods, view, reported)
        return None if kind else self._groups.state(place, view, reported)

    def _lose_workload(self, key: str) -> list[Fact]:
        """A Workload object is gone: pods without a job are dismissed with it; a serving parent gets a new workload."""
        self._groups.owners.pop(key, None)
        reported = self._view.workloads.get(key)
        if (
            reported is None
            or reported.job.finished
            or not (reported.job.parent or self._groups.known(reported.source))
        ):
            return []
        fresh = self._view.fresh([WorkloadDeleted(workload=key), *self._groups.dismissed(reported.source, key)])
        return [*fresh, *(self._look_at([reported.source]) if reported.job.parent else [])]
