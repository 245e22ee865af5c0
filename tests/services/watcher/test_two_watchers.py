"""Two watchers, one of them late, are the normal case: what is folded is the cluster, and both know it."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from itertools import groupby

import pytest
import pytest_asyncio

from events.codec import decode_sighting
from events.control import ResourceVersionsRestarted
from events.json_object import JsonObject
from events.subjects import FACTS
from ops.production.log.memory import MemoryStream
from projections.evolve import evolve_sighting
from projections.log_position import LogPosition
from projections.world import World
from services.runtime.log_port import Message
from services.watcher.log_reading import FellBehind
from services.watcher.settings.watched_kinds import CLUSTER_KINDS
from services.watcher.shell import Watcher
from services.watcher.view import View
from tests.services.watcher.scripted_cluster import Objects, OneOfSeveral, rest


def queue(nominal: int) -> JsonObject:
    quotas = [{"name": "cpu", "nominalQuota": str(nominal)}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": quotas}]}
    return {"metadata": {"name": "cq", "uid": "cq"}, "spec": {"namespaceSelector": {}, "resourceGroups": [group]}}


def priority(value: int) -> JsonObject:
    return {"metadata": {"name": "high", "uid": "high"}, "value": value}


def job(name: str = "j", uid: str = "u1", pods: int = 1, ready: int = 0, *, done: bool = False) -> JsonObject:
    labels = {"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/priority-class": "high"}
    limits = {"cpu": "1"}
    container = {"name": "c", "image": "i", "resources": {"limits": limits}}
    status: JsonObject = {"active": pods, "ready": ready}
    if done:
        status = {"succeeded": pods, "conditions": [{"type": "Complete", "status": "True"}]}
    return {
        "metadata": {"name": name, "namespace": "team", "uid": uid, "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "suspend": True,
            "template": {"spec": {"containers": [container]}},
        },
        "status": status,
    }


class Pair:
    """Two watchers on one cluster and one log."""

    def __init__(self) -> None:
        self.objects, self.stream = Objects(), MemoryStream(FACTS)
        self.watchers: list[OneOfSeveral] = []

    async def begin(self) -> "Pair":
        await self.objects.put("WorkloadPriorityClass", priority(5))
        await self.objects.put("ClusterQueue", queue(1))
        self.watchers = [OneOfSeveral(self.objects, self.stream) for _ in range(2)]
        await rest(*self.watchers)
        return self

    async def end(self) -> None:
        for one in self.watchers:
            await one.end()

    @property
    def world(self) -> World:
        world = World()
        for _ in self.told(world):
            pass
        return world

    def told(self, world: World) -> Iterator[World]:
        """The world after each fact."""
        for entry in self.stream.entries:
            sighting = decode_sighting(entry.data)
            evolve_sighting(world, sighting, LogPosition(partition=FACTS, sequence=entry.sequence, at=sighting.at))
            yield world

    def check(self) -> None:
        """The log folds to the cluster as it is, and both watchers know it."""
        cluster, world = View(), self.world
        for kind in (*(one.kind for one in CLUSTER_KINDS), "Job"):
            for (found, _, _), value in sorted(self.objects.there.items()):
                if found == kind:
                    cluster.see(kind, value)
        assert set(world.workloads) == set(cluster.workloads)
        for key, told in cluster.workloads.items():
            assert world.workloads[key].spec == told.spec
            assert world.workloads[key].finished == told.job.finished
            assert bool(world.workloads[key].condition("PodsReady")) >= bool(told.job.ready)
        assert world.cluster_queues.get("cq") == cluster.facts.get("ClusterQueue//cq")
        for one in self.watchers:
            if one.task.done():
                continue
            assert one.watcher.view.workloads.keys() == cluster.workloads.keys()
            assert {key: fact for key, fact in one.watcher.view.facts.items()} == cluster.facts
            assert {key: told.spec for key, told in one.watcher.view.workloads.items()} == {
                key: told.spec for key, told in cluster.workloads.items()
            }

    async def wake(self, late: OneOfSeveral) -> None:
        """Open the gate: what happened in the cluster comes through first, then what was told of it."""
        before = len(self.stream.entries)
        late.gate.cluster.set()
        for _ in range(200):
            await asyncio.sleep(0)
            if len(self.stream.entries) > before:
                break
        late.gate.log.set()
        await rest(*self.watchers)


@pytest_asyncio.fixture
async def pair() -> AsyncIterator[Pair]:
    found = await Pair().begin()
    yield found
    await found.end()


async def test_a_late_watcher_writes_no_older_quota_over_a_newer_one_and_can_take_over(pair: Pair) -> None:
    early, late = pair.watchers
    late.gate.close()
    await pair.objects.put("ClusterQueue", queue(2))
    await pair.objects.put("ClusterQueue", queue(3))
    await rest(early)
    before = len(pair.stream.entries)
    await pair.wake(late)
    assert len(pair.stream.entries) > before, "it did tell what it saw"
    told = [one.cluster_queues["cq"] for one in pair.told(World()) if one.cluster_queues]
    assert len(list(groupby(told))) == len(set(map(repr, told))) == 3, "never again what was before"
    pair.check()
    await early.end()
    await pair.objects.put("ClusterQueue", queue(2))
    await rest(late)
    pair.check()


async def test_a_late_watcher_does_not_bring_back_a_deleted_job(pair: Pair) -> None:
    early, late = pair.watchers
    late.gate.close()
    one = await pair.objects.put("Job", job())
    await rest(early)
    await pair.objects.remove("Job", one)
    await rest(early)
    await pair.wake(late)
    there = [bool(one.workloads) for one in pair.told(World())]
    assert [word for word, _ in groupby(there)] == [False, True, False]
    pair.check()


async def test_a_job_that_was_made_anew_under_its_name_is_the_new_one(pair: Pair) -> None:
    early, late = pair.watchers
    one = await pair.objects.put("Job", job(uid="old"))
    await rest(*pair.watchers)
    late.gate.close()
    await pair.objects.remove("Job", one)
    await pair.objects.put("Job", job(uid="new", pods=3))
    await rest(early)
    await pair.wake(late)
    told = [[workload.uid for workload in one.workloads.values()] for one in pair.told(World())]
    assert [word for word, _ in groupby(told)] == [[], ["old"], [], ["new"]]
    pair.check()


async def test_a_priority_that_changes_reaches_jobs_whose_version_is_the_same(pair: Pair) -> None:
    early, late = pair.watchers
    await pair.objects.put("Job", job())
    await rest(*pair.watchers)
    late.gate.close()
    for value in (6, 7, 8):
        await pair.objects.put("WorkloadPriorityClass", priority(value))
    await rest(early)
    await pair.wake(late)
    told = [workload.priority for one in pair.told(World()) for workload in one.workloads.values()]
    assert [word for word, _ in groupby(told)] == [5, 6, 7, 8]
    pair.check()


async def test_a_restored_cluster_is_told_as_it_is(pair: Pair) -> None:
    version, there = pair.objects.version, dict(pair.objects.there)
    await pair.objects.put("ClusterQueue", queue(9))
    await pair.objects.put("Job", job())
    await rest(*pair.watchers)
    await pair.objects.restore(version, there)
    await rest(*pair.watchers)
    facts = [decode_sighting(entry.data).fact for entry in pair.stream.entries]
    assert any(isinstance(fact, ResourceVersionsRestarted) for fact in facts)
    pair.check()
    await pair.objects.put("ClusterQueue", queue(4))
    await pair.objects.put("Job", job(uid="after"))
    await rest(*pair.watchers)
    assert pair.world.versions.epoch >= 1
    pair.check()


async def test_one_watcher_alone_never_takes_its_own_word_for_anothers(pair: Pair) -> None:
    _, other = pair.watchers
    await other.end()
    for number in range(20):
        await pair.objects.put("Job", job(f"j{number}", uid=str(number)))
    for number in range(20):
        await pair.objects.remove("Job", job(f"j{number}"))
    await rest(pair.watchers[0])
    folds = World()
    for entry in pair.stream.entries:
        sighting = decode_sighting(entry.data)
        if sighting.about is not None:
            assert not folds.versions.outdated(sighting.about), sighting
        evolve_sighting(folds, sighting, LogPosition(partition=FACTS, sequence=entry.sequence, at=sighting.at))
    pair.check()


@pytest.mark.parametrize("seed", range(12))
async def test_whoever_is_late_and_whatever_happens_meanwhile_the_log_tells_the_cluster(pair: Pair, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        name = f"j{chance.randrange(4)}"
        there = pair.objects.there.get(("Job", "team", name))
        match chance.randrange(9):
            case 0 | 1:
                await pair.objects.put("ClusterQueue", queue(chance.randrange(9)))
            case 2 if there is not None:
                await pair.objects.remove("Job", there)
            case 3:
                await pair.objects.put("WorkloadPriorityClass", priority(chance.randrange(3)))
            case 4:
                chance.choice(pair.watchers).gate.close()
            case 5:
                chance.choice(pair.watchers).gate.cluster.set()
            case 6:
                chance.choice(pair.watchers).gate.log.set()
            case _:
                uid = there["metadata"]["uid"] if there is not None else str(pair.objects.version)
                await pair.objects.put("Job", job(name, uid, chance.randrange(1, 3)))
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0.001)
    for one in pair.watchers:
        one.gate.cluster.set()
        one.gate.log.set()
    await rest(*pair.watchers)
    pair.check()


async def test_one_that_falls_behind_while_it_is_told_to_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    lives = 0
    lives_again, begun = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        nonlocal lives
        lives += 1
        if lives > 1:
            lives_again.set()
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as cancelled:
            if lives > 1:
                raise
            raise FellBehind("somebody else has told what is newer") from cancelled

    async def grouped(watcher: Watcher) -> None:
        del watcher
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(live())

    monkeypatch.setattr(Watcher, "_live", grouped)
    one = OneOfSeveral(Objects(), MemoryStream(FACTS))
    await begun.wait()
    one.task.cancel()
    again = asyncio.create_task(lives_again.wait())
    await asyncio.wait({one.task, again}, return_when=asyncio.FIRST_COMPLETED)
    again.cancel()
    await one.end()
    assert lives == 1
    assert one.task.cancelled()


async def test_what_a_watcher_that_was_replaced_tells_late_of_an_object_that_is_gone_does_not_stay() -> None:
    objects, before, stream = Objects(), MemoryStream(FACTS), MemoryStream(FACTS)
    await objects.put("WorkloadPriorityClass", priority(5))
    await objects.put("ClusterQueue", queue(1))
    first = OneOfSeveral(objects, before)
    await rest(first)
    stored = len(before.entries)
    late = await objects.put("Job", job())
    await rest(first)
    await first.end()
    told = [Message(one.subject, one.data, f"of the first {one.sequence}") for one in before.entries]
    assert len(told) > stored
    await stream.publish(told[:stored])
    await objects.remove("Job", late)
    heir = OneOfSeveral(objects, stream)
    await rest(heir)
    await stream.publish(told[stored:])
    await rest(heir)
    await heir.end()
    world = World()
    for entry in stream.entries:
        sighting = decode_sighting(entry.data)
        evolve_sighting(world, sighting, LogPosition(partition=FACTS, sequence=entry.sequence, at=sighting.at))
    assert world.workloads == {}
