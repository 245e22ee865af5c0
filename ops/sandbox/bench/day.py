"""Simulated days: a platform, arrivals and run times; by a seed, large for figures or small for tests."""

import random
from collections.abc import Iterator, Sequence

import msgspec

from events.card import Card
from events.catalogue import Fact
from events.control import ObjectRemoved
from events.device import DevicesRegistered, NodeObserved
from events.event import Millis
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    BorrowWithinCohort,
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    PreemptionPolicy,
    PreemptionRules,
    QueueingStrategy,
    Quota,
    ResourceGroup,
    StopPolicy,
    Weight,
)
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.workload import Owner, WorkloadChanged, WorkloadDeleted, WorkloadSpec, WorkloadSubmitted
from ops.production.log.streams import streams_of
from ops.queries.whatif.course import Happening, RecordedCourse
from ops.queries.whatif.outcome import Outcomes
from ops.queries.whatif.run import Progress, VirtualRun
from ops.sandbox.bench.partitions import RecordedPartitions
from services.runtime.log_port import Entry

DAY: Millis = 86_400_000
BEGINS: Millis = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""
GPU, MEMORY, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
KINDS = ((70, 1, 50, 200), (25, 5, 100, 500), (5, 20, 200, 1000))
"""Per cent of all, CPUs, priority, seconds: the classes of Kueue's scheduler benchmark."""


class Day(msgspec.Struct, kw_only=True):
    """What comes from outside on one day."""

    platform: list[Fact] = []
    happenings: list[Happening] = []
    course: RecordedCourse


