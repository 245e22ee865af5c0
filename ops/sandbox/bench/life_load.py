"""A long life, day by day: the same queues for ever, and every day new workloads, a tenth of them on shared cards."""

import random

from events.admission import WorkloadAdmitted
from events.application import DecisionApplied
from events.billing import Meter, Price, PriceListSet
from events.card import Card
from events.catalogue import Decision, Fact
from events.device import DevicesRegistered, NodeObserved
from events.event import Millis
from events.object_version import ObjectVersion
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import FlavorObserved, LocalQueueObserved, NamespaceObserved, PreemptionPolicy, PreemptionRules, Quota
from events.settings import SettingsObserved
from events.workload import (
    Owner,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
)
from ops.production.log.streams import SOLE
from ops.queries.whatif.course import Happening, RecordedCourse
from ops.sandbox.bench.day import CORES, DAY, GPU, KINDS, MEMORY, cluster_queue
from ops.sandbox.bench.partitions import WrittenPartitions
from projections.world import World

SPACE = "life"
PER_DAY = 50_000
_COHORTS, _QUEUES, _NODES, _CARDS = 5, 30, 4, 8
_SHARES = 4
"""So many jobs share one card."""
_CARD_MEMORY = 32_768
_KEPT: Millis = 3_600_000
"""How long a job stays after its end (`ttlSecondsAfterFinished`)."""


def life_platform(per_day: int) -> list[Fact]:
    """Queues whose quota of CPUs is used to 75 per cent on an average day, and four nodes with cards."""
    work = sum(share * cpus * seconds for share, cpus, _, seconds in KINDS) * per_day // 100
    nominal = max(work * 100 // 75 * 1000 // (DAY // 1000) // _QUEUES, 40_000)
    facts: list[Fact] = [
        SettingsObserved(),
        NamespaceObserved(name=SPACE),
        FlavorObserved(name="default"),
        FlavorObserved(name="cards", node_labels={"cards": "yes"}),
    ]
    for number in range(_NODES):
        node = f"node-{number}"
        cards = tuple(
            Card(uuid=f"GPU-{node}-{i}", index=i, slots=10, memory=_CARD_MEMORY, model="NVIDIA-A100")
            for i in range(_CARDS)
        )
        facts += [NodeObserved(name=node, labels={"cards": "yes"}), DevicesRegistered(node=node, cards=cards)]
    cpu = (Quota(resource="cpu", nominal=nominal, borrowing_limit=nominal),)
    share = _NODES * _CARDS * _SHARES // _COHORTS
    amounts = ((GPU, 1), (MEMORY, _CARD_MEMORY // _SHARES), (CORES, 100 // _SHARES))
    gpu = tuple(Quota(resource=name, nominal=share * each) for name, each in amounts)
    rules = PreemptionRules(reclaim_within_cohort=PreemptionPolicy.ANY)
    for number in range(_QUEUES + _COHORTS):
        cards = number >= _QUEUES
        name = f"cards-{number - _QUEUES}" if cards else f"queue-{number}"
        flavors = (("cards", gpu),) if cards else (("default", cpu),)
        facts.append(cluster_queue(name, f"cohort-{number % _COHORTS}", flavors, rules))
        facts.append(LocalQueueObserved(namespace=SPACE, name=name, cluster_queue=name))
    return facts


def life_day(number: int, workloads: int, per_day: int, seed: int, begins: Millis) -> RecordedCourse:
    """What comes from outside on one day, or on its first part when it has fewer workloads than a whole day."""
    chance = random.Random(f"{seed}/{number}")  # noqa: S311 - a load, not a secret
    course = RecordedCourse(
        happenings=[],
        runs={},
        admitted={},
        submitted={},
        classes={},
        check_delay={},
        stop_delay=5_000,
        kept_for=_KEPT,
        began=begins,
    )
    for index in range(workloads):
        name = f"w{number}-{index}"
        key, at = f"{SPACE}/{name}", begins + chance.randrange(DAY * workloads // per_day)
        roll = chance.randrange(100)
        _, cpus, priority, seconds = KINDS[0 if roll < 70 else 1 if roll < 95 else 2]  # noqa: PLR2004
        requests = {"cpu": cpus * 1000}
        limits: dict[str, int] = {}
        queue = f"queue-{chance.randrange(_QUEUES)}"
        if index % 10 == 0:
            requests, queue = {}, f"cards-{chance.randrange(_COHORTS)}"
            limits = {GPU: 1, MEMORY: _CARD_MEMORY // _SHARES, CORES: 100 // _SHARES}
        shape = PodShape(containers=(ContainerShape(name="c", requests=requests, limits=limits),))
        spec = WorkloadSpec(queue=queue, priority=priority, pod_sets=(PodSet(name="main", count=1, shape=shape),))
        owner = Owner(kind="Job", name=name, uid=f"uid-{name}")
        fact = WorkloadSubmitted(workload=key, uid=owner.uid, owner=owner, created_at=at, spec=spec)
        course.happenings.append(Happening(at, fact))
        course.submitted[key], course.classes[key] = at, (f"{SPACE}/{queue}", priority)
        course.runs[key] = seconds * chance.randrange(500, 1500)
    course.happenings.sort(key=lambda one: one.at)
    return course


def life_prices(at: Millis) -> PriceListSet:
    """What the cards cost, from a time on."""
    price = Price(meter=Meter.CARD, unit_price="2")
    return PriceListSet(name="life", currency="EUR", starts=at, prices=(price,))


class LifeStage:
    """Both partitions, and around them what watcher and applier would report: versions of objects, and what was applied."""

    def __init__(self, partitions: WrittenPartitions) -> None:
        self._partitions = partitions
        self._version = 0

    @property
    def world(self) -> World:
        """What is true on the partition of admission."""
        return self._partitions.world

    def observe(self, fact: Fact, at: Millis) -> None:
        """A fact was observed."""
        self._partitions.observe(fact, at, about=self._about(fact))
        if isinstance(fact, WorkloadFinished):
            self._apply(fact.workload, at, finished=True)

    def turn(self, at: Millis) -> list[Decision]:
        """Let every decider decide once; what is admitted is applied at once."""
        decisions = self._partitions.turn(at)
        for event in decisions:
            if isinstance(event, WorkloadAdmitted):
                self._apply(event.workload, at, finished=False)
        return decisions

    def _apply(self, key: str, at: Millis, *, finished: bool) -> None:
        workload = self.world.workloads.get(key)
        if workload is not None:
            fact = DecisionApplied(workload=key, partition=SOLE.sole, sequence=workload.decided, finished=finished)
            self._partitions.observe(fact, at, author="applier")

    def _about(self, fact: Fact) -> ObjectVersion | None:
        """The job that a fact is about, each time at a version of its own."""
        key = getattr(fact, "workload", "")
        if not key:
            return None
        self._version += 1
        space, _, name = key.partition("/")
        gone = isinstance(fact, WorkloadDeleted)
        return ObjectVersion(
            kind="Job", namespace=space, name=name, uid=f"uid-{name}", version=self._version, gone=gone
        )
