"""Kueue's counters and histograms, folded from the log: how often what happened in which queue, and after what time; and who said how much.

Nothing of it depends on when or by whom it is folded, so it is the same after every start. It keeps no world: of each workload it
remembers from when its waits are told. What a fact says counts only if nothing newer is known of its object, as everywhere.

Rule: docs/metrics.md#counters
"""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from events.admission import QuotaReserved, WorkloadAdmitted
from events.application import DecisionApplied
from events.catalogue import AnyEvent
from events.commit import Sighting
from events.control import ObjectRemoved, ResourceVersionsRestarted
from events.device import PodObserved
from events.event import Millis
from events.multikueue import ClusterChosen, ClustersNominated, WorkloadEndedElsewhere
from events.partition_map import PartitionMapObserved
from events.preemption import PreemptionOrdered
from events.settings import SettingsObserved
from events.slices import WorkloadSliceDropped, WorkloadSliceReplaced, WorkloadSliceSubmitted
from events.upkeep import CheckSettled, ChecksRequired, WorkloadDiscarded, WorkloadFailedToStart, WorkloadOrphaned
from events.variants import MigrationOrdered
from events.workload import (
    CheckReported,
    DecidedElsewhere,
    EvictionOrdered,
    PodsReady,
    QuotaReleased,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadParked,
    WorkloadQueued,
    WorkloadRequeued,
    WorkloadSubmitted,
)
from projections.counters.admission_attempt import result_of
from projections.counters.cohort_ancestry import CohortAncestry
from projections.counters.counted_so_far import CountedSoFar
from projections.counters.course import (
    Course,
    class_of,
    in_next_queue,
    local_queue_of,
    moved,
    requeued,
    sliced,
    submitted,
    taken_over,
)
from projections.counters.gate_removals import GateRemovals, let_through, waiting_members
from projections.counters.preemption_outcomes import Preemption, PreemptionOutcomes
from projections.counters.series import COMMITS, EVENTS, GATE_REMOVAL, CountedSeries
from projections.counters.skipped_heads import SkippedHeads
from projections.counters.undecided_workloads import Creation, UndecidedWorkloads
from projections.object_versions import ObjectVersions
from projections.partitions.homes import FIRST
from projections.queues.requeue_rule import comes_back
from projections.trail import Trail
from projections.workloads.decided_moments import DecidedEvent
from projections.workloads.lifecycle import PREEMPTED
from projections.workloads.slice_chains import SliceChains
from projections.workloads.variant_families import VariantFamilies

ADMITTER = "admitter"
WASTED = "kuelog_preemptions_wasted_total"
"""By the queue of who preempted and the rule, as Kueue tells preemptions."""


