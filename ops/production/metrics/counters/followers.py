"""Counts in every partition of trees whose decisions are folded in this process."""

import asyncio
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from ops.production.metrics.counters.follower import CountersFollower
from ops.production.wiring import Running
from projections.counters.queue_counters import QueueCounters

_LOOK_MS = 1_000


class CountersFollowers:
    """A follower for each of them; a partition that a log gets later has one soon."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._followers: dict[str, CountersFollower] = {}

    async def run(self) -> None:
        """Count until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                for partition in self._partitions():
                    if partition not in self._followers:
                        found = self._followers[partition] = CountersFollower(self._running, partition)
                        tasks.create_task(found.run())
                await self._running.ports.clock.sleep(_LOOK_MS)

    @property
    def behind(self) -> list[str]:
        """The partitions of which what was there at the start is being counted still."""
        found = ((name, self._followers.get(name)) for name in self._partitions())
        return [name for name, one in found if one is None or not (one.caught_up or one.problem)]

    @contextmanager
    def ahead(self) -> Generator[dict[str, QueueCounters]]:
        """What was counted in each that has caught up, as of now."""
        with ExitStack() as opened:
            found = {name: opened.enter_context(one.ahead()) for name, one in sorted(self._followers.items())}
            yield {name: counters for name, counters in found.items() if counters is not None}

    def _partitions(self) -> list[str]:
        return [host.own.name for host in self._running.hosts_of_trees()]
