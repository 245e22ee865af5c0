"""The objects of a random platform, from a chance: settings, namespaces, flavors, queues, cohorts and nodes with cards."""

import random

from events.budget import Budget, BudgetPeriod
from events.card import Card
from events.catalogue import Fact
from events.device import DevicesRegistered, NodeObserved
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

GPU, MEMORY, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
QUEUES, DOORS, NAMES = ("q0", "q1", "q2"), ("d0", "d1", "d2", "d3"), ("team", "other")
CHECKS = ("slow", "budget")


class Platform:
    """Draws them, each time anew."""

    def __init__(self, chance: random.Random, *, cards: bool) -> None:
        self.chance, self.cards = chance, cards

    def settings(self) -> SettingsObserved:
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

    def facts(self, settings: SettingsObserved) -> list[Fact]:
        found: list[Fact] = [
            settings,
            *(NamespaceObserved(name=name) for name in NAMES),
            *(self.flavor(name) for name in ("f0", "f1")),
            AdmissionCheckObserved(name="slow", controller="x"),
            AdmissionCheckObserved(name="budget", controller="kuelog.io/budget"),
            CohortObserved(name="left", parent="pool"),
            *(self.queue(name) for name in QUEUES),
            *(self.door(space, name) for space in NAMES for name in DOORS),
        ]
        for name in ("n0", "n1") if self.cards else ():
            found += self.node_facts(name)
        return found

    def flavor(self, name: str) -> FlavorObserved:
        policy = DevicePolicy.CAP if self.chance.random() < 0.1 else None
        return FlavorObserved(
            name=name, node_labels={"card": name} if self.chance.random() < 0.8 else {}, device_policy=policy
        )

    def namespace(self, name: str) -> NamespaceObserved:
        budget = Budget(period=BudgetPeriod.DAY, limits={"cpu": 2, GPU: 1}) if self.chance.random() < 0.3 else None
        return NamespaceObserved(name=name, labels={"a": self.chance.choice("bc")}, budget=budget)

    def door(self, namespace: str, name: str) -> LocalQueueObserved:
        weight = Weight(numerator=self.chance.choice((0, 1, 1, 2)))
        queue = QUEUES[min(DOORS.index(name), 2)] if self.chance.random() < 0.9 else self.chance.choice(QUEUES)
        return LocalQueueObserved(namespace=namespace, name=name, cluster_queue=queue, weight=weight)

    def queue(self, name: str) -> ClusterQueueObserved:
        pick, chance = self.chance.choice, self.chance.random
        policies = tuple(PreemptionPolicy)
        reclaim = pick((PreemptionPolicy.ANY, *policies))
        borrow = BorrowWithinCohort(policy=PreemptionPolicy.LOWER_PRIORITY, max_priority_threshold=pick((None, 1)))
        checks = tuple(CheckRule(name=check, flavors=pick(((), ("f0",)))) for check in CHECKS if chance() < 0.15)
        return ClusterQueueObserved(
            name=name,
            cohort=pick(("pool", "pool", "pool", "left", "right", "")),
            namespaces=LabelSelector() if chance() < 0.9 else LabelSelector(labels={"a": "b"}),
            groups=self.groups(),
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

    def groups(self) -> tuple[ResourceGroup, ...]:
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
