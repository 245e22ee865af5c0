"""The leases that a process takes or waits for, each renewed for as long as the process serves, and its share of them."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import structlog

from services.runtime.lease import Lease, Readiness
from services.runtime.lease_port import Leases, Replica
from services.runtime.lease_shares import gives_back, takes
from services.runtime.log_errors import LogUnavailable
from services.runtime.partition.roles import Decider

log = structlog.get_logger()

ANNOUNCED_EVERY_S = 0.75
KEPT_AT_LEAST_S = 5.0
"""So long a lease that was taken stays: whatever comes and goes, it does not move back and forth."""
_LEFT_WITHIN_S = 1.0
_WRITING = "{}.applier"


class OwnLeases:
    """All of one process; none where there is nowhere to take them."""

    def __init__(self, leases: Leases | None, replica: str, reaches_cluster: Callable[[], bool] = lambda: True) -> None:
        self._leases, self._replica, self._reaches_cluster = leases, replica, reaches_cluster
        self.all: list[Lease] = []
        self._others: list[Replica] = []
        """The other replicas, as they were last seen."""
        self._changed = asyncio.Event()

    async def prepare(self) -> None:
        """Make sure that there is a place for them, and begin without any."""
        self.all.clear()
        self._others.clear()
        if self._leases is not None:
            try:
                await self._leases.prepare()
            except LogUnavailable as problem:
                log.warning("no leases", problem=str(problem))

    async def share(self, leases: Leases) -> None:
        """Say what this process holds, and give back what is another's share, until cancelled (docs/rules/log.md#shares)."""
        try:
            while True:
                self._changed.clear()
                await self._spread(leases)
                with suppress(TimeoutError):
                    async with asyncio.timeout(ANNOUNCED_EVERY_S):
                        await self._changed.wait()
        finally:
            with suppress(LogUnavailable, TimeoutError):
                async with asyncio.timeout(_LEFT_WITHIN_S):
                    await leases.leave(self._replica)

    def standbys(self, name: str) -> int:
        """How many other replicas would take a lease."""
        return sum(name in one.wants for one in self._others)

    def on_deciding(self, partition: str, deciders: Sequence[Decider], tasks: asyncio.TaskGroup) -> Lease | None:
        """The one lease of all deciders of a partition that this process runs together; None where there are none."""
        together = "+".join(sorted(one.name for one in deciders))
        return self.lease(f"{partition}.{together}", tasks) if together else None

    def on_writing(self, partition: str, services: Sequence[str], tasks: asyncio.TaskGroup) -> Lease | None:
        """The lease on writing what was decided in a partition: to this cluster, or to others where only that is done here."""
        return self._on_cluster(
            _WRITING.format(partition) if "applier" in services else f"{partition}.remote-clusters", tasks
        )

    def written_elsewhere(self, partition: str) -> bool:
        """Whether another replica was last seen to hold the lease on writing what is decided in a partition."""
        return any(_WRITING.format(partition) in one.holds for one in self._others)

    def on_watching(self, tasks: asyncio.TaskGroup) -> Lease | None:
        """The lease on reporting what is seen in the cluster."""
        return self._on_cluster("watcher", tasks)

    def _on_cluster(self, name: str, tasks: asyncio.TaskGroup) -> Lease | None:
        found = self.lease(name, tasks)
        if found is not None:
            found.reaches = self._reaches_cluster
        return found

    def lease(self, name: str, tasks: asyncio.TaskGroup) -> Lease | None:
        """The lease on a piece of work; None where no other replica would do it."""
        if self._leases is None:
            return None
        found = Lease(self._leases, name, self._replica, takes=self._takes)
        found.listeners.append(self._changed.set)
        found.standbys = partial(self.standbys, name)
        self.all.append(found)
        tasks.create_task(found.run())
        return found

    async def _spread(self, leases: Leases) -> None:
        try:
            await leases.announce(self._own())
            await self._look_around(leases)
        except LogUnavailable:
            # Who can't see the others, or may not say that it is there, takes what is free and keeps it.
            self._others.clear()
        before = asyncio.get_running_loop().time() - KEPT_AT_LEAST_S
        movable = {
            one.name
            for one in self.all
            if one.held_since is not None and one.held_since <= before and one.ready() is Readiness.READY
        }
        surplus = gives_back(self._own(), self._others, movable)
        for one in self.all:
            if one.name == surplus:
                log.info("lease is another's share", lease=surplus)
                one.hand_over()

    async def _takes(self, name: str) -> bool:
        """Whether a lease that nobody holds is for this process to take. Raises `LogUnavailable`."""
        if self._leases is None or takes(self._own(), self._others, name):
            return True
        await self._look_around(self._leases)
        return takes(self._own(), self._others, name)

    async def _look_around(self, leases: Leases) -> None:
        self._others = [one for one in await leases.replicas() if one.name != self._replica]

    def _own(self) -> Replica:
        return Replica(
            name=self._replica,
            wants=tuple(one.name for one in self.all if one.held_since is not None or one.ready() is Readiness.READY),
            holds=tuple(one.name for one in self.all if one.held_since is not None),
        )
