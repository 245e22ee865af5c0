"""Several partitions of trees in random lives: a map from the beginning or in the middle, and trees that go from one to another.

Rule: docs/decisions/0080-trees-are-placed-in-partitions.md
"""

from msgspec.structs import replace

from events.budget import Budget, BudgetPeriod, RunningAtTheEnd
from events.catalogue import Fact
from events.partition_map import PartitionMapObserved, TreePlacement
from events.quota import CheckRule, ClusterQueueObserved, CohortObserved, LocalQueueObserved, NamespaceObserved
from tests.laws.beside import Beside, Happenings
from tests.laws.random_platform import NAMES, QUEUES

_BUDGET = "budget"


class Division(Beside):
    """Trees are decided in two partitions or three."""

    name = "division"
    often = 0.25

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.partitions = self.chance.choice((2, 2, 3))
        self.late = self.chance.random() < 0.3
        """Whether the log is divided while it is in use."""
        self.apart = self.chance.random() < 0.5
        """Whether queues keep their cohort, and a namespace leads to one of them."""
        self.budgets = self.chance.random() < 0.5
        """Whether namespaces have budgets, which partitions share."""
        if self.there:
            self.life.hosts.divide(self.partitions)

    def platform(self) -> list[Fact]:
        return [] if self.late else [self._map()]

    def shown(self, fact: Fact) -> Fact:
        """All queues begin in trees of their own."""
        world = self.life.world
        match fact:
            case ClusterQueueObserved():
                return self._queue(fact)
            case CohortObserved() if self.apart or fact.name not in world.cohorts:
                return replace(fact, parent="")
            case NamespaceObserved() if self.budgets:
                return replace(fact, budget=self._budget())
            case LocalQueueObserved() if self.apart:
                return replace(fact, cluster_queue=QUEUES[NAMES.index(fact.namespace)])
            case _:
                return fact

    def _queue(self, fact: ClusterQueueObserved) -> ClusterQueueObserved:
        if self.budgets and all(one.name != _BUDGET for one in fact.checks):
            fact = replace(fact, checks=(*fact.checks, CheckRule(name=_BUDGET)))
        if self.apart or fact.name not in self.life.world.cluster_queues:
            return replace(fact, cohort=("pool", "left", "")[QUEUES.index(fact.name)])
        return fact

    def happenings(self) -> Happenings:
        return ((self.map, 1), (self.life.submit, 4), (self.life.namespace, 2 * self.budgets))

    def _budget(self) -> Budget:
        pick = self.chance.choice
        return Budget(
            period=pick((BudgetPeriod.DAY, BudgetPeriod.DAY, BudgetPeriod.WEEK)),
            limits={"cpu": pick((1, 5, 100))},
            carry_over=pick((0, 50)),
            running=pick(tuple(RunningAtTheEnd)),
        )

    def map(self) -> None:
        """The map comes, or trees that nobody has asked yet are placed elsewhere."""
        self.life.tell(self._map())

    def _map(self) -> PartitionMapObserved:
        trees = ("cohort/pool", "cohort/left", "cohort/right", *(f"queue/{name}" for name in QUEUES))
        first = self.chance.randrange(self.partitions)
        placed = tuple(
            TreePlacement(tree=tree, partition=(first + number) % self.partitions)
            for number, tree in enumerate(trees)
            if self.chance.random() < 0.8
        )
        return PartitionMapObserved(partitions=self.partitions, placements=placed)
