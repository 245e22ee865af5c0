"""Two replicas of every service on one log: together they write as one alone would, and one takes over when the other is gone."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import pytest
import yaml
from msgspec.structs import replace

from events.codec import decode_commit
from events.commit import Commit
from events.control import EpochStarted
from ops.production.archive.history import read_everything
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.ports import Ports
from ops.production.served import SERVICES
from ops.production.wiring import Running
from ops.queries.replay import fold_partition
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Resource, Writer
from services.runtime.log_port import Bus
from tests.stage.stage import Stage, job

DECIDERS = ("accountant", "admitter", "multikueue", "preemptor", "queue-manager")
JOBS = 4
PLAIN = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: plain}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: v100
      resources: [{name: cpu, nominalQuota: 4}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: plain, namespace: default}
spec: {clusterQueue: plain}
"""
A_JOB = {"create workloads": 1, "apply workloads/status": 2, "merge jobs": 1, "merge workloads": 1}
"""What a job without cards asks of the API server: its Workload; that it is admitted, and has finished; its start; its finalizer taken off."""
WITH_CARDS = {**A_JOB, "apply workloads/status": 3}
"""That its quota is reserved is shown before its cards are given."""
_REQUESTS = ("get", "create", "merge", "apply", "delete")


class Counting:
    """Somebody's writer or bus, whose writes are counted, and what it asks the cluster: by verb and kind."""

    def __init__(self, inner: object, counts: Counter[str]) -> None:
        self._inner, self._counts = inner, counts

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "stream":

            async def stream(of: str) -> Any:
                return Counting(await found(of), self._counts)

            return stream
        if name in ("append", "publish"):

            async def told(*args: Any, **named: Any) -> Any:
                self._counts[name] += len(args[0]) if name == "publish" else 1
                return await found(*args, **named)

            return told
        if name in _REQUESTS:

            async def asked(resource: Resource, *args: Any, **named: Any) -> Any:
                part = named.get("subresource", "")
                self._counts[f"{name} {resource.plural}{'/' if part else ''}{part}"] += 1
                return await found(resource, *args, **named)

            return asked
        return found


class Replica:
    """All services in this process, with what they have written."""

    def __init__(
        self,
        stage: Stage,
        name: str,
        clock: Clock | None = None,
        services: Sequence[str] = SERVICES,
        through: Ports | None = None,
    ) -> None:
        """`through`: how it reaches the cluster, where that is another way than the others'."""
        self.wrote: Counter[str] = Counter()
        way = through or stage.ports
        ports: Ports = replace(
            way,
            bus=cast(Bus, Counting(stage.bus, self.wrote)),
            writer=cast(Writer, Counting(way.writer, self.wrote)),
            leases=stage.bus.leases,
            clock=clock or stage.ports.clock,
        )
        self.running = Running(ports, services, replica=name)
        self._stage, self._task = stage, asyncio.create_task(self.running.run())
        stage.tasks.append(self._task)

    async def serves(self) -> None:
        """Return once it holds all leases."""
        await self._has(gained=True)

    async def waits(self) -> None:
        """Return once it knows that another holds them all."""
        await self._has(gained=False)
        assert not any(one.held for one in self.running.leases.all)

    async def shares(self, count: int) -> None:
        """Return once it holds so many of the leases."""
        changed = asyncio.Event()
        for one in self.running.leases.all:
            one.listeners.append(changed.set)
        while sum(one.held for one in self.running.leases.all) != count:
            changed.clear()
            await asyncio.wait_for(changed.wait(), 60)

    async def _has(self, *, gained: bool) -> None:
        while len(self.running.leases.all) < 3 + ("watcher" in self.running.services):  # noqa: ASYNC110 - nothing tells that they were asked for
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


def all_told(stage: Stage) -> bool:
    """Whether all Workloads say that they have finished, and are held by nobody any more."""
    return all(
        not workload["metadata"].get("finalizers")
        and any(one["type"] == "Finished" for one in workload.get("status", {}).get("conditions", ()))
        for workload in stage.of("workloads.kueue.x-k8s.io")
    )


async def one_by_one(stage: Stage, name: str) -> None:
    """Play jobs that find room at once, with cards and without, each until nothing of it is left to be said."""
    for number in range(JOBS):
        await play(stage, f"{name}-{number}")
        await stage.until(lambda: all_told(stage))
        await play_plain(stage, f"{name}-plain-{number}")
        await stage.until(lambda: all_told(stage))


async def play_plain(stage: Stage, name: str) -> None:
    """Play a job without cards."""
    plain = job(name, 1)
    plain["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "plain"
    plain["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    await stage.add(plain)
    await stage.until(lambda: stage.complete(name))


async def replay_is_right(stage: Stage, *, amiss: bool = False) -> None:
    """Decided again everything is the same; `amiss` where somebody said something at a wrong time."""
    log = await read_everything(stage.bus)
    for partition in (PARTITION, DEVICE_PARTITION):
        _, replayed = fold_partition(partition, log, verify=True)
        assert replayed.verified and not replayed.differences and not replayed.other_states
        assert amiss or not replayed.amiss


def asked_for_jobs(*counts: Counter[str]) -> dict[str, int]:
    """What was asked of the cluster about workloads and jobs, in all."""
    total = sum(counts, Counter[str]())
    return {what: count for what, count in total.items() if what.split(" ")[-1].startswith(("workloads", "jobs"))}


@pytest.mark.slow
async def test_the_replica_that_waits_writes_nothing_and_takes_over_when_the_other_ends(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.production.own_leases.KEPT_AT_LEAST_S", 1e9)
    await stage.bus.leases.prepare()
    first = Replica(stage, "first")
    await first.serves()
    second = Replica(stage, "second")
    await second.waits()
    await asyncio.wait_for(play(stage, "a", "b", "c"), 90)
    assert sum(second.wrote.values()) == 0, second.wrote
    assert first.wrote["append"] and first.wrote["publish"] and first.wrote["merge jobs"]
    assert await begun(stage) == dict.fromkeys(DECIDERS, 1)
    await first.stop()
    await second.serves()
    wrote = first.wrote.copy()
    await asyncio.wait_for(play(stage, "d", "e"), 90)
    assert first.wrote == wrote
    assert await begun(stage) == dict.fromkeys(DECIDERS, 2)
    await replay_is_right(stage)
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
    await replay_is_right(stage)
    await first.stop()
    await second.stop()


@pytest.mark.slow
async def test_two_replicas_that_share_the_leases_ask_and_write_as_much_as_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.production.own_leases.KEPT_AT_LEAST_S", 0.0)
    for document in yaml.safe_load_all(PLAIN):
        await stage.add(document)
    await stage.bus.leases.prepare()
    first = Replica(stage, "first")
    await first.serves()
    await asyncio.wait_for(one_by_one(stage, "alone"), 180)
    alone = asked_for_jobs(first.wrote)
    second = Replica(stage, "second")
    await second.waits()
    await asyncio.gather(first.shares(2), second.shares(2))
    before = first.wrote + second.wrote
    await asyncio.wait_for(one_by_one(stage, "shared"), 180)
    together = asked_for_jobs(first.wrote + second.wrote - before)
    for asked in (alone, together):
        statuses = asked.pop("apply workloads/status")
        # One that comes soon after another is written together with it.
        assert statuses <= JOBS * (A_JOB["apply workloads/status"] + WITH_CARDS["apply workloads/status"])
        assert asked == {what: 2 * JOBS for what in A_JOB if what != "apply workloads/status"}, (
            "and nothing is looked up"
        )
    await replay_is_right(stage)
    await first.stop()
    await second.stop()
