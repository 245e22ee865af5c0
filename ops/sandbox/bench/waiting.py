"""Very many workloads that wait: what a process holds of them, and how long a decision on one more job takes.

Everything goes as in production but for the bus: facts are encoded, decoded and folded, deciders decide, their commits are
encoded and folded; by both partitions and the watcher's view in one process, or by the partition of admission alone. Nothing is
kept of the log.
"""

import gc
import time
import uuid
from collections.abc import Callable, Iterator
from statistics import median

import msgspec
import psutil

from events.catalogue import Fact
from events.codec import decode_sighting
from events.event import Millis
from events.object_version import ObjectVersion
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    PreemptionPolicy,
    PreemptionRules,
    Quota,
    ResourceGroup,
)
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.subjects import FACTS
from events.workload import Owner, WorkloadSpec, WorkloadSubmitted
from ops.production.process.memory_tuning import tune_memory
from ops.sandbox.bench.partitions import WrittenPartitions
from ops.sandbox.bench.percentiles import p99
from ops.sandbox.bench.usage import own_peak_mib
from services.runtime.log_port import Entry
from services.runtime.partition.host import MOST_INPUTS
from services.watcher.view import View

FLAVOR, IN_A_COHORT = "default", 100
KINDS = ((1, 50), (5, 100), (20, 200))
"""CPUs and priority of each kind of workload."""
_AT_ONCE = MOST_INPUTS
"""So many arrive between two turns while the load is laid."""
_BEGIN: Millis = 1_700_000_000_000


class WaitingLoad(msgspec.Struct, frozen=True, kw_only=True):
    """So many jobs spread over queues whose quota is used up; then so many more, one at a time."""

    workloads: int
    queues: int
    more: int = 200
    alone: bool = False
    """Only the partition of admission is held, as by a replica of the admitter."""


class WaitingFigures(msgspec.Struct, kw_only=True):
    """What one run measured; times are those of the processor."""

    load: WaitingLoad
    waiting: int = 0
    decisions: int = 0
    laid_s: float = 0
    """Until all waited: encoding, decoding, folding and deciding on both partitions, and the watcher's view."""
    empty_mib: float = 0
    """What the process held when there were queues but no workloads."""
    held_mib: float = 0
    """What it held with all of them."""
    peak_mib: float = 0
    decision_p50_ms: float = 0
    """A new job, from its fact to the end of the turn of both partitions that puts it in its place."""
    decision_p99_ms: float = 0
    decision_max_ms: float = 0
    load_before: float = 0
    load_after: float = 0

    @property
    def bytes_of_one(self) -> int:
        """What one waiting workload takes."""
        return round((self.held_mib - self.empty_mib) * (1 << 20) / max(self.waiting, 1))


class WaitingRun:
    """A process that holds both partitions and the watcher's view, or one partition alone."""

    def __init__(self, load: WaitingLoad) -> None:
        self.figures = WaitingFigures(load=load)
        self._view = None if load.alone else View(settings=SettingsObserved())
        self.partitions = WrittenPartitions(self._hear, cards=not load.alone)
        self._load, self._version, self._at = load, 0, _BEGIN

    def run(self, on_progress: Callable[[int], None] = lambda _: None) -> WaitingFigures:
        """Lay the load, then let more jobs come; `on_progress` gets how many have come."""
        figures, load = self.figures, self._load
        figures.load_before = psutil.getloadavg()[0]
        tune_memory()
        for fact in _platform(load):
            self.partitions.observe(fact, self._at)
        self._turns()
        figures.empty_mib = _held_mib()
        begun = time.process_time()
        for number in range(load.workloads):
            self._submit(number)
            if number % _AT_ONCE == _AT_ONCE - 1:
                self._turns()
                on_progress(number + 1)
        self._turns()
        figures.laid_s = time.process_time() - begun
        gc.collect()
        figures.held_mib = _held_mib()
        took = [self._decide_on(load.workloads + number) for number in range(load.more)]
        figures.decision_p50_ms, figures.decision_p99_ms, figures.decision_max_ms = median(took), p99(took), max(took)
        world = self.partitions.world
        figures.waiting = sum(not one.reserved for one in world.workloads.values())
        figures.peak_mib, figures.load_after = own_peak_mib(), psutil.getloadavg()[0]
        return figures

    def _decide_on(self, number: int) -> float:
        begun = time.process_time()
        self._submit(number)
        self._turns()
        return (time.process_time() - begun) * 1000

    def _turns(self) -> None:
        while found := self.partitions.turn(self._at):
            self.figures.decisions += len(found)
        self._at += 1

    def _submit(self, number: int) -> None:
        self._version += 1
        fact = job(number, self._load.queues, self._at)
        namespace, _, name = fact.workload.partition("/")
        about = ObjectVersion(kind="Job", namespace=namespace, name=name, uid=fact.uid, version=self._version)
        self.partitions.observe(fact, self._at, about=about)

    def _hear(self, entry: Entry) -> None:
        if self._view is not None and entry.stream == FACTS:
            self._view.fold(decode_sighting(entry.data).fact)


def job(number: int, queues: int, at: Millis) -> WorkloadSubmitted:
    """One job as the watcher reports it: its UID and digest as they are in a cluster, its queue by turns."""
    queue = number % queues
    cpus, priority = KINDS[number // queues % len(KINDS)]
    name = f"train-{number:07}"
    uid = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    container = ContainerShape(name="main", requests={"cpu": cpus * 1000, "memory": cpus << 30})
    shape = PodShape(containers=(container,), raw_shape=f"{cpus:064x}")
    return WorkloadSubmitted(
        workload=f"{_space(queue)}/{name}",
        uid=uid,
        owner=Owner(kind="Job", name=name, uid=uid),
        generation=1,
        created_at=at,
        spec=WorkloadSpec(
            queue=f"queue-{queue}", priority=priority, pod_sets=(PodSet(name="main", count=1, shape=shape),)
        ),
    )


def _platform(load: WaitingLoad) -> Iterator[Fact]:
    """Queues that each have room for the smallest job alone."""
    yield SettingsObserved()
    yield FlavorObserved(name=FLAVOR)
    for space in range(-(-load.queues // IN_A_COHORT)):
        yield NamespaceObserved(name=_space(space * IN_A_COHORT))
    quotas = (Quota(resource="cpu", nominal=1000), Quota(resource="memory", nominal=1 << 30))
    for queue in range(load.queues):
        name = f"queue-{queue}"
        yield ClusterQueueObserved(
            name=name,
            cohort=f"cohort-{queue // IN_A_COHORT}",
            namespaces=LabelSelector(),
            preemption=PreemptionRules(reclaim_within_cohort=PreemptionPolicy.ANY),
            groups=(ResourceGroup(resources=("cpu", "memory"), flavors=(FlavorQuotas(flavor=FLAVOR, quotas=quotas),)),),
        )
        yield LocalQueueObserved(namespace=_space(queue), name=name, cluster_queue=name)


def _space(queue: int) -> str:
    return f"team-{queue // IN_A_COHORT}"


def _held_mib() -> float:
    return psutil.Process().memory_info().rss / (1 << 20)
