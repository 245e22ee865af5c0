"""What may befall a platform, from a seed: queues, cohorts, rules and jobs of every kind, and all that changes about them."""

import random
from collections.abc import Callable

from msgspec.structs import replace

from events.application import DecisionApplied, DecisionRejected
from events.budget import Budget, BudgetPeriod
from events.card import Card, CardShare
from events.catalogue import Fact
from events.control import ObjectRemoved
from events.device import DevicesRegistered, NodeObserved, PodObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    AdmissionCheckObserved,
    AdmissionMode,
    BorrowWithinCohort,
    CheckRule,
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    FlavorQuotas,
    FlavorSearch,
    Fungibility,
    LimitRangeItem,
    LimitRangeObserved,
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
from events.settings import AdmissionFairSharing, DevicePolicy, PodsReadyRule, SettingsObserved
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
from tests.laws.many_hosts import PARTITION, Hosts
from tests.laws.random_provisioning import Autoscaler
from tests.laws.random_racks import Racks
from tests.laws.random_slices import ElasticJobs

GPU, MEMORY, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
QUEUES, DOORS, NAMES = ("q0", "q1", "q2"), ("d0", "d1", "d2", "d3"), ("team", "other")
CHECKS = ("slow", "budget")
BESIDE = (Racks, ElasticJobs, Autoscaler)
"""In this order they say more in a fact. An elastic job leaves out what it may not ask of racks."""


