"""What should be counted over a log, reckoned otherwise: by the records of a world, as each was right before something happened."""

from collections import Counter
from collections.abc import Iterator

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, WorkloadAdmitted
from events.catalogue import AnyEvent
from events.codec import decode_commit, decode_sighting
from events.commit import Commit, Sighting
from events.event import Millis
from events.preemption import PreemptionOrdered
from events.subjects import FACTS
from events.workload import EvictionOrdered, PodsReady, QuotaReleased, WorkloadSubmitted
from projections.counters.counted_so_far import Series
from projections.evolve import evolve, evolve_sighting
from projections.log_position import LogPosition
from projections.workloads.lifecycle import ADMITTED, EVICTED, PODS_READY, REQUEUED, Workload
from projections.world import World
from services.runtime.log_port import Entry
from tests.laws.many_hosts import CARDS, PARTITION

Log = dict[str, list[Entry]]


def messages(log: Log) -> Iterator[tuple[Sighting | Commit, Entry]]:
    """All that a partition rests on and says, in its order."""
    read = {FACTS: 0, CARDS: 0}
    for entry in log[PARTITION]:
        commit = decode_commit(entry.data)
        for run in commit.inputs:
            for one in log[run.stream][read[run.stream] : run.upto]:
                yield (decode_sighting(one.data) if run.stream == FACTS else decode_commit(one.data)), one
            read[run.stream] = max(run.upto, read[run.stream])
        yield commit, entry


class Reckoning:
    """Counts, and all durations one by one."""

    def __init__(self) -> None:
        self.world = World()
        self.counts: Counter[Series] = Counter()
        self.took: dict[Series, list[Millis]] = {}

    def hear(self, message: Sighting | Commit, entry: Entry) -> None:
        if isinstance(message, Sighting):
            self._see(message, entry)
            return
        position = LogPosition(partition=entry.stream, sequence=entry.sequence, at=message.at)
        if message.author == "admitter":
            kinds = {type(event) for event in message.events}
            if QuotaReserved in kinds:
                self.counts["kueue_admission_attempts_total", "success"] += 1
            elif kinds & {AdmissionRefused, PreemptionRequested}:
                self.counts["kueue_admission_attempts_total", "inadmissible"] += 1
        for event in message.events:
            before = self.world.workloads.get(getattr(event, "workload", ""))
            preemptor = self.world.workloads.get(getattr(event, "preemptor", ""))
            evolve(self.world, event, position)
            if isinstance(event, PreemptionOrdered) and before is not None and preemptor is not None:
                self.counts["kueue_preempted_workloads_total", preemptor.line, event.reason] += 1
            if before is not None:
                self._reckon(before, event, message.at)

    def _see(self, message: Sighting, entry: Entry) -> None:
        fact = message.fact
        before = self.world.workloads.get(getattr(fact, "workload", ""))
        evolve_sighting(self.world, message, LogPosition(partition=FACTS, sequence=entry.sequence, at=message.at))
        if isinstance(fact, WorkloadSubmitted) and before is None and fact.owner is not None:
            series = ("kueue_workload_creation_latency_seconds", fact.owner.kind)
            self._times(series, message.at - fact.created_at)
        if before is not None:
            self._reckon(before, fact, message.at)

    def _times(self, series: Series, took: Millis) -> None:
        self.took.setdefault(series, []).append(max(took, 0))

    def _reckon(self, before: Workload, event: AnyEvent, at: Millis) -> None:  # noqa: C901 - one case per event
        queue = before.admission.cluster_queue if before.admission is not None else ""
        door = (before.spec.queue, before.namespace)
        put_back = before.condition(REQUEUED)
        waited = at - (put_back.since if put_back is not None else before.created_at)

        def both(what: str, queue: str, *labels: str) -> None:
            self.counts[f"kueue_{what}", queue, *labels] += 1
            self.counts[f"kueue_local_queue_{what}", *door, *labels] += 1

        def times(what: str, queue: str, took: Millis) -> None:
            self._times((f"kueue_{what}", queue, ""), took)
            self._times((f"kueue_local_queue_{what}", *door, ""), took)

        match event:
            case QuotaReserved():
                both("quota_reserved_workloads_total", event.cluster_queue, "")
                times("quota_reserved_wait_time_seconds", event.cluster_queue, waited)
            case WorkloadAdmitted():
                both("admitted_workloads_total", event.cluster_queue, "")
                times("admission_wait_time_seconds", event.cluster_queue, waited)
                if before.checks and before.admission is not None:
                    since = before.admission.reserved_at
                    times("admission_checks_wait_time_seconds", event.cluster_queue, at - since)
                node = self.world.quota.node(event.cluster_queue)
                for above in node.path[1:] if node is not None else ():
                    self.counts["kueue_cohort_subtree_admitted_workloads_total", above.name, ""] += 1
            case PreemptionOrdered() | EvictionOrdered() if before.admission is not None and not before.finished:
                why = ("Preempted", "") if isinstance(event, PreemptionOrdered) else (event.reason, event.cause)
                both("evicted_workloads_total", queue, *why, "")
                if why not in {(one.reason, one.cause) for one in before.stops.evictions}:
                    self.counts["kueue_evicted_workloads_once_total", queue, *why, ""] += 1
                if before.is_true(PODS_READY) and before.admitted:
                    ready = before.conditions[PODS_READY].since
                    self._times(("kueue_pods_ready_to_evicted_time_seconds", queue, *why), at - ready)
            case QuotaReleased() if before.evicted and before.admission is not None:
                stopped = before.conditions[EVICTED]
                reason = "Deactivated" if stopped.reason.startswith("Deactivated") else stopped.reason
                self._times(("kueue_workload_eviction_latency_seconds", queue, reason), at - stopped.since)
            case PodsReady(ready=True) if before.admitted and not before.is_true(PODS_READY) and not before.finished:
                if self.world.settings.pods_ready is not None:
                    times("ready_wait_time_seconds", queue, waited)
                    since = before.conditions[ADMITTED].since
                    times("admitted_until_ready_wait_time_seconds", queue, at - since)
            case _:
                after = self.world.workloads.get(before.key)
                if after is not None and after.finished and not before.finished:
                    self.counts["kueue_local_queue_finished_workloads_total", *door, ""] += 1
