"""The log as it is now, folded by the console itself rather than asked of a service."""

from events.event import Millis
from events.subjects import FACTS
from ops.console.changes import Positions
from ops.console.workload_list import FollowedRows, WorkloadList
from ops.production.wiring import Running
from ops.queries.explaining import world_about
from ops.queries.time_travel import WorldAt
from projections.explanation.redaction import namespaces_in
from projections.world import World
from services.runtime.partition.host import PartitionHost


class NotFolded(Exception):
    """What was on the log when the console began is not folded yet."""

    def __init__(self) -> None:
        super().__init__("the log is not folded yet: ask again in a moment")


class Live:
    """The world that follows the log's end, and how far it has come."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._rows: FollowedRows | None = None
        self._known: tuple[Positions, frozenset[str]] | None = None
        self._used: tuple[Positions, frozenset[str]] | None = None

    @property
    def ready(self) -> bool:
        """Whether everything that was on the log at the start is folded."""
        hosts = self._running.hosts_of_trees()
        return bool(hosts) and all(host.caught_up.is_set() for host in hosts)

    @property
    def halted(self) -> str:
        """Why nothing more is folded; empty when all is well."""
        return "; ".join(host.halted for host in self._running.hosts_of_trees() if host.halted)

    def world(self) -> World:
        """The world of the partitions of trees. Raises `NotFolded`."""
        self._hosts()
        found = self._running.world_of_queues()
        if found is None:
            raise NotFolded
        return found

    def world_about(self, wanted: str) -> World:
        """The world of the partition that decides about an object of a canonical name. Raises `NotFolded`."""
        hosts = self._hosts()
        return self.world() if len(hosts) == 1 else world_about([one.fold.world for one in hosts], wanted, self.at())

    def at(self) -> Millis:
        """The time as of which it answers."""
        return max(self._running.ports.clock.now(), *(host.fold.at for host in self._hosts()))

    def positions(self) -> Positions:
        """The last sequence of each stream that is folded; none before everything is."""
        if not self.ready:
            return {}
        folds = [host.fold for host in self._hosts()]
        inputs = {name: min(one.position(name) for one in folds) for name in (*self._running.streams.pools, FACTS)}
        return {**inputs, **{one.partition: one.base for one in folds}}

    def listed(self) -> WorkloadList:
        """All workloads. Raises `NotFolded`."""
        world = self.world()
        if self._rows is None or self._rows.world is not world:
            self._rows = FollowedRows(world)
        return self._rows.followed()

    def cards(self) -> WorldAt:
        """The same world, as questions about cards take it."""
        return WorldAt(world=self.world(), at=self.at(), began=0, upto=dict(self.positions()), since={})

    def namespaces(self) -> frozenset[str]:
        """Every namespace that is known. Raises `NotFolded`."""
        world, found = self.world(), self.positions()
        if self._known is None or self._known[0] != found:
            self._known = found, frozenset(namespaces_in(world))
        return self._known[1]

    def queue_namespaces(self) -> frozenset[str]:
        """Those with a local queue or a workload: what is of the others, nobody asks about. Raises `NotFolded`."""
        world, found = self.world(), self.positions()
        if self._used is None or self._used[0] != found:
            queues = frozenset(key.partition("/")[0] for key in world.local_queues)
            self._used = found, queues | self.listed().namespaces()
        return self._used[1]

    def _hosts(self) -> list[PartitionHost]:
        if not self.ready:
            raise NotFolded
        return [one for one in self._running.hosts_of_trees() if not one.fold.heirs]