class Life:
    """A platform and what happens on it."""

    def __init__(self, seed: int, *, fresh: float = 0.1) -> None:
        self.hosts = Hosts(seed, fresh=fresh)
        self.chance = self.hosts.chance
        self.cards = self.chance.random() < 0.5
        self.count = 0
        self.calm = self.chance.random() < 0.3
        """Whether only jobs come and go, and nothing else changes."""
        self.beside = [one for kind in BESIDE if (one := kind(self, seed)).there]
        self.settings = self._settings()
        self.tell(*(fact for one in self.beside for fact in one.platform()), *self._platform())
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
            self.hosts.at += self.chance.choice((1, 10, 10, 500, 5_000, 60_000, 3_600_000))
            for _ in range(self.chance.choice((1, 1, 2, 5))):
                self.happen()
            for _ in range(self.chance.randrange(8)):
                self.hosts.turn()
            if self.chance.random() < 0.3:
                self.hosts.rest()
        self.hosts.rest()
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
            if self.chance.random() < 0.7:
                self.tell(PodsGone(workload=one.key, decision=f"{PARTITION}/{one.stops.stopped_by}"))

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
            self.tell(CheckReported(workload=one.key, check=check, decision=f"{PARTITION}/{one.decided}"))

    def apply(self) -> None:
        one = self.one(lambda one: bool(one.decided))
        if one is None:
            return
        if self.chance.random() < 0.8:
            self.tell(DecisionApplied(workload=one.key, partition=PARTITION, sequence=one.decided))
        else:
            why = self.chance.choice(("Conflict", "FailedToStart"))
            self.tell(
                DecisionRejected(workload=one.key, partition=PARTITION, sequence=one.decided, reason=why, message="")
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
        self.tell(self._queue(self.chance.choice(QUEUES)))

    def cohort(self) -> None:
        parent = self.chance.choice(("", "pool", "left"))
        self.tell(
            CohortObserved(name=self.chance.choice(("pool", "left", "right")), parent=parent, groups=self._groups())
        )

    def door(self) -> None:
        stop = self.chance.choice((StopPolicy.NONE, *StopPolicy))
        self.tell(replace(self._door(self.chance.choice(NAMES), self.chance.choice(DOORS)), stop=stop))

    def flavor(self) -> None:
        self.tell(self._flavor(self.chance.choice(("f0", "f1"))))

    def namespace(self) -> None:
        self.tell(self._namespace(self.chance.choice(NAMES)))

    def check(self) -> None:
        self.tell(AdmissionCheckObserved(name="slow", controller="x", active=self.chance.random() < 0.7))

    def limit_range(self) -> None:
        item = LimitRangeItem(kind="Container", default_request={"cpu": self.chance.choice((1, 2, 3))})
        self.tell(LimitRangeObserved(namespace=self.chance.choice(NAMES), name="l", items=(item,)))

    def set(self) -> None:
        self.settings = self._settings() if self.chance.random() < 0.3 else self.settings
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
        self.tell(*self.node_facts(self.chance.choice(("n0", "n1"))))

    def pod(self) -> None:
        """A pod of a workload or of nobody takes cards, ends, or goes."""
        number = self.chance.randrange(6)
        if not self.cards:
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

    def _settings(self) -> SettingsObserved:
        chance = self.chance.random
        rule = PodsReadyRule(
            timeout=100_000,
            block_admission=chance() < 0.5,
            backoff_limit=self.chance.choice((None, 1)),
            backoff_base=1000,
        )
        names = (
            "PrioritySortingWithinCohort",
            "PartialAdmission",
            "SchedulingEquivalenceHashing",
            "ReclaimablePods",
            "FlavorFungibilityPreserveScanProgress",
            "FairSharingPreemptWithinNominal",
            "PrioritizePreemptorWorkloads",
        )
        return SettingsObserved(
            fair_sharing=chance() < 0.3,
            admission_fair_sharing=AdmissionFairSharing(half_life=60_000) if chance() < 0.3 else None,
            pods_ready=rule if chance() < 0.2 else None,
            devices=self.cards,
            retain_finished=100_000 if chance() < 0.2 else None,
            retain_deactivated=100_000 if chance() < 0.2 else None,
            gates={name: chance() < 0.5 for name in names if chance() < 0.2},
            device_policies={"f0": self.chance.choice(tuple(DevicePolicy))} if chance() < 0.3 else {},
        )

    def _platform(self) -> list[Fact]:
        found: list[Fact] = [
            self.settings,
            *(NamespaceObserved(name=name) for name in NAMES),
            *(self._flavor(name) for name in ("f0", "f1")),
            AdmissionCheckObserved(name="slow", controller="x"),
            AdmissionCheckObserved(name="budget", controller="kuelog.io/budget"),
            CohortObserved(name="left", parent="pool"),
            *(self._queue(name) for name in QUEUES),
            *(self._door(space, name) for space in NAMES for name in DOORS),
        ]
        for name in ("n0", "n1") if self.cards else ():
            found += self.node_facts(name)
        return found

    def _flavor(self, name: str) -> FlavorObserved:
        policy = DevicePolicy.CAP if self.chance.random() < 0.1 else None
        return FlavorObserved(
            name=name, node_labels={"card": name} if self.chance.random() < 0.8 else {}, device_policy=policy
        )

    def _namespace(self, name: str) -> NamespaceObserved:
        budget = Budget(period=BudgetPeriod.DAY, limits={"cpu": 2, GPU: 1}) if self.chance.random() < 0.3 else None
        return NamespaceObserved(name=name, labels={"a": self.chance.choice("bc")}, budget=budget)

    def _door(self, namespace: str, name: str) -> LocalQueueObserved:
        weight = Weight(numerator=self.chance.choice((0, 1, 1, 2)))
        queue = QUEUES[min(DOORS.index(name), 2)] if self.chance.random() < 0.9 else self.chance.choice(QUEUES)
        return LocalQueueObserved(namespace=namespace, name=name, cluster_queue=queue, weight=weight)

    def _queue(self, name: str) -> ClusterQueueObserved:
        pick, chance = self.chance.choice, self.chance.random
        policies = tuple(PreemptionPolicy)
        reclaim = pick((PreemptionPolicy.ANY, *policies))
        borrow = BorrowWithinCohort(policy=PreemptionPolicy.LOWER_PRIORITY, max_priority_threshold=pick((None, 1)))
        checks = tuple(CheckRule(name=check, flavors=pick(((), ("f0",)))) for check in CHECKS if chance() < 0.15)
        return ClusterQueueObserved(
            name=name,
            cohort=pick(("pool", "pool", "pool", "left", "right", "")),
            namespaces=LabelSelector() if chance() < 0.9 else LabelSelector(labels={"a": "b"}),
            groups=self._groups(),
            strategy=pick(tuple(QueueingStrategy)),
            fungibility=Fungibility(
                when_can_borrow=pick(tuple(FlavorSearch)), when_can_preempt=pick(tuple(FlavorSearch))
            ),
            preemption=PreemptionRules(
                within_cluster_queue=pick(policies[:3]),
                reclaim_within_cohort=reclaim,
                borrow_within_cohort=borrow if reclaim is not PreemptionPolicy.NEVER and chance() < 0.3 else None,
                minimum_runtime=pick((0, 0, 0, 5_000)),
                cooldown=pick((0, 0, 0, 5_000)),
                claims=chance() < 0.2,
            ),
            checks=checks,
            stop=pick((*([StopPolicy.NONE] * 12), *StopPolicy)),
            weight=Weight(numerator=pick((0, 1, 1, 2))),
            admission_mode=pick(tuple(AdmissionMode)),
            max_concurrent=pick((None, None, None, None, 2)),
            budget=Budget(period=BudgetPeriod.DAY, limits={"cpu": 3}) if chance() < 0.1 else None,
        )

    def _groups(self) -> tuple[ResourceGroup, ...]:
        """One group of CPUs, and one of cards where there are any; or both in one."""
        pick = self.chance.choice

        def quota(resource: str, unit: int) -> Quota:
            nominal = pick((0, 1, 2, 4)) * unit
            limit = pick((None, None, 0, unit, 2 * unit))
            return Quota(
                resource=resource,
                nominal=nominal,
                borrowing_limit=limit,
                lending_limit=pick((None, None, nominal // 2)),
            )

        def group(**units: int) -> ResourceGroup:
            names = [name for name in ("f0", "f1")[: pick((1, 2))]]
            resources = {"cpu": "cpu", "gpu": GPU, "memory": MEMORY, "cores": CORES}
            flavors = tuple(
                FlavorQuotas(
                    flavor=name, quotas=tuple(quota(resources[unit], amount) for unit, amount in units.items())
                )
                for name in names
            )
            return ResourceGroup(resources=tuple(resources[unit] for unit in units), flavors=flavors)

        if not self.cards:
            return (group(cpu=1),)
        if self.chance.random() < 0.5:
            return (group(cpu=1, gpu=1, memory=32768, cores=100),)
        return (group(cpu=1), group(gpu=1, memory=32768, cores=100))

    def _spec(self) -> WorkloadSpec:
        pick = self.chance.choice
        sets: list[PodSet] = []
        for name in ("main", "side")[: pick((1, 1, 1, 2))]:
            limits = (
                {GPU: 1, MEMORY: pick((8000, 16000, 30000)), CORES: pick((25, 50, 100))}
                if self.cards and pick((0, 1))
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

    def node_facts(self, name: str) -> list[Fact]:
        if not self.cards:
            return [NodeObserved(name=name, labels={"card": "f0"})]
        flavor = "f0" if name == "n0" else "f1"
        cards = tuple(
            Card(
                uuid=f"{name}-{i}",
                index=i,
                slots=4,
                memory=32768,
                model="NVIDIA-V100",
                healthy=self.chance.random() < 0.9,
            )
            for i in range(2)
        )
        cordoned = (f"{name}-0",) if self.chance.random() < 0.1 else ()
        silent = ("NVIDIA",) if self.chance.random() < 0.1 else ()
        return [
            NodeObserved(name=name, labels={"card": flavor}, ready=self.chance.random() < 0.9),
            DevicesRegistered(node=name, cards=cards, cordoned=cordoned, silent=silent),
        ]


__all__ = ["Life", "random"]
