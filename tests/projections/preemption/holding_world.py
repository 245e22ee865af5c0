"""Random worlds of queues, cohorts and workloads that hold quota of two resources, and one that asks for room."""

import random
from collections.abc import Iterator
from itertools import islice

from events.catalogue import AnyEvent
from events.quota import (
    BorrowWithinCohort,
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    FlavorQuotas,
    PreemptionPolicy,
    PreemptionRules,
    Quota,
    ResourceGroup,
    StopPolicy,
    Weight,
)
from events.settings import FairStrategy, SettingsObserved
from events.workload import (
    AdoptedStatus,
    Condition,
    ConditionStatus,
    PodSetAssignment,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.preemption.candidates import PreemptionContext
from projections.workloads.lifecycle import Workload
from projections.world import World
from tests.projections.preemption.classic_by_definition import Asker, Holder
from tests.projections.quota.by_definition import ByDefinition, Item

NOW = 100
FLAVOR, RESOURCES = "f", ("cpu", "gpu")
ITEMS: tuple[Item, ...] = tuple((FLAVOR, resource) for resource in RESOURCES)
QUEUES, COHORTS = ("a", "b", "c", "d"), ("left", "right", "top")
STRATEGIES = (
    (FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FairStrategy.LESS_THAN_INITIAL_SHARE),
    (FairStrategy.LESS_THAN_INITIAL_SHARE, FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE),
    (FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,),
    (FairStrategy.LESS_THAN_INITIAL_SHARE,),
)
NEVER, POLICIES = PreemptionPolicy.NEVER, tuple(PreemptionPolicy)


class Situation:
    """The world as it was folded, the same by the definitions, and the question; all of it by one number."""

    def __init__(self, seed: int, *, fair: bool = False) -> None:
        self.chance, self.fair = random.Random(seed), fair
        self.strategies = self.chance.choice(STRATEGIES) if fair else ()
        self.world = World()
        self.holders: list[Holder] = []
        self._sequence = 0
        queues, cohorts = self._queues(), self._cohorts()
        settings = SettingsObserved(devices=False, fair_sharing=fair, fair_strategies=self.strategies)
        for fact in (settings, FlavorObserved(name=FLAVOR), *cohorts, *queues):
            self._fold(fact)
        self.tree = ByDefinition({one.name: one for one in queues}, {one.name: one for one in cohorts}, {})
        for index in range(self.chance.randint(4, 20)):
            self._run(index)
        self.asker, self.context = self._asked()

    def _fold(self, fact: AnyEvent) -> None:
        self._sequence += 1
        evolve(self.world, fact, LogPosition(partition="LOG_0", sequence=self._sequence, at=NOW))

    def _queues(self) -> list[ClusterQueueObserved]:
        """Queues in a cohort, in two, or alone."""
        homes = self.chance.choice((("top",), ("left", "right"), COHORTS, (*COHORTS, "")))
        return [
            ClusterQueueObserved(
                name=name,
                cohort=self.chance.choice(homes),
                groups=self._groups(6),
                preemption=self._rules(),
                weight=self._weight(),
                stop=self.chance.choice((*[StopPolicy.NONE] * 5, StopPolicy.HOLD)),
            )
            for name in QUEUES
        ]

    def _cohorts(self) -> list[CohortObserved]:
        return [
            CohortObserved(name="top", groups=self._groups(3)),
            CohortObserved(name="left", parent="top", groups=self._groups(2), weight=self._weight()),
            CohortObserved(name="right", parent="top"),
        ]

    def _weight(self) -> Weight:
        return Weight(numerator=self.chance.choice((0, 1, 1, 1, 2))) if self.fair else Weight()

    def _groups(self, most: int) -> tuple[ResourceGroup, ...]:
        pick = self.chance
        limits = pick.randrange(2)
        quotas = tuple(
            Quota(
                resource=resource,
                nominal=pick.randint(0, most),
                borrowing_limit=pick.choice((None, None, None, pick.randint(0, 4))) if limits else None,
                lending_limit=pick.choice((None, pick.randint(0, 2))) if limits else None,
            )
            for resource in RESOURCES
        )
        return (ResourceGroup(resources=RESOURCES, flavors=(FlavorQuotas(flavor=FLAVOR, quotas=quotas),)),)

    def _rules(self) -> PreemptionRules:
        pick = self.chance
        borrow = BorrowWithinCohort(
            policy=pick.choice((PreemptionPolicy.LOWER_PRIORITY, NEVER)),
            max_priority_threshold=pick.choice((None, 0, 1, 2)),
        )
        return PreemptionRules(
            within_cluster_queue=pick.choice(POLICIES),
            reclaim_within_cohort=pick.choice((*POLICIES, PreemptionPolicy.ANY, PreemptionPolicy.LOWER_PRIORITY)),
            borrow_within_cohort=pick.choice((None, borrow)),
            minimum_runtime=pick.choice((0, 0, 0, 0, 0, NOW // 2)),
            cooldown=pick.choice((0, 0, 0, 0, 0, NOW // 2)),
        )

    def _run(self, index: int) -> None:
        """One more holds quota, if there is so much left; it may have nothing of one resource."""
        queue = self.chance.choice(QUEUES)
        most = self.chance.choice((1, 1, 2, 3))
        usage = {(FLAVOR, resource): self.chance.randint(0, most) for resource in RESOURCES}
        if any(amount > self.tree.available(("queue", queue), item) for item, amount in usage.items()):
            return
        held = PodSetAssignment(
            name="main",
            count=1,
            flavors=dict.fromkeys(RESOURCES, FLAVOR),
            usage={resource: amount for (_, resource), amount in usage.items()},
        )
        adopted = AdoptedStatus(conditions=tuple(self._conditions()), cluster_queue=queue, assignments=(held,))
        self.holders.append(Holder(self._submitted(f"w{index:02}", queue, adopted), queue, usage))
        for item, amount in usage.items():
            self.tree.held[queue, item] = self.tree.held.get((queue, item), 0) + amount

    def _conditions(self) -> Iterator[Condition]:
        true, false = ConditionStatus.TRUE, ConditionStatus.FALSE
        moments = (1, NOW // 2, NOW // 2 + 1, NOW)
        for kind in ("QuotaReserved", "Admitted"):
            yield Condition(type=kind, status=true, reason=kind, since=self.chance.choice(moments))
        if not self.chance.randrange(4):
            since = self.chance.choice(moments)
            yield Condition(type="Preempted", status=false, reason="QuotaReserved", since=since)
        if not self.chance.randrange(4):
            yield Condition(type="Evicted", status=true, reason="Deactivated", since=NOW)

    def _submitted(self, name: str, queue: str, adopted: AdoptedStatus | None) -> Workload:
        spec = WorkloadSpec(
            queue=queue,
            priority=self.chance.randint(0, 3) + (adopted is None),
            pod_sets=(),
            never_preempt=not self.chance.randrange(8),
            replaces=self._before(queue) if adopted is None else "",
        )
        created = self.chance.randint(1, 3)
        self._fold(WorkloadSubmitted(workload=f"team/{name}", uid=name, created_at=created, spec=spec, adopted=adopted))
        return self.world.workloads[f"team/{name}"]

    def _before(self, queue: str) -> str:
        """The slice of the same job that the one that asks is to replace; mostly none."""
        own = [one.workload.key for one in self.holders if one.queue == queue]
        return self.chance.choice(("", "", *own[:1]))

    def _asked(self) -> tuple[Asker, PreemptionContext]:
        queue = self.chance.choice(QUEUES)
        workload = self._submitted("asker", queue, None)
        asked = {item: self.chance.choice((0, 1, 2, 3, 4, 5)) for item in ITEMS}
        usage = {item: amount for item, amount in asked.items() if amount}
        columns = {self.world.quota.column(*item): amount for item, amount in usage.items()}
        node = self.world.quota.queues[queue]
        context = PreemptionContext(
            workload=workload,
            queue=self.world.cluster_queues[queue],
            node=node,
            usage=columns,
            needed=tuple(column for column, amount in columns.items() if amount > node.available(column)),
            at=NOW,
        )
        return Asker(workload, queue, usage, NOW), context

    def possible(self) -> bool:
        """Whether the queue could ever have what is asked for."""
        here = ("queue", self.asker.queue)
        return all(amount <= self.tree.potential(here, item) for item, amount in self.asker.usage.items())

    def usage(self) -> dict[str, list[int]]:
        """What every place uses, as the world has it."""
        quota = self.world.quota
        return {node.key: list(node.usage) for nodes in (quota.queues, quota.cohorts) for node in nodes.values()}


def situations(count: int, *, fair: bool = False) -> Iterator[Situation]:
    """Situations in which something does not fit now and would if nobody else were there."""
    found = (Situation(seed, fair=fair) for seed in range(2**32))
    return islice((one for one in found if one.context.needed and one.possible()), count)