def large_day(workloads: int, seed: int = 0) -> Day:
    """So many workloads in 24 hours, on 30 queues in 5 cohorts whose quota is used to 75 per cent on average."""
    chance = random.Random(seed)  # noqa: S311 - a load, not a secret
    day = Day(platform=[], happenings=[], course=_course())
    work = sum(share * cpus * seconds for share, cpus, _, seconds in KINDS) * workloads // 100
    nominal = max(work * 100 // 75 * 1000 // (DAY // 1000) // 30, 40_000)
    day.platform += [NamespaceObserved(name="day"), FlavorObserved(name="default")]
    for number in range(30):
        name = f"queue-{number}"
        quota = Quota(resource="cpu", nominal=nominal, borrowing_limit=nominal)
        day.platform.append(cluster_queue(name, f"cohort-{number // 6}", (("default", (quota,)),), _RECLAIMING))
        day.platform.append(LocalQueueObserved(namespace="day", name=name, cluster_queue=name))
    for number in range(workloads):
        roll = chance.randrange(100)
        _, cpus, priority, seconds = KINDS[0 if roll < 70 else 1 if roll < 95 else 2]  # noqa: PLR2004
        shape = PodShape(containers=(ContainerShape(name="c", requests={"cpu": cpus * 1000}),))
        at = BEGINS + chance.randrange(DAY)
        _arrive(day, f"day/w{number}", f"queue-{chance.randrange(30)}", shape, at, priority=priority)
        day.course.runs[f"day/w{number}"] = seconds * chance.randrange(500, 1500)
    return _sorted(day)


def small_day(seed: int, namespaces: Sequence[str] = ("day",)) -> Day:
    """A random day of a small platform: cards, borrowing, preemption, stops, raises, lost nodes, jobs that are deleted.

    The namespaces take turns in submitting to all of its queues.
    """
    chance = random.Random(seed)  # noqa: S311 - a load, not a secret
    day = Day(platform=[], happenings=[], course=_course())
    day.platform += _small_platform(chance, namespaces)
    queues = [fact for fact in day.platform if isinstance(fact, ClusterQueueObserved)]
    for number in range(chance.randrange(12, 30)):
        count = chance.choice((1, 1, 1, 2, 3))
        limits = {GPU: 1, MEMORY: chance.choice((8000, 16000, 30000)), CORES: chance.choice((25, 50, 100))}
        shape = PodShape(containers=(ContainerShape(name="c", limits=limits),))
        at = BEGINS + chance.randrange(DAY // 4)
        queue = chance.choice(queues).name
        minimum = 1 if chance.random() < 0.2 else None  # noqa: PLR2004
        key = f"{namespaces[number % len(namespaces)]}/w{number}"
        _arrive(day, key, queue, shape, at, priority=chance.choice((0, 0, 10, 100)), count=count, minimum=minimum)
        day.course.runs[key] = chance.randrange(60_000, DAY // 6)
        if chance.random() < 0.1:  # noqa: PLR2004
            day.happenings.append(Happening(at + chance.randrange(DAY // 4), WorkloadDeleted(workload=key)))
    for _ in range(chance.randrange(4)):
        day.happenings.append(Happening(BEGINS + chance.randrange(DAY // 2), _befallen(chance, queues)))
    return _sorted(day)


def played(
    day: Day,
    *,
    cards: bool = True,
    most: int | None = None,
    step: Millis = 1,
    partitions: int = 1,
    on_progress: Progress = lambda _done, _all: None,
) -> tuple[dict[str, list[Entry]], Outcomes]:
    """The log that services would write on such a day, or on its first so many turns, and what became of everybody."""
    stage = RecordedPartitions(cards=cards, streams=streams_of(partitions))
    if partitions > 1:
        stage.divide(partitions, BEGINS)
    for fact in day.platform:
        stage.observe(fact, BEGINS)
    outcomes = VirtualRun(stage, day.course, day.happenings, at=BEGINS, step=step).run(most, on_progress)
    return stage.entries, outcomes


_RECLAIMING = PreemptionRules(reclaim_within_cohort=PreemptionPolicy.ANY)


def _course() -> RecordedCourse:
    return RecordedCourse(
        happenings=[], runs={}, admitted={}, submitted={}, classes={}, check_delay={}, stop_delay=5_000
    )


def _sorted(day: Day) -> Day:
    day.happenings.sort(key=lambda one: one.at)
    return day


def cluster_queue(
    name: str,
    cohort: str,
    flavors: tuple[tuple[str, tuple[Quota, ...]], ...],
    rules: PreemptionRules,
    strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO,
    weight: Weight = Weight(),
) -> ClusterQueueObserved:
    """A cluster queue with one resource group."""
    resources = tuple(one.resource for one in flavors[0][1])
    quotas = tuple(FlavorQuotas(flavor=flavor, quotas=found) for flavor, found in flavors)
    return ClusterQueueObserved(
        name=name,
        cohort=cohort,
        namespaces=LabelSelector(),
        preemption=rules,
        strategy=strategy,
        weight=weight,
        groups=(ResourceGroup(resources=resources, flavors=quotas),),
    )


def _arrive(
    day: Day,
    key: str,
    queue: str,
    shape: PodShape,
    at: Millis,
    *,
    priority: int,
    count: int = 1,
    minimum: int | None = None,
) -> None:
    namespace, _, name = key.partition("/")
    spec = WorkloadSpec(
        queue=queue, priority=priority, pod_sets=(PodSet(name="main", count=count, minimum=minimum, shape=shape),)
    )
    owner = Owner(kind="Job", name=name, uid=f"uid-{name}")
    submitted = WorkloadSubmitted(workload=key, uid=f"uid-{name}", owner=owner, created_at=at, spec=spec)
    day.happenings.append(Happening(at, submitted))
    day.course.submitted[key], day.course.classes[key] = at, (f"{namespace}/{queue}", priority)


def _small_platform(chance: random.Random, namespaces: Sequence[str]) -> Iterator[Fact]:
    yield SettingsObserved(fair_sharing=chance.random() < 0.3)  # noqa: PLR2004
    for namespace in namespaces:
        yield NamespaceObserved(name=namespace)
    flavors = ("v100", "a100")[: chance.choice((1, 2))]
    for flavor in flavors:
        yield FlavorObserved(name=flavor, node_labels={"card": flavor})
        for number in range(chance.choice((1, 2))):
            node = f"{flavor}-{number}"
            yield NodeObserved(name=node, labels={"card": flavor})
            cards = tuple(
                Card(uuid=f"GPU-{node}-{i}", index=i, slots=10, memory=32768, model=f"NVIDIA-{flavor.upper()}")
                for i in range(chance.choice((2, 4)))
            )
            yield DevicesRegistered(node=node, cards=cards)
    for number in range(chance.choice((1, 2, 3))):
        nominal = chance.choice((1, 2, 4))
        limit = chance.choice((None, None, 1, 2))
        quotas = tuple(
            Quota(
                resource=name,
                nominal=nominal * each,
                borrowing_limit=None if limit is None else limit * each,
                lending_limit=chance.choice((None, None, nominal * each // 2)),
            )
            for name, each in ((GPU, 1), (MEMORY, 32768), (CORES, 100))
        )
        name = f"queue-{number}"
        yield cluster_queue(
            name,
            chance.choice(("", "team", "team")),
            tuple((flavor, quotas) for flavor in flavors),
            PreemptionRules(
                within_cluster_queue=chance.choice(list(PreemptionPolicy)[:3]),
                reclaim_within_cohort=chance.choice((PreemptionPolicy.NEVER, PreemptionPolicy.ANY)),
                borrow_within_cohort=chance.choice((None, BorrowWithinCohort(policy=PreemptionPolicy.LOWER_PRIORITY))),
                claims=chance.random() < 0.2,  # noqa: PLR2004
            ),
            chance.choice(list(QueueingStrategy)),
            Weight(numerator=chance.choice((1, 1, 2))),
        )
        for namespace in namespaces:
            yield LocalQueueObserved(namespace=namespace, name=name, cluster_queue=name)


def _befallen(chance: random.Random, queues: list[ClusterQueueObserved]) -> Fact:
    queue = chance.choice(queues)
    match chance.randrange(5):
        case 0:
            return msgspec.structs.replace(queue, stop=chance.choice(list(StopPolicy)))
        case 1:
            return msgspec.structs.replace(queue, cohort="team")
        case 2:
            return ObjectRemoved(kind="Node", name="v100-0")
        case 3:
            return NodeObserved(name="v100-0", labels={"card": "v100"}, ready=chance.random() < 0.5)  # noqa: PLR2004
        case _:
            spec = WorkloadSpec(
                queue=queue.name,
                priority=1000,
                pod_sets=(PodSet(name="main", count=1, shape=PodShape(containers=(ContainerShape(name="c"),))),),
            )
            return WorkloadChanged(workload="day/w0", spec=spec)
