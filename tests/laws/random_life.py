"""What may befall a platform, from a seed: queues, cohorts, rules and jobs of every kind, and all that changes about them."""

import random
from collections.abc import Callable

from msgspec.structs import replace

from events.application import DecisionApplied, DecisionRejected
from events.card import CardShare
from events.catalogue import Fact
from events.control import ObjectRemoved
from events.device import PodObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import AdmissionCheckObserved, CohortObserved, LimitRangeItem, LimitRangeObserved, StopPolicy
from events.workload import (
    CheckReported,
    CheckState,
    CheckStatus,
    Owner,
    PodsGone,
    PodsReady,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from projections.workloads.lifecycle import Workload
from projections.world import World
from tests.laws.many_hosts import Hosts
from tests.laws.random_claims import Claims
from tests.laws.random_clusters import Clusters
from tests.laws.random_division import Division
from tests.laws.random_hands import Hands
from tests.laws.random_hanging_pods import HangingPods
from tests.laws.random_platform import CHECKS, CORES, DOORS, GPU, MEMORY, NAMES, QUEUES, Platform
from tests.laws.random_plenty import Plenty
from tests.laws.random_pods import Pods
from tests.laws.random_preemption import Preemption
from tests.laws.random_provisioning import Autoscaler
from tests.laws.random_racks import Racks
from tests.laws.random_slices import ElasticJobs
from tests.laws.random_thieves import Thieves
from tests.laws.random_variants import PreemptionGates, Variants
from tests.laws.stop_of_pods import stop_of

_DAY = 86_400_000
_PACES = (
    (1, 10, 10, 500, 5_000, 60_000, 3_600_000),
    (1, 10, 10, 500, 5_000, 60_000, 3_600_000),
    (0, 0, 0, 0, 1, 60_000),
    (0, 1, 500, 60_000, 3_600_000, _DAY, 40 * _DAY),
)
"""How far the clock may go on between two steps: in some lives it mostly stands, in some it goes on by days."""
BESIDE = (
    Racks,
    ElasticJobs,
    Autoscaler,
    Claims,
    Variants,
    PreemptionGates,
    Clusters,
    Pods,
    Hands,
    Plenty,
    Division,
    Preemption,
    HangingPods,
    Thieves,
)
"""In this order they say more in a fact. An elastic job leaves out what it may not ask of racks."""


class Life:
    """A platform and what happens on it."""

    def __init__(self, seed: int, *, fresh: float = 0.1) -> None:
        self.hosts = Hosts(seed, fresh=fresh)
        self.chance = self.hosts.chance
        self.platform = Platform(self.chance, cards=self.chance.random() < 0.5)
        self.clock = random.Random(f"{seed}/clock")
        self.pace = self.clock.choice(_PACES)
        self.count = 0
        self.calm = self.chance.random() < 0.3
        """Whether only jobs come and go, and nothing else changes."""
        self.beside = [one for kind in BESIDE if (one := kind(self, seed)).there]
        self.hosts.join(name for one in self.beside for name in one.services)
        self.settings = self.platform.settings()
        self.tell(*(fact for one in self.beside for fact in one.platform()), *self.platform.facts(self.settings))
        self.hosts.rest()

    @property
    def places_stand(self) -> bool:
        """Whether topologies, flavors and labels of nodes stay what they are."""
        return any(isinstance(one, Racks) and one.stands for one in self.beside)

    def tell(self, *facts: Fact) -> None:
        for fact in facts:
            for one in self.beside:
                fact = one.shown(fact)
            self.hosts.tell(fact)

    @property
    def world(self) -> World:
        return self.hosts.world

    def live(self, steps: int) -> "Life":
        for _ in range(steps):
            self.hosts.at += self.clock.choice(self.pace)
            for _ in range(self.chance.choice((1, 1, 2, 5))):
                self.happen()
            for _ in range(self.chance.randrange(8)):
                self.hosts.turn()
            if self.chance.random() < 0.3:
                self.hosts.rest()
        self.hosts.rest()
        self.hosts.settle()
        return self

    def happen(self) -> None:
        often = (
            (self.submit, 8),
            (self.finish, 3),
            (self.leave, 8),
            (self.ready, 3),
            (self.report, 4),
            (self.apply, 2),
        )
        seldom = (
            (self.change, 2),
            (self.switch, 1),
            (self.delete, 1),
            (self.reclaim, 1),
            (self.queue, 2),
            (self.cohort, 1),
            (self.door, 1),
            (self.flavor, 1),
            (self.namespace, 1),
            (self.check, 1),
            (self.limit_range, 1),
            (self.set, 1),
            (self.remove, 1),
            (self.node, 2),
            (self.pod, 3),
        )
        more = [one for each in self.beside for one in each.happenings()]
        happenings: list[tuple[Callable[[], None], int]] = [*often, *(() if self.calm else seldom), *more]
        self.chance.choices([what for what, _ in happenings], [weight for _, weight in happenings])[0]()

    # jobs

    def submit(self) -> None:
        name = f"j{self.count}"
        self.count += 1
        namespace = self.chance.choice((*NAMES, "team"))
        self.tell(
            WorkloadSubmitted(
                workload=f"{namespace}/{name}",
                uid=f"u{self.chance.randrange(10**6)}",
                owner=Owner(kind="Job", name=name, uid=name) if self.chance.random() < 0.9 else None,
                created_at=self.hosts.at - self.chance.randrange(3),
                spec=self._spec(),
            )
        )

    def change(self) -> None:
        one = self.one(lambda one: not one.finished)
        if one is not None:
            spec = replace(self._spec(), gated_by=self.chance.choice(((), (), ("gate",))))
            self.tell(WorkloadChanged(workload=one.key, spec=spec, generation=one.generation + 1))

    def finish(self) -> None:
        one = self.one(lambda one: one.admitted and not one.finished)
        if one is not None:
            self.tell(WorkloadFinished(workload=one.key, reason="Succeeded"))

    def leave(self) -> None:
        for one in self.every(lambda one: one.evicted and one.reserved):
            stops = self.chance.random() < 0.7
            if stops and all(each.pods_may_be_gone(one) for each in self.beside):
                self.tell(
                    PodsGone(
                        workload=one.key, decision=stop_of(one, self.hosts.decision(one.key, one.stops.stopped_by))
                    )
                )

    def ready(self) -> None:
        one = self.one(lambda one: one.admitted and not one.finished)
        if one is not None:
            self.tell(PodsReady(workload=one.key, ready=self.chance.random() < 0.8))

    def report(self) -> None:
        one = self.one(lambda one: bool(one.checks)) or self.one(lambda one: not one.finished)
        if one is not None:
            state = self.chance.choice((CheckState.READY, CheckState.READY, *CheckState))
            after = self.chance.choice((None, 1000)) if state is CheckState.RETRY else None
            name = self.chance.choice(tuple(one.checks) or CHECKS)
            check = CheckStatus(name=name, state=state, since=self.hosts.at, requeue_after=after)
            self.tell(CheckReported(workload=one.key, check=check, decision=self.hosts.decision(one.key, one.decided)))

    def apply(self) -> None:
        one = self.one(lambda one: bool(one.decided))
        if one is None:
            return
        if self.chance.random() < 0.8:
            self.tell(DecisionApplied(workload=one.key, partition=self.hosts.home(one.key), sequence=one.decided))
        else:
            why, home = self.chance.choice(("Conflict", "FailedToStart")), self.hosts.home(one.key)
            self.tell(
                DecisionRejected(workload=one.key, partition=home, sequence=one.decided, reason=why, message="not so")
            )

    def switch(self) -> None:
        one = self.one(lambda one: not one.finished)
        if one is not None:
            self.tell(WorkloadSwitched(workload=one.key, active=self.chance.random() < 0.6))

    def delete(self) -> None:
        one = self.one(lambda _: True)
        if one is not None:
            self.tell(WorkloadDeleted(workload=one.key))

    def reclaim(self) -> None:
        one = self.one(lambda one: one.reserved and not one.finished)
        if one is not None:
            counts = {each.name: self.chance.randrange(each.count + 1) for each in one.spec.pod_sets}
            self.tell(PodsReclaimed(workload=one.key, counts=counts))

    # objects

    def queue(self) -> None:
        self.tell(self.platform.queue(self.chance.choice(QUEUES)))

    def cohort(self) -> None:
        parent = self.chance.choice(("", "pool", "left"))
        self.tell(
            CohortObserved(
                name=self.chance.choice(("pool", "left", "right")), parent=parent, groups=self.platform.groups()
            )
        )

    def door(self) -> None:
        stop = self.chance.choice((StopPolicy.NONE, *StopPolicy))
        self.tell(replace(self.platform.door(self.chance.choice(NAMES), self.chance.choice(DOORS)), stop=stop))

    def flavor(self) -> None:
        self.tell(self.platform.flavor(self.chance.choice(("f0", "f1"))))

    def namespace(self) -> None:
        self.tell(self.platform.namespace(self.chance.choice(NAMES)))

    def check(self) -> None:
        self.tell(AdmissionCheckObserved(name="slow", controller="x", active=self.chance.random() < 0.7))

    def limit_range(self) -> None:
        item = LimitRangeItem(kind="Container", default_request={"cpu": self.chance.choice((1, 2, 3))})
        self.tell(LimitRangeObserved(namespace=self.chance.choice(NAMES), name="l", items=(item,)))

    def set(self) -> None:
        self.settings = self.platform.settings() if self.chance.random() < 0.3 else self.settings
        self.tell(self.settings)

    def remove(self) -> None:
        space = self.chance.choice(NAMES)
        kind, namespace, name = self.chance.choice(
            (
                ("ClusterQueue", "", self.chance.choice(QUEUES)),
                ("Cohort", "", self.chance.choice(("pool", "left"))),
                ("LocalQueue", space, self.chance.choice(DOORS)),
                ("ResourceFlavor", "", "f1"),
                ("AdmissionCheck", "", "slow"),
                ("LimitRange", space, "l"),
                ("Node", "", self.chance.choice(("n0", "n1"))),
            )
        )
        self.tell(ObjectRemoved(kind=kind, namespace=namespace, name=name))

    def node(self) -> None:
        self.tell(*self.platform.node_facts(self.chance.choice(("n0", "n1"))))

    def pod(self) -> None:
        """A pod of a workload or of nobody takes cards, ends, or goes."""
        number = self.chance.randrange(6)
        if not self.platform.cards:
            return
        if self.chance.random() < 0.4:
            self.tell(ObjectRemoved(kind="Pod", namespace="team", name=f"p{number}"))
            return
        node = self.chance.choice(("n0", "n1"))
        owner = self.one(lambda one: one.admitted)
        share = CardShare(
            uuid=f"{node}-{self.chance.randrange(2)}",
            vendor="NVIDIA",
            memory=self.chance.choice((500, 20000)),
            cores=20,
        )
        self.tell(
            PodObserved(
                namespace="team",
                name=f"p{number}",
                uid=f"p{number}",
                node=node,
                phase=self.chance.choice(("Running", "Running", "Succeeded")),
                workload=owner.key if owner is not None and self.chance.random() < 0.7 else "",
                terminating=self.chance.random() < 0.2,
                shares=((share,),),
            )
        )

    # how they look

    def every(self, such: Callable[[Workload], bool]) -> list[Workload]:
        return [one for _, one in sorted(self.world.workloads.items()) if such(one)]

    def one(self, such: Callable[[Workload], bool]) -> Workload | None:
        found = self.every(such)
        return self.chance.choice(found) if found else None

    def _spec(self) -> WorkloadSpec:
        pick = self.chance.choice
        sets: list[PodSet] = []
        for name in ("main", "side")[: pick((1, 1, 1, 2))]:
            limits = (
                {GPU: 1, MEMORY: pick((8000, 16000, 30000)), CORES: pick((25, 50, 100))}
                if self.platform.cards and pick((0, 1))
                else {}
            )
            requests = {"cpu": pick((1, 1, 2))} if pick((0, 1, 1)) or not limits else {}
            shape = PodShape(containers=(ContainerShape(name="c", requests=requests, limits=limits),))
            count = pick((1, 1, 2, 3))
            sets.append(PodSet(name=name, count=count, minimum=pick((None, None, None, 1)), shape=shape))
        return WorkloadSpec(
            queue=pick(DOORS),
            priority=pick((0, 0, 1, 2)),
            pod_sets=tuple(sets),
            max_execution=pick((None, None, None, 50_000)),
            never_preempt=self.chance.random() < 0.05,
        )
