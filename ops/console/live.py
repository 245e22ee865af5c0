"""The log as it is now, folded by the console itself rather than asked of a service."""

import time
from collections.abc import Sequence

import msgspec

from events.event import Millis
from events.subjects import FACTS
from ops.console.changes import Positions
from ops.console.workload_list import KnownRows, WorkloadList
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.wiring import Running
from ops.queries.time_travel import Moment
from projections.explanation.read_models import WorkloadRow
from projections.explanation.redaction import namespaces_in
from projections.world import World
from services.runtime.partition_host import PartitionHost

_RESTS = 4
"""So many times as long as a list took to make it is not made again, however much is folded meanwhile."""


class NotFolded(Exception):
    """What was on the log when the console began is not folded yet."""

    def __init__(self) -> None:
        super().__init__("the log is not folded yet: ask again in a moment")


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A list of workloads, and when it may be made anew."""

    workloads: WorkloadList
    positions: Positions
    at: Millis
    again: float


class Live:
    """The world that follows the log's end, and how far it has come."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._known = KnownRows()
        self._listed: Listed | None = None
        self._spaces: tuple[Positions, frozenset[str], frozenset[str]] | None = None

    @property
    def ready(self) -> bool:
        """Whether everything that was on the log at the start is folded."""
        host = self._running.hosts.get(PARTITION)
        return host is not None and host.caught_up.is_set()

    @property
    def halted(self) -> str:
        """Why nothing more is folded; empty when all is well."""
        host = self._running.hosts.get(PARTITION)
        return host.halted if host is not None else ""

    def world(self) -> World:
        """The world. Raises `NotFolded`."""
        return self._host().fold.world

    def at(self) -> Millis:
        """The time as of which it answers."""
        return max(self._host().fold.at, self._running.ports.clock.now())

    def positions(self) -> Positions:
        """The last sequence of each stream that is folded; none before everything is."""
        if not self.ready:
            return {}
        fold = self._host().fold
        return {DEVICE_PARTITION: fold.position(DEVICE_PARTITION), FACTS: fold.position(FACTS), PARTITION: fold.base}

    def rows(self) -> Sequence[WorkloadRow]:
        """All workloads, by key."""
        return self.listed().rows

    def listed(self) -> WorkloadList:
        """All workloads, as of `listed_at`. Raises `NotFolded`."""
        return self._list().workloads

    def listed_at(self) -> tuple[Millis, Positions]:
        """The time and the place that the list is of. Raises `NotFolded`."""
        found = self._list()
        return (self.at() if found.positions == self.positions() else found.at), found.positions

    def _list(self) -> "Listed":
        """The list that is known, unless something was folded since and a fifth of the time at most goes into lists by that."""
        known, found = self._listed, self.positions()
        if known is None or (found != known.positions and time.perf_counter() >= known.again):
            begun = time.perf_counter()
            workloads = WorkloadList(self._known.of(self.world()))
            ended = time.perf_counter()
            again = ended + _RESTS * (ended - begun)
            known = self._listed = Listed(workloads=workloads, positions=found, at=self.at(), again=again)
        return known

    def cards(self) -> Moment:
        """The same world, as questions about cards take it."""
        return Moment(world=self.world(), at=self.at(), began=0, upto=dict(self.positions()), since={})

    def namespaces(self) -> frozenset[str]:
        """Every namespace that is known. Raises `NotFolded`."""
        return self._known_namespaces()[1]

    def queue_namespaces(self) -> frozenset[str]:
        """Those with a local queue or a workload: what is of the others, nobody asks about. Raises `NotFolded`."""
        return self._known_namespaces()[2]

    def _known_namespaces(self) -> tuple[Positions, frozenset[str], frozenset[str]]:
        world, found = self.world(), self.positions()
        if self._spaces is None or self._spaces[0] != found:
            used = frozenset(key.partition("/")[0] for key in (*world.workloads, *world.local_queues))
            self._spaces = found, frozenset(namespaces_in(world)), used
        return self._spaces

    def _host(self) -> PartitionHost:
        host = self._running.hosts.get(PARTITION)
        if host is None or not self.ready:
            raise NotFolded
        return host
