"""Keeps other clusters as was decided: copies of workloads, the job in the cluster that was chosen, and its status here.

Level by level: what is wanted of a workload stays wanted until it is seen there. Each partition is written by one process at
a time; which clusters are connected is shown by who writes the first one, and is so for all.
"""

import asyncio
from collections.abc import Iterable

from projections.feature_gates import enabled
from projections.partitions.homes import FIRST, is_placed_here
from services.multikueue.cluster_profile import GATE
from services.multikueue.connection import ClusterConnection
from services.multikueue.lane import Lane
from services.multikueue.one_name import OneName
from services.multikueue.plan import RemoteState
from services.multikueue.seen import SeenElsewhere
from services.multikueue.writing import RemoteWriter
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Connector, Writer
from services.runtime.lease import Lease
from services.runtime.log_port import Stream
from services.runtime.partition.roles import Observer


class RemoteClusters:
    """The connections of a process to all worker clusters, and a lane for each partition that may be written from here."""

    def __init__(self, home: Writer, connector: Connector, facts: Stream, clock: Clock) -> None:
        self._home, self._connector, self._clock = home, connector, clock
        self._seen = SeenElsewhere(facts, clock, self._home_of)
        self._connections: dict[str, ClusterConnection] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._writer = RemoteWriter(home, clock, self._connections, self._seen)
        self._writer.removal.tell_shared = self._note_shared
        self._lanes: dict[str, Lane] = {}
        self._worlds: dict[str, RemoteState] = {}
        """By partition that is written from here, its world."""
        self.names = OneName(self._renew)

    def lane(self, partition: str, lease: Lease | None) -> Observer:
        """Who observes a partition and has other clusters kept as was decided there, while the lease is held."""
        found = self._lanes[partition] = Lane(partition, self._clock, self._writer, lease, self._take_up)
        return found.observe

    async def run(self) -> None:
        """Keep worker clusters as decided, and report what is seen there, until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._seen.outbox.run())
                for lane in self._lanes.values():
                    tasks.create_task(lane.writes.run())
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def serves(self, workload: str) -> bool:
        """Whether what is seen of a workload in other clusters is told from here."""
        home = self._home_of(workload.partition("/")[0])
        return home in self._worlds if home else any(is_placed_here(one, workload) for one in self._worlds.values())

    @property
    def leads(self) -> bool:
        """Whether it is shown from here which clusters are connected."""
        return FIRST in self._worlds

    def _home_of(self, namespace: str) -> str:
        return next((home for one in self._worlds.values() if (home := one.namespace_homes.get(namespace))), "")

    def _take_up(self, lane: Lane, keys: set[str]) -> None:
        """A lane has taken its turn, or has ended: the connections that are wanted, and what they have to know."""
        if lane.anew:
            lane.anew = False
            self._worlds = {name: one.world for name, one in sorted(self._lanes.items()) if one.world is not None}
            self._connect()
        for name, connection in self._connections.items():
            if lane.world is not None:
                _note_folded(connection, name, lane.world, keys)
            connection.take_up(keys)

    def _connect(self) -> None:
        """Have the clusters connected that the first of the partitions knows; none while nothing is written from here."""
        world = next(iter(self._worlds.values()), None)
        rule = world.settings.multikueue if world is not None else None
        wanted = world.multikueue_clusters if world is not None and rule is not None else {}
        by_profile = world is not None and rule is not None and enabled(world.settings, GATE)
        providers = rule.access_providers if rule is not None and by_profile else None
        local_queues = self._lanes[FIRST].local_queues if self.leads else None
        self.names.want(wanted)
        for name in [name for name in self._connections if name not in wanted]:
            self._tasks.pop(name).cancel()
            del self._connections[name]
        for name, found in wanted.items():
            connection = self._connections.get(name)
            if connection is None:
                connection = ClusterConnection(
                    name, self._home, self._connector, self._clock, self._seen, self._poke, self
                )
                self._connections[name] = connection
                self._tasks[name] = asyncio.get_running_loop().create_task(connection.run())
            for one in self._worlds.values():
                _note_folded(connection, name, one, one.remotes)
            connection.want(found, rule.origin if rule is not None else "", providers, local_queues)
            connection.take_up_all()

    def _renew(self, name: str) -> None:
        if (connection := self._connections.get(name)) is not None:
            connection.renew()

    def _note_shared(self, name: str) -> None:
        if (connection := self._connections.get(name)) is not None:
            connection.note_shared()

    def _poke(self, workload: str) -> None:
        for lane in self._lanes.values():
            lane.writes.poke(workload)


def _note_folded(connection: ClusterConnection, name: str, world: RemoteState, keys: Iterable[str]) -> None:
    for key in keys:
        if is_placed_here(world, key):
            connection.note_folded(key, world.remotes.get(key, {}).get(name))
