"""The manager fails over: it goes on with a log from an archive, or with none, and what runs in other clusters runs on."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from events.api.labels import MULTIKUEUE_ORIGIN
from events.catalogue import Decision
from events.codec import decode_commit, decode_sighting
from events.json_object import JsonObject
from events.multikueue import ClusterChosen, ClustersNominated, RemoteCheckSettled
from events.settings import SettingsObserved
from events.subjects import FACTS
from events.workload import CheckState, EvictionOrdered, WorkloadOwned
from ops.production.archive.backup import make_backup
from ops.production.archive.history import read_everything
from ops.production.archive.restore import restore_backup
from ops.production.kubernetes.remote import KubeConnector
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import PARTITION
from ops.production.wiring import Ports, Running
from ops.queries.replay import fold_partition
from services.multikueue.cluster_access import SECRETS
from services.multikueue.reconcile import NO_LONGER_THERE
from services.runtime.own_task import stopped
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.stage import Stage, job
from tests.stories.test_checks import conditions, workload
from tests.stories.test_multikueue import SETTINGS, active, delegated, set_up


class Manager:
    """A manager whose log can be lost: all services in one process, and the bus that holds its log at the moment."""

    def __init__(self, stage: Stage, folder: Path, opened: AsyncExitStack) -> None:
        self.stage, self._folder, self._opened = stage, folder, opened
        self.bus: JetStreamBus = stage.bus
        self._buses = 0
        self._task: asyncio.Task[None] | None = None

    def serve(self) -> None:
        ports: Ports = replace(self.stage.ports, bus=self.bus, connector=KubeConnector("default"))
        self._task = asyncio.create_task(Running(ports, settings=SETTINGS).run())
        self.stage.tasks.append(self._task)

    async def die(self) -> None:
        assert self._task is not None
        self.stage.tasks.remove(self._task)
        await stopped(self._task)

    async def archive(self, name: str) -> Path:
        """The log as it is now, in a backup."""
        folder = self._folder / name
        await make_backup(self.bus, folder / "witness", str(folder / "archive"), str(folder / "backup"))
        return folder / "backup"

    async def move(self, backup: Path | None = None) -> None:
        """Go on at another bus, with the log of a backup or with none."""
        await self.die()
        self.bus = await self.another_bus()
        if backup is not None:
            folder = self._folder / "restored"
            await restore_backup(str(backup), self.bus, folder / "witness", str(folder / "archive"))
        self.serve()

    async def another_bus(self) -> JetStreamBus:
        """An empty one, as long as the story lasts."""
        self._buses += 1
        server = NatsServer(self._folder / f"bus{self._buses}")
        await server.start()
        self._opened.push_async_callback(server.stop)
        bus = await connect(server.url)
        self._opened.push_async_callback(bus.close)
        return bus

    async def decided(self) -> list[Decision]:
        return await decided_on(self.bus)

    async def says(self, kind: type[Decision]) -> Decision:
        """Wait until a decision of a kind is on the log; the last one."""
        stream = await self.bus.stream(PARTITION)
        async for batch in stream.follow(0):
            for entry in batch:
                for event in decode_commit(entry.data).events:
                    if isinstance(event, kind):
                        return event
        raise AssertionError

    async def replays(self) -> None:
        _, replayed = fold_partition(PARTITION, await read_everything(self.bus), verify=True)
        assert not replayed.differences, "every decision, decided again, is the same"


@asynccontextmanager
async def managed(stage: Stage, folder: Path) -> AsyncGenerator[tuple[Manager, KuelogWorker, KuelogWorker]]:
    """A manager, and two workers with a log of their own; in the end all that was decided is decided again."""
    w1, w2 = [KuelogWorker(name, folder, stage.clock) for name in ("w1", "w2")]
    async with AsyncExitStack() as opened:
        manager = Manager(stage, folder, opened)
        try:
            await set_up(stage, (w1, w2))
            manager.serve()
            await stage.until(lambda: all(active(stage, one.name)[:2] == ("True", "Active") for one in (w1, w2)))
            yield manager, w1, w2
            await manager.replays()
        finally:
            for task in stage.tasks:
                await stopped(task)
            for one in (w1, w2):
                await one.stop()


async def decided_on(bus: JetStreamBus) -> list[Decision]:
    """All decisions about queues on a log."""
    entries = (await read_everything(bus)).get(PARTITION, [])
    return [event for entry in entries for event in decode_commit(entry.data).events]


def pods(worker: KuelogWorker, name: str = "patient") -> set[str]:
    """The UIDs of the pods of a job in a cluster."""
    return {one["metadata"]["uid"] for one in worker.stage.of("pods") if of_job(one, name)}


def of_job(pod: JsonObject, name: str) -> bool:
    return any(own["name"] == name for own in pod["metadata"].get("ownerReferences", ()))


def sent(objects: Sequence[JsonObject]) -> list[JsonObject]:
    """Those of some objects that a manager has made."""
    return [one for one in objects if MULTIKUEUE_ORIGIN in one["metadata"].get("labels", {})]


def runs_in(stage: Stage, cluster: str) -> bool:
    return workload(stage).get("status", {}).get("clusterName") == cluster and stage.running("patient")


async def busy(worker: KuelogWorker) -> None:
    await worker.stage.add(job("local", 36000))
    await worker.stage.until(lambda: worker.stage.running("local"))


async def frees(worker: KuelogWorker) -> None:
    await worker.stage.end_pods("local")


async def sent_to(worker: KuelogWorker, stage: Stage) -> set[str]:
    """A job that comes to a cluster and runs there, by the UIDs of its pods."""
    await stage.add(delegated("patient", 36000))
    await stage.until(lambda: runs_in(stage, worker.name))
    await worker.stage.until(lambda: bool(pods(worker)))
    return pods(worker)


async def runs_on(manager: Manager, worker: KuelogWorker, before: set[str]) -> None:
    """It was taken over by a decision, was never evicted, has the pods that it had, and ends as if nothing had been."""
    stage = manager.stage
    chosen = await manager.says(ClusterChosen)
    assert isinstance(chosen, ClusterChosen)
    assert (chosen.cluster, chosen.taken_over) == (worker.name, True)
    assert chosen.cited is not None, "by a commit of the log of the cluster"
    assert pods(worker) == before and before
    await worker.stage.end_pods("patient")
    await stage.until(lambda: stage.complete("patient"))
    await stage.until(lambda: conditions(stage).get("Finished", ("", ""))[0] == "True")
    await worker.stage.until(lambda: not sent(worker.copies) and not sent(worker.jobs))
    assert not [one for one in await manager.decided() if isinstance(one, EvictionOrdered)]


async def test_what_runs_elsewhere_runs_on_when_the_log_is_of_before_it_was_sent(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, managed(stage, tmp_path) as (manager, w1, w2):
        await busy(w1)
        backup = await manager.archive("before")
        before = await sent_to(w2, stage)
        await manager.move(backup)
        await runs_on(manager, w2, before)


async def test_what_runs_elsewhere_runs_on_when_the_log_is_of_before_it_was_admitted_there(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, managed(stage, tmp_path) as (manager, w1, w2):
        await busy(w1)
        await busy(w2)
        await stage.add(delegated("patient", 36000))
        await manager.says(ClustersNominated)
        await w2.stage.until(lambda: bool(w2.copies))
        backup = await manager.archive("between")
        await frees(w2)
        await stage.until(lambda: runs_in(stage, "w2"))
        await w2.stage.until(lambda: bool(pods(w2)))
        before = pods(w2)
        await frees(w1)
        await w1.stage.until(lambda: w1.stage.complete("local"))
        await manager.move(backup)
        await runs_on(manager, w2, before)
        assert not sent(w1.jobs)


async def test_what_runs_elsewhere_runs_on_when_the_log_is_lost(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, managed(stage, tmp_path) as (manager, w1, w2):
        await busy(w1)
        before = await sent_to(w2, stage)
        await manager.move()
        await runs_on(manager, w2, before)


async def test_a_job_goes_on_in_a_worker_that_has_lost_its_log(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, managed(stage, tmp_path) as (manager, w1, w2):
        await busy(w1)
        before = await sent_to(w2, stage)
        bus = await manager.another_bus()
        await stopped(w2.stage.tasks.pop())
        w2.stage.ports = replace(w2.stage.ports, bus=bus)
        w2.running = w2.stage.serve(settings=SettingsObserved(devices=False))
        stream = await bus.stream(FACTS)
        async for batch in stream.follow(0):
            if any(isinstance(decode_sighting(one.data).fact, WorkloadOwned) for one in batch):
                break
        await w2.running.quiet()
        assert pods(w2) == before
        await w2.stage.end_pods("patient")
        await stage.until(lambda: stage.complete("patient"))
        await w2.stage.until(lambda: not sent(w2.copies) and not sent(w2.jobs))
        for one in (manager.bus, bus):
            assert not [event for event in await decided_on(one) if isinstance(event, EvictionOrdered)]


async def test_a_job_begins_anew_when_its_worker_is_replaced_by_an_empty_one(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, managed(stage, tmp_path) as (manager, w1, w2):
        await busy(w1)
        await stage.add(delegated("patient", 36000))
        await stage.until(lambda: runs_in(stage, "w2"))
        empty = KuelogWorker("empty", tmp_path, stage.clock)
        await empty.start()
        try:
            text = base64.b64encode(empty.cluster.kubeconfig.read_bytes()).decode()
            await stage.client.merge(SECRETS, "default", "w2", {"data": {"kubeconfig": text}})
            await w2.stop()
            await empty.stage.until(lambda: empty.stage.running("patient"))
            await stage.until(lambda: runs_in(stage, "w2"))
            said = await manager.decided()
            (why,) = [
                one.check.message
                for one in said
                if isinstance(one, RemoteCheckSettled) and one.check.state is CheckState.RETRY
            ]
            assert why == f'{NO_LONGER_THERE}, Previously: "Ready"', "and it is on record"
            assert [one.cluster for one in said if isinstance(one, ClusterChosen)] == ["w2", "w2"]
        finally:
            await empty.stop()
