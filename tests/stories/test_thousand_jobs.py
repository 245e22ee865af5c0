"""A thousand jobs while every service, a process of its own, is killed and started again, one after the other."""

import asyncio
import sys
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from events.admission import WorkloadAdmitted
from events.codec import decode_commit
from events.preemption import PreemptionOrdered
from events.workload import EvictionOrdered, QuotaReleased
from ops.cluster.embedded import EmbeddedCluster
from ops.kube.client import connect as connect_kube
from ops.log.history import read_everything
from ops.log.jetstream import connect as connect_bus
from ops.log.server import NatsServer
from ops.replay import fold_lane
from ops.wiring import LANE, SERVICES
from services.cluster_port import Resource
from tests.ops.deploy.small_cluster import Plain, cluster, job
from tests.places import ROOT

JOBS = 1000
SCALE = 20.0
AT_ONCE = 60
"""CPUs of the queue: so many jobs run at the same time."""
BATCH = Resource(group="batch", plural="jobs", kind="Job")


class Crowd:
    """The jobs, the services as processes, and what was seen of both."""

    def __init__(self, embedded: EmbeddedCluster, nats: str) -> None:
        self.cluster, self.nats = embedded, nats
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.started: dict[str, set[str]] = {}
        """Per job the decisions under which it was seen running."""
        self.done: set[str] = set()
        self.moved = asyncio.Event()

    async def start(self, service: str) -> None:
        """Start a service, and wait until it says that it serves."""
        given = ("--nats", self.nats, "--kubeconfig", str(self.cluster.kubeconfig), "--scale", str(SCALE))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ops.cli.main", "--log", "error", "run", service, *given),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        self.processes[service] = process
        if process.stdout is not None:
            await asyncio.wait_for(process.stdout.readline(), 60)

    async def kill(self, service: str) -> None:
        process = self.processes.pop(service)
        process.kill()
        await process.wait()

    async def stop(self) -> None:
        for service in list(self.processes):
            await self.kill(service)

    async def watch(self) -> None:
        """Note under which decision each job runs, and which have ended."""
        changes = self.cluster.store.watch()
        while True:
            for one in self.cluster.store.of("jobs.batch").values():
                self._see(one)
            self.moved.set()
            await changes.get()
            while not changes.empty():
                changes.get_nowait()

    def _see(self, value: Plain) -> None:
        name, status = value["metadata"]["name"], value.get("status") or {}
        if not value["spec"].get("suspend", False):
            mark = (value["metadata"].get("annotations") or {}).get("kuelog.io/decision", "nobody's decision")
            self.started.setdefault(name, set()).add(mark)
        if any((one["type"], one["status"]) == ("Complete", "True") for one in status.get("conditions") or ()):
            self.done.add(name)

    async def finished(self, count: int) -> None:
        while len(self.done) < count:
            self.moved.clear()
            await self.moved.wait()


@pytest.mark.slow
async def test_no_job_is_lost_admitted_twice_or_run_without_a_decision_whoever_dies(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        embedded = cluster(tmp_path, scale=SCALE, cpus=AT_ONCE)
        await embedded.start()
        stack.push_async_callback(embedded.stop)
        server = NatsServer(tmp_path / "nats")
        await server.start()
        stack.push_async_callback(server.stop)
        client = await connect_kube(str(tmp_path / "kubeconfig"))
        stack.push_async_callback(client.close)
        bus = await connect_bus(server.url)
        stack.push_async_callback(bus.close)
        crowd = Crowd(embedded, server.url)
        stack.push_async_callback(crowd.stop)
        await asyncio.gather(*(crowd.start(service) for service in SERVICES))
        watching = asyncio.create_task(crowd.watch())
        creating = asyncio.create_task(create(client))
        async with asyncio.timeout(400):
            for number, service in enumerate(SERVICES, start=1):
                await crowd.finished(number * JOBS // (len(SERVICES) + 1))
                await crowd.kill(service)
                await crowd.start(service)
            await crowd.finished(JOBS)
        await creating
        watching.cancel()
        entries = await read_everything(bus)
        check(crowd, entries)
        _, replayed = fold_lane(LANE, entries, verify=True)
        assert not replayed.differences


async def create(client: Any) -> None:
    for number in range(JOBS):
        await client.create(BATCH, "team", job(f"j{number}", seconds=20))


def check(crowd: Crowd, entries: dict[str, list[Any]]) -> None:
    """Each job ran under an admission that is on the log, and was admitted once for each attempt."""
    admitted: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    marks: dict[str, str] = {}
    for entry in entries[LANE]:
        for event in decode_commit(entry.data).events:
            match event:
                case WorkloadAdmitted():
                    admitted[event.workload] += 1
                    marks[f"{LANE}/{entry.sequence}"] = event.workload
                    assert admitted[event.workload] == ended[event.workload] + 1, "admitted while it was admitted"
                case QuotaReleased() if admitted[event.workload] > ended[event.workload]:
                    ended[event.workload] += 1
                case PreemptionOrdered() | EvictionOrdered():
                    raise AssertionError("nobody had to make room")
                case _:
                    pass
    assert len(admitted) == JOBS and set(admitted.values()) == {1}
    assert len(crowd.started) == JOBS
    assert {mark for found in crowd.started.values() for mark in found} <= set(marks)