class QueueCounters:
    """The counters as of some place on the log; whatever is folded behind `settle` can be taken back."""

    def __init__(self, partition: str = FIRST) -> None:
        self.trail = Trail()
        counted = self._counted = CountedSeries(self.trail)
        self.counts, self.times, self.latest = counted.counts, counted.times, counted.latest
        self._count, self._took = counted.count, counted.took
        self._count_both, self._took_both = counted.count_both, counted.took_both
        self._courses: dict[str, Course] = {}
        self._undecided = UndecidedWorkloads(self.trail, partition)
        self._slices = SliceChains(self.trail)
        self._variants = VariantFamilies(self.trail)
        self._preemptions = PreemptionOutcomes(self.trail)
        self._gates = GateRemovals(self.trail)
        self.skipped = SkippedHeads(self.trail, self._count)
        self._ancestry = CohortAncestry(self.trail)
        self._settings: dict[str, bool] = {}
        self._versions = ObjectVersions(self.trail)

    def fold_sighting(self, sighting: Sighting) -> None:
        """Fold a fact, unless something newer is known of the object that it is about."""
        fact = sighting.fact
        if self._versions.take(sighting.about, fact, sighting.at):
            if isinstance(fact, ResourceVersionsRestarted):
                self._versions.restart(fact.epoch)
            self.fold(fact, sighting.at)

    def fold_commit(self, author: str, events: Sequence[AnyEvent], at: Millis, sequence: int) -> None:
        """Fold what an author has decided at once, which of the admitter is an attempt to admit."""
        self._count(COMMITS, author)
        attempt = result_of(events) if author == ADMITTER else ""
        if attempt:
            self._count("kueue_admission_attempts_total", attempt)
        for event in events:
            self._count(EVENTS, author, type(event).__name__)
            self.fold(event, at, sequence)

    @property
    def dropped(self) -> int:
        """For how many queues and cohorts that are gone series were dropped, since this was made."""
        return self._counted.dropped

    def settle(self) -> None:
        """What has been folded so far will not be taken back."""
        self.trail.forget()

    def fold(self, event: AnyEvent, at: Millis, sequence: int = 0) -> None:  # noqa: C901 - one case per event
        """Count what an event means; most mean nothing here, and none does of a workload that is not known."""
        for told in self._variants.told(event):
            event = told if isinstance(event, MigrationOrdered) else event
        self._count_creation(self._undecided.hear(event, decided=sequence > 0))
        self._count_preemptions(event)
        self._ancestry.fold(event)
        self._counted.hear(event, self._courses.values())
        match event:
            case WorkloadSubmitted():
                self._submit(event, at)
            case WorkloadAdmitted() | PreemptionOrdered() | EvictionOrdered() | QuotaReleased() if (
                self._variants.parent_of(event.workload)
            ):
                self._fold_variant(event, at, sequence)
            case SettingsObserved():
                self.trail.put(self._settings, _UNTIL_READY, event.pods_ready is not None)
            case ClustersNominated() | ClusterChosen():
                self._dispatch(event)
            case ResourceVersionsRestarted():
                for key, course in list(self._courses.items()):
                    if course.decided.written:
                        self._put(key, replace(course, decided=course.decided.restarted()))
            case PartitionMapObserved():
                for key in self._undecided.divide():
                    self.trail.drop(self._courses, key)
            case WorkloadSliceSubmitted():
                self._put(event.workload, sliced(event))
            case PodObserved():
                self._see_pod(event, at)
            case ObjectRemoved(kind="Pod"):
                self._gates.gone(event.namespace, event.name)
            case WorkloadSliceReplaced() | WorkloadSliceDropped():
                replaced = self._courses.get(event.workload)
                if isinstance(event, WorkloadSliceReplaced) and replaced is not None:
                    self._count("kueue_replaced_workload_slices_total", replaced.cluster_queue)
                self._slices.replace(event.workload, event.by)
                # One that goes on under another name has not ended.
                self.trail.drop(self._courses, event.workload)
            case _:
                key = getattr(event, "workload", "")
                if isinstance(event, WorkloadChanged | PodsReady | WorkloadFinished | WorkloadDeleted):
                    key = self._slices.concerned(event)
                if (course := self._courses.get(key)) is not None:
                    self._fold_one(key, course, event, at, sequence)
                if isinstance(event, WorkloadOwned | WorkloadDeleted):
                    self._slices.hear(event)

    def _fold_one(self, key: str, course: Course, event: AnyEvent, at: Millis, sequence: int) -> None:  # noqa: C901 - one case per event
        if isinstance(event, DecidedEvent):
            course = replace(course, decided=course.decided.noted(event, at, sequence))
            self._put(key, course)
        match event:
            case WorkloadChanged():
                queue, named = local_queue_of(key, event.spec.queue), class_of(event.spec.priority_class)
                for gate in let_through(course.waiting, event.spec):
                    self._let_through(gate, course, at)
                course = moved(course, queue, at_once=course.reserved_at is None or self._variants.has(key))
                self._put(key, replace(course, priority_class=named, waiting=waiting_members(event.spec)))
            case WorkloadQueued() | WorkloadParked() if course.reserved_at is None and event.cluster_queue:
                self._put(key, replace(course, cluster_queue=event.cluster_queue))
            case DecidedElsewhere() if not self._variants.has(key):
                self._put(key, taken_over(course, event))
            case ChecksRequired():
                self._put(key, replace(course, checked=bool(event.checks)))
            case CheckReported() | CheckSettled():
                self._put(key, replace(course, checked=True))
            case QuotaReserved():
                self._reserve(key, course, event, at)
            case WorkloadAdmitted():
                self._admit(key, course, event.cluster_queue, at)
            case PodsReady():
                self._ready(key, course, at, ready=event.ready)
            case PreemptionOrdered():
                preemptor = self._courses.get(self._variants.parent_of(event.preemptor) or event.preemptor)
                queue = preemptor.cluster_queue if preemptor is not None else ""
                self._count("kueue_preempted_workloads_total", queue, event.reason)
                self._preemptions.ordered(event.preemptor, Preemption(queue, event.reason))
                self._evict(key, course, PREEMPTED, "", at)
            case EvictionOrdered():
                self._evict(key, course, event.reason, event.cause, at)
            case QuotaReleased():
                self._release(key, course, event, at)
            case WorkloadRequeued():
                self._put(key, requeued(course, at, allowed=event.allowed))
            case WorkloadFinished() | WorkloadOrphaned() | WorkloadFailedToStart() | WorkloadEndedElsewhere():
                self._finish(key, course, at)
            case WorkloadDeleted():
                self.trail.drop(self._courses, key)
            case WorkloadDiscarded():
                self._put(key, replace(course, discarded=sequence))
            case DecisionApplied() if course.discarded and event.sequence >= course.discarded:
                self.trail.drop(self._courses, key)
            case DecisionApplied():
                shown = course.decided.shown(event.sequence, event.version)
                if shown is not course.decided:
                    self._put(key, replace(course, decided=shown))
            case _:
                pass

    def _count_preemptions(self, event: AnyEvent) -> None:
        ended = isinstance(event, WorkloadFinished | WorkloadDeleted)
        key = self._slices.concerned(event) if ended else getattr(event, "workload", "")
        self.skipped.hear(event, key)
        for one in self._preemptions.wasted(event, key):
            self._count(WASTED, one.queue, one.reason)

    def _fold_variant(
        self, event: WorkloadAdmitted | PreemptionOrdered | EvictionOrdered | QuotaReleased, at: Millis, sequence: int
    ) -> None:
        """What becomes of a variant that is admitted becomes of its workload; what becomes of others is not counted."""
        parent = self._variants.parent_of(event.workload)
        if (course := self._courses.get(parent)) is None:
            return
        if isinstance(event, WorkloadAdmitted):
            reserved = QuotaReserved(workload=parent, cluster_queue=event.cluster_queue, assignments=())
            self._fold_one(parent, course, reserved, at, sequence)
            self._fold_one(parent, self._courses[parent], event, at, sequence)
            self._variants.act(event.workload)
        elif self._variants.acts(event.workload):
            self._fold_one(parent, course, event, at, sequence)
            if isinstance(event, QuotaReleased):
                self._variants.rest(event.workload)

    def _submit(self, event: WorkloadSubmitted, at: Millis) -> None:
        if event.workload in self._courses:
            return  # Told twice, by two replicas or after a restart.
        self._put(event.workload, submitted(event))
        self._slices.hear(event)
        self._count_creation(self._undecided.told(event, at))

    def _count_creation(self, creation: Creation) -> None:
        if creation.kind:
            self._took("kueue_workload_creation_latency_seconds", creation.took, creation.kind)

    def _see_pod(self, pod: PodObserved, at: Millis) -> None:
        for gate in self._gates.seen(pod):
            course = self._courses.get(self._slices.last(pod.workload))
            if course is not None:
                self._let_through(gate, course, at)

    def _let_through(self, gate: str, course: Course, at: Millis) -> None:
        if course.admitted_at is not None:
            grouped = "true" if course.grouped else "false"
            self._took(GATE_REMOVAL, at - course.admitted_at, gate, course.cluster_queue, grouped)

    def _reserve(self, key: str, course: Course, event: QuotaReserved, at: Millis) -> None:
        course = replace(
            in_next_queue(course),
            cluster_queue=event.cluster_queue,
            checked=course.checked or bool(event.checks),
            reserved_at=at,
            admitted_at=None,
            evicted=None,
        )
        self._put(key, course)
        self._count_both("quota_reserved_workloads_total", course, course.priority_class)
        self._took_both("quota_reserved_wait_time_seconds", course, course.queued_at, at)

    def _admit(self, key: str, course: Course, cluster_queue: str, at: Millis) -> None:
        reserved = course.reserved_at
        first = at if course.first_admitted_at is None else course.first_admitted_at
        course = replace(course, cluster_queue=cluster_queue, admitted_at=at, first_admitted_at=first, ready_at=None)
        self._put(key, course)
        named = course.priority_class
        self._count_both("admitted_workloads_total", course, named)
        self._took_both("admission_wait_time_seconds", course, course.queued_at, at)
        if course.checked and reserved is not None:
            self._took_both("admission_checks_wait_time_seconds", course, reserved, at)
        for cohort in self._ancestry.above(cluster_queue):
            self._count("kueue_cohort_subtree_admitted_workloads_total", cohort, named)

    def _ready(self, key: str, course: Course, at: Millis, *, ready: bool) -> None:
        if not ready:
            self._put(key, replace(course, ready_at=None))
            return
        if course.ready_at is not None or course.admitted_at is None or course.finished or key in self._undecided:
            return
        self._put(key, replace(course, ready_at=at))
        if self._settings.get(_UNTIL_READY, False):
            self._took_both("ready_wait_time_seconds", course, course.queued_at, at)
            self._took_both("admitted_until_ready_wait_time_seconds", course, course.admitted_at, at)

    def _evict(self, key: str, course: Course, reason: str, cause: str, at: Millis) -> None:
        once = (reason, cause) not in course.evictions
        evictions = (*course.evictions, (reason, cause)) if once else course.evictions
        since = at if course.evicted is None else course.evicted[0]
        self._put(key, replace(course, evicted=(since, reason), evictions=evictions))
        if course.reserved_at is None:
            return  # Kueue, too, counts only evictions of who holds quota.
        named = course.priority_class
        self._count_both("evicted_workloads_total", course, reason, cause, named)
        if once:
            self._count("kueue_evicted_workloads_once_total", course.cluster_queue, reason, cause, named)
        if course.ready_at is not None:
            took = at - course.ready_at
            self._took("kueue_pods_ready_to_evicted_time_seconds", took, course.cluster_queue, reason, cause)

    def _release(self, key: str, course: Course, event: QuotaReleased, at: Millis) -> None:
        if course.evicted is not None and course.reserved_at is not None:
            since, reason = course.evicted
            self._took("kueue_workload_eviction_latency_seconds", at - since, course.cluster_queue, reason)
        if not event.withdrawn:
            course = requeued(course, at, allowed=comes_back(event.reason, alone=course.alone))
        course = in_next_queue(course)
        self._put(key, replace(course, reserved_at=None, admitted_at=None, ready_at=None, nominated=()))

    def _dispatch(self, event: ClustersNominated | ClusterChosen) -> None:
        """Each cluster counts once for an attempt: as one in which it is tried, and as the one in which it runs."""
        course = self._courses.get(event.workload)
        if course is None:
            return
        if isinstance(event, ClusterChosen):
            self._count("multikueue_workloads_admitted_total", course.cluster_queue, event.cluster)
            return
        for one in event.clusters:
            if one not in course.nominated:
                self._count("multikueue_workloads_dispatched_total", course.cluster_queue, one)
        self._put(event.workload, replace(course, nominated=event.clusters))

    def _finish(self, key: str, course: Course, at: Millis) -> None:
        if course.finished or key in self._undecided:
            return
        self._put(key, replace(course, finished=True, reserved_at=None))
        self._count_both("finished_workloads_total", course, course.priority_class)
        if course.first_admitted_at is not None:
            self._took_both("execution_time_seconds", course, course.first_admitted_at, at)

    def let_go(self, namespaces: Collection[str]) -> None:
        """The workloads of these namespaces are decided in another partition by now, which counts on; what was counted stays."""
        for key in [key for key in self._courses if key.partition("/")[0] in namespaces]:
            self.trail.drop(self._courses, key)
        self.settle()

    def _put(self, key: str, course: Course) -> None:
        self.trail.put(self._courses, key, course)

    def so_far(self) -> CountedSoFar:
        """All of it, to be stored; nothing may be folded that can still be taken back."""
        return CountedSoFar(
            counts=tuple(self.counts.items()),
            times=tuple(self.times.items()),
            courses=dict(self._courses),
            cohorts=dict(self._ancestry.cohorts),
            parents=dict(self._ancestry.parents),
            until_ready=self._settings.get(_UNTIL_READY, False),
            known=self._versions.saved,
            epoch=self._versions.epoch,
            slices=dict(self._slices.next),
            alone=dict(self._slices.alone),
            preemptions=dict(self._preemptions.open),
            held=dict(self._gates.held),
            skipped=dict(self.skipped.by_queue),
            undecided=dict(self._undecided.waiting),
            divided=self._undecided.divided,
            variants=self._variants.parents,
            acting=self._variants.acting,
            gone=tuple(self._counted.gone.known),
        )

    def begin_at(self, saved: CountedSoFar) -> None:
        """Go on from counters that `so_far` has handed out."""
        self.counts.update(saved.counts)
        self.times.update(saved.times)
        self._courses.update(saved.courses)
        self._ancestry.cohorts.update(saved.cohorts)
        self._ancestry.parents.update(saved.parents)
        self._settings[_UNTIL_READY] = saved.until_ready
        self._versions.restore(saved.known, saved.epoch)
        self._slices.begin_at(saved.slices, saved.alone)
        self._preemptions.open.update(saved.preemptions)
        self._gates.held.update(saved.held)
        self.skipped.by_queue.update(saved.skipped)
        self._undecided.begin_at(saved.undecided, divided=saved.divided)
        self._variants.begin_at(saved.variants, saved.acting)
        self._counted.gone.known.update(dict.fromkeys(saved.gone))


_UNTIL_READY = "until ready"  # Whether it is waited for pods: only then is it told how long they took to be ready.
