"""Random queues with groups of resources in several flavors, partly used, and pod sets that ask for some of it."""

import random
from collections.abc import Iterator

from events.pod_set import PodSet
from events.quota import (
    BorrowWithinCohort,
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    FlavorPreference,
    FlavorQuotas,
    FlavorSearch,
    Fungibility,
    PreemptionPolicy,
    PreemptionRules,
    Quota,
    ResourceGroup,
)
from events.topology import TopologyRequest
from projections.flavors.mode import Granular
from projections.flavors.plan import Plan, PodSetRequest, plan_of
from projections.flavors.search import FlavorSearchSpace
from projections.flavors.suitability import PlanRules
from projections.quota.columns import Column
from projections.quota.tree import QuotaTree
from projections.trail import Trail
from tests.projections.flavors.search_by_definition import ORDER, Asked, Conditions, Judged
from tests.projections.quota.by_definition import ByDefinition, Item

GROUPS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("cpu", "memory"), ("f0", "f1", "f2")),
    (("gpu",), ("g0", "g1")),
    (("net",), ("n0",)),
)
ITEMS: tuple[Item, ...] = tuple((flavor, name) for names, flavors in GROUPS for flavor in flavors for name in names)
PREEMPT, NEVER = (PreemptionPolicy.ANY, PreemptionPolicy.LOWER_PRIORITY), PreemptionPolicy.NEVER


class Asking:
    """What is asked for, the tree and the plan as production lays them, and the same by the definitions; all by one number."""

    def __init__(self, seed: int, *, plain: bool = False) -> None:
        self.seed, self.chance = seed, random.Random(seed)
        self.queue = self._queue("a", "low")
        queues = {"a": self.queue, "b": self._queue("b", "top")}
        cohorts = {
            "top": CohortObserved(name="top", groups=self._groups(2)),
            "low": CohortObserved(name="low", parent="top"),
        }
        self.tree = ByDefinition(queues, cohorts, {})
        self.quota = QuotaTree(Trail())
        for cohort in cohorts.values():
            self.quota.set_cohort(cohort)
        for queue in queues.values():
            self.quota.set_cluster_queue(queue)
        for name in queues:
            self._use(name)
        self.asked = list(self._pod_sets())
        self.at = self._plain() if plain else self._conditions()
        self.plan = self._plan()

    def _queue(self, name: str, cohort: str) -> ClusterQueueObserved:
        pick = self.chance
        borrow = BorrowWithinCohort(policy=pick.choice((PreemptionPolicy.LOWER_PRIORITY, NEVER)))
        return ClusterQueueObserved(
            name=name,
            cohort=pick.choice((cohort, cohort, "")),
            groups=self._groups(4),
            fungibility=Fungibility(
                when_can_borrow=pick.choice(tuple(FlavorSearch)),
                when_can_preempt=pick.choice(tuple(FlavorSearch)),
                preference=pick.choice(tuple(FlavorPreference)),
            ),
            preemption=PreemptionRules(
                within_cluster_queue=pick.choice((NEVER, *PREEMPT)),
                reclaim_within_cohort=pick.choice((NEVER, *PREEMPT)),
                borrow_within_cohort=pick.choice((None, borrow)),
            ),
        )

    def _groups(self, most: int) -> tuple[ResourceGroup, ...]:
        def quotas(names: tuple[str, ...]) -> Iterator[Quota]:
            for name in names:
                limit = self.chance.choice((None, None, self.chance.randint(0, 2)))
                yield Quota(resource=name, nominal=self.chance.randint(0, most), borrowing_limit=limit)

        return tuple(
            ResourceGroup(
                resources=names,
                flavors=tuple(FlavorQuotas(flavor=flavor, quotas=tuple(quotas(names))) for flavor in flavors),
            )
            for names, flavors in GROUPS
        )

    def _use(self, name: str) -> None:
        """Some of what the queue may have is used, or nothing."""
        busy = self.chance.randrange(3)
        for item in ITEMS:
            left = int(self.tree.available(("queue", name), item))
            amount = self.chance.randint(0, max(0, left)) if busy else 0
            self.tree.held[name, item] = amount
            self.quota.add_usage(name, {self.quota.column(*item): amount})

    def _pod_sets(self) -> Iterator[Asked]:
        most = self.chance.choice((1, 3))
        together = self.chance.choice(("", "together"))
        for number in range(self.chance.choice((1, 1, 2, 3))):
            names = [name for name in ("cpu", "gpu", "memory") if self.chance.randrange(3)] or ["cpu"]
            if not self.chance.randrange(3):
                names.append("net")
            requests = {name: self.chance.randint(0, most) for name in names}
            yield Asked(f"p{number}", requests, self.chance.choice(("", together)))

    def _plain(self) -> Conditions:
        return Conditions(
            fair=False,
            room=Room(self.seed),
            unsuitable=frozenset(flavor for flavor, _ in ITEMS if not self.chance.randrange(5)),
            excluded=frozenset(),
            pinned={},
            progress={},
            caps={},
        )

    def _conditions(self) -> Conditions:
        pick = self.chance
        places = [(one.name, resource) for one in self.asked for resource in one.requests]
        flavors = {name: flavors for names, flavors in GROUPS for name in names}
        rare = pick.random() < 0.2
        return self._plain()._replace(
            fair=pick.choice((False, True)),
            excluded=frozenset(
                (one.name, flavor) for one in self.asked for flavor, _ in ITEMS if not pick.randrange(12)
            ),
            pinned={at: pick.choice(flavors[at[1]]) for at in places if rare and pick.randrange(2)},
            progress={at: pick.randint(0, 3) for at in places if not pick.randrange(3)},
            caps={item: pick.randint(1, 4) for item in ITEMS if not pick.randrange(6)},
        )

    def _plan(self) -> Plan:
        asked = [
            PodSetRequest(
                pod_set=PodSet(name=one.name, count=1, topology=TopologyRequest(pod_set_group=one.group)),
                count=1,
                requests=one.requests,
            )
            for one in self.asked
        ]
        flavors = {name: FlavorObserved(name=name) for name, _ in ITEMS if name not in self.at.unsuitable}
        return plan_of(self.quota, self.queue, flavors, asked, PlanRules(topology=False))

    @property
    def space(self) -> FlavorSearchSpace:
        """The question to the search."""
        names = self.quota.columns.names

        def oracle(column: Column, amount: int) -> Granular:
            found = self.at.room[names[column], amount]
            return Granular(found.mode, found.borrow)

        return FlavorSearchSpace(
            plan=self.plan,
            node=self.quota.queues["a"],
            names=names,
            oracle=oracle,
            fair=self.at.fair,
            progress=self.at.progress,
            pinned=self.at.pinned,
            caps={self.quota.column(*item): most for item, most in self.at.caps.items()},
            excluded={place: f"no cards for {place[0]}" for place in self.at.excluded},
        )


class Room(dict[tuple[Item, int], Judged]):
    """Who could make room, made up when it is asked for; the same for the same question."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __missing__(self, key: tuple[Item, int]) -> Judged:
        pick = random.Random(f"{self._seed} {key}")
        return Judged(pick.choice(ORDER[1:4]), pick.randint(0, 2))
