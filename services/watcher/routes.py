"""To which partition a fact about a workload goes: what every partition would find out itself, folded from the same facts.

Only what is stored on the log is folded here, never what this watcher is about to tell: a home is told to the bus by a subject
once all who read that fact have read why. It is kept for good, so it can't be another one by then.

Rule: docs/decisions/0090-facts-go-to-the-partition-that-folds-them.md
"""

from collections.abc import Iterable

from events.catalogue import Fact
from events.commit import Sighting
from events.control import ObjectRemoved
from events.partition_map import PartitionForked, PartitionMapObserved
from events.quota import ClusterQueueObserved, CohortObserved, FlavorObserved, LocalQueueObserved
from events.routing import is_routed, namespace_of
from events.subjects import FACTS, addressee
from events.workload import WorkloadSubmitted
from projections.evolve import evolve
from projections.folds.partitions import give_namespace_home
from projections.log_position import LogPosition
from projections.object_versions import ObjectVersions
from projections.partitions.homes import is_misrouted
from projections.snapshot import Tables, tables_of, world_of
from projections.world import World

_PLACED_BY = (ClusterQueueObserved, CohortObserved, FlavorObserved, LocalQueueObserved)
_KINDS = frozenset(one.kind for one in _PLACED_BY)


class Routes:
    """The homes of queues and namespaces as of the last fact that was read."""

    def __init__(self, versions: ObjectVersions) -> None:
        self._versions = versions
        self._world = World()
        self._world.versions = versions

    @property
    def divided(self) -> bool:
        """Whether the log has a map of partitions."""
        return bool(self._world.partition_map)

    def of(self, fact: Fact) -> str:
        """The partition that alone folds a fact; empty where all have to."""
        return self._world.namespace_homes.get(namespace_of(fact), "") if is_routed(fact) else ""

    def misled(self, sighting: Sighting, subject: str) -> bool:
        """Whether nobody folds a stored fact, because its subject says another partition than decides about it."""
        alone = addressee(subject)
        return bool(alone) and is_misrouted(self._world, sighting.fact, alone)

    def fold(self, sighting: Sighting) -> None:
        """Fold the next fact of the log that counts."""
        fact = sighting.fact
        if isinstance(fact, WorkloadSubmitted):
            give_namespace_home(self._world, fact)
        elif isinstance(fact, (*_PLACED_BY, PartitionMapObserved, PartitionForked)) or (
            isinstance(fact, ObjectRemoved) and fact.kind in _KINDS
        ):
            evolve(self._world, fact, LogPosition(partition=FACTS, sequence=0, at=sighting.at))
        self._world.settle()

    def saved(self) -> Tables:
        """What is to be kept of it."""
        world = self._world
        world.versions = ObjectVersions(world.trail)
        try:
            return tables_of(world)
        finally:
            world.versions = self._versions

    def begin_at(self, tables: Tables | None, facts: Iterable[Fact]) -> None:
        """Go on from what was kept; from views of before there were partitions, from the facts that they hold."""
        self._world = World() if tables is None else world_of(tables)
        self._world.versions = self._versions
        for fact in facts if tables is None else ():
            if isinstance(fact, _PLACED_BY):
                evolve(self._world, fact, LogPosition(partition=FACTS, sequence=0, at=0))
        self._world.settle()
