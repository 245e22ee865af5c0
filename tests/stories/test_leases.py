"""Two replicas of every service on one log: one of them writes as one alone would, and the other takes over when it is gone."""

import asyncio
from collections import Counter
from typing import Any, cast

import pytest
from msgspec.structs import replace

from events.codec import decode_commit
from events.commit import Commit
from events.control import EpochStarted
from ops.production.archive.history import read_everything
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.ports import Ports
from ops.production.wiring import Running
from ops.queries.replay import fold_partition
from services.runtime.cluster_port import Writer
from services.runtime.log_port import Bus
from tests.stage.stage import Stage, job

DECIDERS = ("accountant", "admitter", "multikueue", "preemptor", "queue-manager")
_WRITES = ("create", "merge", "apply", "delete", "patch")


class Counting:
    """Somebody's writer or bus, whose writes are counted."""

    def __init__(self, inner: object, counts: Counter[str]) -> None:
        self._inner, self._counts = inner, counts

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "stream":

            async def stream(of: str) -> Any:
                return Counting(await found(of), self._counts)

            return stream
        if name in (*_WRITES, "append", "publish"):

            async def counted(*args: Any, **named: Any) -> Any:
                self._counts[name] += len(args[0]) if name == "publish" else 1
                return await found(*args, **named)

            return counted
        return found


class Replica:
    """All services in this process, with what they have written."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.wrote: Counter[str] = Counter()
        ports: Ports = replace(
            stage.ports,
            bus=cast(Bus, Counting(stage.bus, self.wrote)),
            writer=cast(Writer, Counting(stage.ports.writer, self.wrote)),
            leases=stage.bus.leases,
        )
        self.running = Running(ports, replica=name)
        self._stage, self._task = stage, asyncio.create_task(self.running.run())
        stage.tasks.append(self._task)

    async def serves(self) -> None:
        """Return once it holds all leases."""
        await self._has(gained=True)

    async def waits(self) -> None:
        """Return once it knows that another holds them all."""
        await self._has(gained=False)
        assert not any(one.held for one in self.running.leases.all)

    async def _has(self, *, gained: bool) -> None:
        while len(self.running.leases.all) < 4:  # noqa: ASYNC110 - nothing tells that they were asked for
            await asyncio.sleep(0.01)
        for one in self.running.leases.all:
            await asyncio.wait_for(one.gained.wait() if gained else one.known.wait(), 30)

    async def stop(self) -> None:
        self._stage.tasks.remove(self._task)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def begun(stage: Stage) -> dict[str, int]:
    """The last epoch that was begun, by author."""
    log = await read_everything(stage.bus)
    commits: list[Commit] = [decode_commit(one.data) for name in (PARTITION, DEVICE_PARTITION) for one in log[name]]
    events = [event for commit in commits for event in commit.events if isinstance(event, EpochStarted)]
    assert all(
        commit.author == event.service
        for commit in commits
        for event in commit.events
        if isinstance(event, EpochStarted)
    )
    return {event.service: event.epoch for event in events}


async def play(stage: Stage, *names: str) -> None:
    for name in names:
        await stage.add(job(name, 1))
    await stage.until(lambda: stage.complete(*names))


@pytest.mark.slow
async def test_the_replica_that_waits_writes_nothing_and_takes_over_when_the_other_ends(stage: Stage) -> None:
    await stage.bus.leases.prepare()
    first = Replica(stage, "first")
    await first.serves()
    second = Replica(stage, "second")
    await second.waits()
    await asyncio.wait_for(play(stage, "a", "b", "c"), 90)
    assert sum(second.wrote.values()) == 0, second.wrote
    assert first.wrote["append"] and first.wrote["publish"] and first.wrote["merge"]
    assert await begun(stage) == dict.fromkeys(DECIDERS, 1)
    await first.stop()
    await second.serves()
    wrote = first.wrote.copy()
    await asyncio.wait_for(play(stage, "d", "e"), 90)
    assert first.wrote == wrote
    assert await begun(stage) == dict.fromkeys(DECIDERS, 2)
    log = await read_everything(stage.bus)
    for partition in (PARTITION, DEVICE_PARTITION):
        _, replayed = fold_partition(partition, log, verify=True)
        assert not replayed.is_wrong
    await second.stop()


@pytest.mark.slow
async def test_who_holds_leases_that_it_lost_without_knowing_is_told_by_the_log(stage: Stage) -> None:
    await stage.bus.leases.prepare()
    first = Replica(stage, "first")
    await first.serves()
    await asyncio.wait_for(play(stage, "a"), 90)
    for one in await stage.bus.leases.holders():
        # Somebody else's message takes the place of ours, as if ours had run out while we were paused.
        await stage.bus.client.request(f"kuelog.leases.{one}", b"", timeout=10)
    second = Replica(stage, "second")
    await asyncio.wait_for(play(stage, "b", "c"), 90)
    log = await read_everything(stage.bus)
    for partition in (PARTITION, DEVICE_PARTITION):
        _, replayed = fold_partition(partition, log, verify=True)
        assert not replayed.is_wrong
    await first.stop()
    await second.stop()
