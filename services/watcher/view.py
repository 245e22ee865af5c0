"""The watcher's view: all that was reported already, so that it reports only differences.

A view is rebuilt by folding the facts on the log: a watcher that restarts, and a second one beside it, report nothing
twice (docs/rules/log.md#differences).
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from events.catalogue import Fact
from events.control import ObjectMended, ObjectRefused, ObjectRemoved
from events.json_object import JsonObject, object_at
from events.quota import NamespaceObserved, PriorityClassObserved
from events.settings import SettingsObserved
from events.workload import (
    WorkloadDeleted,
    WorkloadOwned,
)
from projections.devices.card_config import CardConfig
from projections.workloads.slice_chains import first_slice_key
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.managed_namespaces import asks_for_labels, is_managed
from services.validation.conversion.convert import to_v1beta2
from services.watcher.claims.claim_book import ClaimBook
from services.watcher.claims.selectors import Selectors
from services.watcher.fields.problems import Refused, is_named, refusal, refuse_invalid, understood, well_formed
from services.watcher.jobs.job_ownership import NESTING_TOO_DEEP, JobOwnership, ParentJob
from services.watcher.jobs.jobs import JobState, job_state, not_understood, runs, submitted
from services.watcher.jobs.workload_class import in_class
from services.watcher.jobs.workload_source import workload_place
from services.watcher.nodes.node_usage import NodeUsage
from services.watcher.nodes.nodes import node_facts, pod_fact
from services.watcher.object_keys import BESIDE, PARTS, known, object_of, place_of
from services.watcher.pods.pod_watch import PodWatch
from services.watcher.seen_versions import place_in
from services.watcher.settings.cluster_objects import SIMPLE
from services.watcher.settings.device_config import KnownCards, hami_config
from services.watcher.settings.metric_labels import with_metrics
from services.watcher.settings.provisioning import provisioning_request
from services.watcher.workloads.found_slices import begun_in
from services.watcher.workloads.last_looks import LastLooks
from services.watcher.workloads.prebuilt_workloads import (
    NamingJob,
    PrebuiltWorkloads,
    before_it_runs,
    out_of_sync,
    with_prebuilt,
)
from services.watcher.workloads.reported_state import ReportedState, asked_last, changes, ended_unseen
from services.watcher.workloads.reported_workloads import ReportedWorkloads
from services.watcher.workloads.workload_object_diff import (
    as_found,
    clusters_named,
    companion_facts,
    decided_elsewhere,
    marks_of,
    stands_for,
    terminating,
    to_be_stopped,
)
from services.watcher.workloads.workload_objects import belongs_to_job, workload_state


class View:
    """The facts reported so far, by object."""

    def __init__(
        self, *, validates: bool = True, settings: SettingsObserved | None = None, selectors: Selectors | None = None
    ) -> None:
        self._validates = validates
        """Whether objects are held to the rules of their kind, or what they say is simply taken."""
        self.facts: dict[str, Fact] = {}
        """By `kind/namespace/name`, with a part behind it where one object gives several facts."""
        self.settings = settings = settings or SettingsObserved()
        self.kinds, self.copied_labels = kinds_of(settings), settings.copied_labels
        self._reported = ReportedWorkloads(self.facts, self.kinds)
        self.workloads, self.by_source = self._reported.workloads, self._reported.by_source
        self.slices, self.left = self._reported.slices, self._reported.left
        self.claims = ClaimBook(settings, selectors)
        """What devices are claimed by."""
        self._managed = settings.managed_namespaces
        self._cards = KnownCards(self.facts, settings.hami)
        self.chooses = asks_for_labels(self._managed)
        """Whether it depends on the labels of namespaces in which jobs are managed."""
        self.node_usage = NodeUsage(self.facts)
        self.pods = PodWatch(self)
        self._families = JobOwnership(self.kinds, self.by_source)
        self.goes_with_owner, self.owned_by_job = self._families.goes_with_owner, self._families.owned_by_job
        self.priority_classes: dict[str, PriorityClassObserved] = {}
        self.prebuilt = PrebuiltWorkloads()
        """What names a Workload that was made before it."""
        self._orphans: dict[str, JsonObject] = {}
        """Workload objects whose job has let them go, and is still there."""
        self._looks = LastLooks(self)
        self._compares = False
        """Whether Workload objects are held against what was written of decisions: in a list, not as each write of ours is seen."""

    def let_go(self) -> None:
        """Nobody asks it any more: what is in a circle with it would keep all of it until a collection, and those are rare."""
        del self.pods, self._looks

    @property
    def cards(self) -> CardConfig:
        """The resource names for cards, from HAMi's configuration as last reported."""
        return self._cards.now()

    def manages(self, place: str) -> bool:
        """Whether kuelog manages the object at a place: it is in a managed namespace, or was reported already."""
        if self._managed is None or place in self.by_source:
            return True
        name = place.split("/", 2)[1]
        found = self.facts.get(f"Namespace//{name}")
        if isinstance(found, NamespaceObserved):
            return is_managed(self._managed, name, found.labels)
        return not self.chooses and is_managed(self._managed, name, {})

    def see(self, kind: str, value: JsonObject) -> list[Fact]:
        """The facts in which an object differs from what was reported; one that can't be understood is refused."""
        if kind == "Workload" and is_named(value):
            return self._looks.see(place_in(kind, value), value, whole=self._compares)
        return self.look_at(kind, value)

    def hangs_together(self, key: str) -> bool:
        """Whether what follows from a Workload object depends on other objects, too."""
        return key in self._orphans or self.prebuilt.is_named(key)

    def look_at(self, kind: str, value: JsonObject) -> list[Fact]:
        """The same of an object that is read in full."""
        try:
            well_formed(value)
            found = understood(lambda: self._said_of(kind, value), value)
        except Refused as refused:
            # What it says of pods and of its parent is ignored as well: the last state that was understood is kept.
            told = self.fresh([refusal(kind, value, refused, running=self._running(kind, value, refused))])
            return [*told, *(self._looks.ended(value) if kind == "Workload" else ())]
        fresh = self.fresh(found)
        try:
            beside = understood(lambda: self.pods.see(kind, value), value)
        except Refused as refused:
            beside = self.fresh([refusal(kind, value, refused)])
        place = place_in(kind, value)
        fresh += [*beside, *self.mended(place, [*found, *beside])]
        if self.prebuilt.names(place) and any(isinstance(one, WorkloadDeleted | WorkloadOwned) for one in fresh):
            fresh += self.see(kind, value)  # What it asks for is held against the Workload that it names by now.
        if kind == "Workload":
            fresh += self._jobs_naming(place.removeprefix("Workload/"))
        fresh += self._see_again(self._families.learn(kind, value))
        return [*fresh, *self._of_what_it_owns(place)]

    def _of_what_it_owns(self, place: str) -> list[Fact]:
        """That jobs are none of their own which were seen before the one at a place, and which of them run while it waits."""
        fresh: list[Fact] = []
        for one in self._families.withdrawn(place):
            self.prebuilt.forget(one)
            fresh += self.fresh(self.workload_facts(one, None))
        astray, back = self._families.astray_below(place)
        return [*fresh, *self.fresh(astray), *(fact for one in back for fact in self.mended(one, ()))]

    def _running(self, kind: str, value: JsonObject, refused: Refused) -> int:
        """The generation in which a refused job runs that is managed here; 0 for all else."""
        job_kind = self.kinds.by_place.get(kind)
        if job_kind is None or refused.reason == NESTING_TOO_DEEP or not runs(job_kind, value):
            return 0
        generation = object_at(value, "metadata").get("generation")
        return generation if isinstance(generation, int) else 0

    def _see_again(self, jobs: Iterable[ParentJob | NamingJob]) -> list[Fact]:
        return [fact for one in jobs for fact in self.see(one.kind, one.value)]

    def _jobs_naming(self, workload: str) -> list[Fact]:
        """What follows for jobs that name this Workload and do not run in it."""
        named = self.prebuilt.jobs_of(workload)
        return self._see_again(one for place, one in named if self.by_source.get(place) != workload)

    def mended(self, place: str, found: Iterable[Fact]) -> list[Fact]:
        """The fact that a refused object is understood again; none where `found`, or what its pods are part of, says otherwise."""
        if f"{place}#refused" not in self.facts or self.pods.refuses(place):
            return []
        if any(isinstance(one, ObjectRefused) for one in found):
            return []
        kind, namespace, name = place.split("/", 2)
        fact = ObjectMended(kind=kind, namespace=namespace, name=name)
        self.fold(fact)
        return [fact]

    def fresh(self, found: Iterable[Fact]) -> list[Fact]:
        """The facts not reported yet, folded one at a time: a node that is readable again does not mean that its cards are."""
        fresh: list[Fact] = []
        for fact in found:
            if not known(self.facts, fact):
                self.fold(fact)
                fresh.append(fact)
        return fresh

    def lose(self, kind: str, namespace: str, name: str) -> list[Fact]:
        """The facts that an object is gone."""
        place = f"{kind}/{namespace}/{name}"
        fresh: list[Fact] = []
        workload, named = self.by_source.get(place), self.workloads.get(f"{namespace}/{name}")
        if kind == "Workload" and named is not None and named.own_object.owner_uid:
            workload = f"{namespace}/{name}"
        if workload is not None:
            fresh.append(WorkloadDeleted(workload=workload))
        reported = any(f"{place}{part}" in self.facts for part in ("", "#refused", "#accounted", "#terminating"))
        reported = reported or (kind == "Workload" and self._reported.needs_object(f"{namespace}/{name}"))
        if reported and (workload is None or kind == "Pod" or f"{place}#terminating" in self.facts):
            fresh.append(ObjectRemoved(kind=kind, namespace=namespace, name=name))
        for fact in fresh:
            self.fold(fact)
        self.claims.lose(kind, namespace, name)
        fresh += self.pods.lose(kind, namespace, name)
        self._reported.lose(f"{namespace}/{name}")
        if kind == "Workload":
            self._looks.forget(place)
            self.slices.pop(f"{namespace}/{name}", None)
            fresh += self._jobs_naming(f"{namespace}/{name}")
        self._families.lose(place)
        self.prebuilt.forget(place)
        left = self._orphans.pop(workload or "", None)
        return fresh if left is None else [*fresh, *self.see("Workload", left)]

    def places(self, kind: str) -> list[str]:
        """The places of all objects of a kind about which anything was reported."""
        prefix = f"{kind}/"
        found = {object_of(place) for place in self.facts if place.startswith(prefix)}
        found |= {*(place for place in self.by_source if place.startswith(prefix)), *self.claims.places(kind)}
        if kind == "Workload":
            needed = self._reported.needs_object
            found |= {
                workload_place(key) for key, one in self.workloads.items() if one.own_object.owner_uid or needed(key)
            }
        return sorted(found)

    def fold(self, fact: Fact) -> None:
        """Fold a fact, reported by this watcher or another."""
        self.node_usage.note(fact)
        self._looks.heed(fact)
        self.claims.heed(fact, self.facts)
        if self._reported.fold(fact):
            return
        match fact:
            case ObjectMended():
                self.facts.pop(f"{fact.kind}/{fact.namespace}/{fact.name}#refused", None)
            case ObjectRemoved():
                place = f"{fact.kind}/{fact.namespace}/{fact.name}"
                for part in ("", *PARTS):
                    self.facts.pop(f"{place}{part}", None)
                self.priority_classes.pop(f"{fact.kind}/{fact.name}", None)
                if fact.kind == "Workload":
                    self._reported.lose_object(f"{fact.namespace}/{fact.name}")
            case _:
                place = place_of(fact)
                if place:
                    self.facts[place] = fact
                    if not isinstance(fact, BESIDE):
                        self.facts.pop(f"{object_of(place)}#refused", None)
                if isinstance(fact, PriorityClassObserved):
                    self.priority_classes[place.replace("//", "/")] = fact

    def _said_of(self, kind: str, value: JsonObject) -> list[Fact]:
        if self.claims.holds(kind):
            return self.claims.see(kind, value)
        return self._translate(kind, place_in(kind, value), to_v1beta2({**value, "kind": kind}).value)

    def _translate(self, kind: str, place: str, value: JsonObject) -> list[Fact]:
        if kind in SIMPLE:
            fact = with_metrics(SIMPLE[kind](value), value, self.settings)
            if self._validates:
                refuse_invalid(value)
            return [fact]
        match kind:
            case "Node":
                return node_facts(value, self.cards, self.facts.get(f"{place}#devices"))
            case "Pod":
                return [] if (pod := pod_fact(value, self.cards, claims=self.claims.counts)) is None else [pod]
            case "ConfigMap":
                return hami_config(value)
            case "Workload":
                return self._workload_object(place, value)
            case "ProvisioningRequest":
                return provisioning_request(value)
            case _ if kind in self.kinds.by_place and self.manages(place):
                found = self._families.with_child(place, value)
                state = job_state(found, self, self.kinds.by_place[kind], asked_last(self, place, value))
                if state is not None and state.prebuilt:
                    facts = self.facts_of_prebuilt(place, state, NamingJob(kind, value))
                else:
                    self.prebuilt.forget(place)
                    facts = self.workload_facts(place, state)
                return [*facts, *not_understood(kind, value, state), *self._families.astray(place)]
            case _:
                return []

    def claims_at(self, place: str) -> bool:
        """Whether the workload of a place may be charged otherwise when claims are counted again."""
        reported = self.workloads.get(self.by_source.get(place, ""))
        return reported is not None and not reported.job.finished and self.claims.concerns(reported.spec.pod_sets)

    def expect(self, kind: str, objects: Sequence[JsonObject]) -> None:
        """Record all objects of a list before any is reported, for kinds that have a meaning only together (pods of a group)."""
        self._compares = kind == "Workload"
        self._families.expect(kind)
        if kind == "Pod":
            self.node_usage.count_all(objects)
        self.pods.expect(kind, objects)

    def usage_news(self, *, but: Callable[[str], bool] = lambda _: False) -> list[Fact]:
        """What pods hold of nodes otherwise than was reported; of nodes `but` those of which others know more, it is kept for later."""
        return self.fresh(self.node_usage.news(but))

    def settle(self, kind: str) -> list[Fact]:
        """The facts about kinds that have a meaning only together, now that all objects of one were seen."""
        self._compares = False
        return [*self.pods.settle(kind), *self._see_again(self._families.settle(kind))]

    def _workload_object(self, place: str, value: JsonObject) -> list[Fact]:
        key = place.removeprefix("Workload/")
        if key not in self.workloads and stands_for(value) in self.workloads and belongs_to_job(value):
            return [*terminating(value), *companion_facts(key, value, self.slices.get(key))]
        reported = self.workloads.get(key)
        beside_job = reported is not None and reported.source != place
        self._orphans.pop(key, None)
        if not belongs_to_job(value):
            if not beside_job:
                compared = None if not self._compares else reported
                elsewhere = [] if compared is None else decided_elsewhere(key, value, compared, self._counted)
                stops = [] if reported is None else to_be_stopped(key, value, reported)
                return [*elsewhere, *self.workload_facts(place, workload_state(value)), *stops]
            self._orphans[key] = value
        elif reported is None:
            self._reported.find(key, self._counted(workload_state(value)))
        elif not beside_job and self.prebuilt.is_named(key):
            return []  # The job that owns it says so.
        facts = [*self.workload_facts(place, None), *(terminating(value) if belongs_to_job(value) else ())]
        if reported is None or not beside_job:
            return facts
        if self._compares and not reported.spec.elastic:  # Its slices end each other, and the job goes on.
            # Before its checks: one that is Ready says nothing to who has not heard yet in which cluster it runs.
            facts += decided_elsewhere(key, value, reported, self._counted)
        facts += [*companion_facts(key, value, reported), *clusters_named(key, value, reported, self.settings)]
        facts += self.prebuilt.asked_anew(key, value, reported)
        return [*facts, *self.pods.owned(reported, key, value)]

    def _counted(self, state: JobState) -> JobState:
        """A workload with what its pods claim counted."""
        return replace(state, spec=self.claims.counted(state.workload, state.spec))

    def facts_of_prebuilt(self, place: str, state: JobState, job: NamingJob) -> list[Fact]:
        """The next facts about a job that names its Workload: it owns that from now on, or waits for it. Raises `Refused`."""
        self.prebuilt.name(state.workload, place, job)
        reported = self.workloads.get(state.workload)
        facts = before_it_runs(place, state, self, self._reported.found.get(state.workload))
        if facts or reported is None:
            return facts
        return [*self.workload_facts(place, with_prebuilt(state, reported.spec)), *out_of_sync(place, state, reported)]

    def _in_its_slices(self, named: str | None, state: JobState) -> tuple[JobState, list[JobState]]:
        """An elastic job by the name that facts have for it, and the slices in which it was found, if it is told for the first time."""
        known = self.workloads.get(named or "")
        if named and known is not None and known.uid == state.uid:
            return replace(state, workload=named), []
        slices = self._reported.slices_found(state.uid)
        return (
            replace(state, workload=first_slice_key(slices[0].workload, slices[0].spec)) if slices else state
        ), slices

    def workload_facts(self, place: str, state: JobState | None) -> list[Fact]:
        """The facts in which the workload of a place differs from what was reported; without a state it is gone."""
        named = self.by_source.get(place)
        slices: list[JobState] = []
        if state is not None and state.spec.elastic and state.owner is not None and not state.prebuilt:
            state, slices = self._in_its_slices(named, state)
        facts: list[Fact] = []
        if named is not None and (state is None or named != state.workload or state.anew):
            facts.append(WorkloadDeleted(workload=named))
            named = None
        if state is None:
            return facts
        state = self._counted(state)
        reported = self.workloads.get(state.workload) if named is not None else None
        found = (slices[0] if slices else self._reported.found.get(state.workload)) if reported is None else None
        asked_before = before.spec if (before := reported or found) is not None else None
        state = in_class(state, asked_before, self.priority_classes, self.settings)
        if reported is None and slices:
            reported = ReportedState(uid=state.uid, source=place, spec=state.spec)
            facts += begun_in(reported, state, slices)
        elif reported is None and found is None and ended_unseen(state):
            return facts
        elif reported is None:
            marks, state = marks_of(state, found), as_found(state, found)
            # A waiting workload's job is suspended from the start, however it was created.
            reported = ReportedState(uid=state.uid, source=place, spec=state.spec)
            reported.tell_of_job(unsuspended=state.running)
            reported.find(state.adopted)
            facts.append(submitted(state, marks))
        facts += changes(reported, state)
        if state.mark and not state.running:
            reported.tell_of_job(suspended_by=state.mark)
        return facts
