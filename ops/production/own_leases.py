"""The leases that a process takes or waits for, each renewed for as long as the process serves."""

import asyncio
from collections.abc import Sequence

import structlog

from services.runtime.lease import Lease
from services.runtime.lease_port import Leases
from services.runtime.log_errors import LogUnavailable
from services.runtime.partition.roles import Decider

log = structlog.get_logger()


class OwnLeases:
    """All of one process; none where there is nowhere to take them."""

    def __init__(self, leases: Leases | None, replica: str) -> None:
        self._leases, self._replica = leases, replica
        self.all: list[Lease] = []

    async def prepare(self) -> None:
        """Make sure that there is a place for them, and begin without any."""
        self.all.clear()
        if self._leases is not None:
            try:
                await self._leases.prepare()
            except LogUnavailable as problem:
                log.warning("no leases", problem=str(problem))

    def on_deciding(self, partition: str, deciders: Sequence[Decider], tasks: asyncio.TaskGroup) -> Lease | None:
        """The one lease of all deciders of a partition that this process runs together; None where there are none."""
        together = "+".join(sorted(one.name for one in deciders))
        return self.lease(f"{partition}.{together}", tasks) if together else None

    def on_writing(self, partition: str, services: Sequence[str], tasks: asyncio.TaskGroup) -> Lease | None:
        """The lease on writing what was decided in a partition: to this cluster, or to others where only that is done here."""
        return self.lease(f"{partition}.{'applier' if 'applier' in services else 'remote-clusters'}", tasks)

    def lease(self, name: str, tasks: asyncio.TaskGroup) -> Lease | None:
        """The lease on a piece of work; None where no other replica would do it."""
        if self._leases is None:
            return None
        found = Lease(self._leases, name, self._replica)
        self.all.append(found)
        tasks.create_task(found.run())
        return found
