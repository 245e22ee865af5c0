"""A replica whose way to the API server swallows what is sent: another one watches and writes in its place, if there is one."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from ops.production.health import Health
from ops.production.kubernetes.api_reach import ApiReach
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.client import connect as connect_kube
from ops.production.kubernetes.reflector import Reflector
from ops.production.ports import Ports
from tests.stage.sites import Line
from tests.stage.stage import Stage
from tests.stories.test_leases import Replica, play, replay_is_right

WATCHING, WRITING = "watcher", "LOG_0.applier"
SERVER = re.compile(r"127\.0\.0\.1:(\d+)")


@asynccontextmanager
async def line_to_cluster(stage: Stage, folder: Path) -> AsyncIterator[tuple[Line, Ports]]:
    """A line to the cluster's API server, and what a replica is handed that reaches it this way."""
    async with AsyncExitStack() as opened:
        found = SERVER.search((await stage.cluster.kubeconfig_of("watcher")).read_text())
        assert found is not None
        line = Line(int(found[1]))
        opened.push_async_callback(line.close)
        await line.open()
        clients: list[KubeClient] = []
        for service in ("watcher", "applier"):
            direct = await stage.cluster.kubeconfig_of(service)
            kubeconfig = folder / f"{service}-through"
            kubeconfig.write_text(direct.read_text().replace(found[0], f"127.0.0.1:{line.port}"))
            clients.append(await connect_kube(str(kubeconfig), service=service))
            opened.push_async_callback(clients[-1].close)
        watching, writing = clients
        yield line, replace(stage.ports, reader=Reflector(watching), writer=writing, reach=ApiReach(writing.answers))


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked often, and no lease moves because it is another's share."""
    monkeypatch.setattr("ops.production.kubernetes.api_reach.EVERY_S", 0.1)
    monkeypatch.setattr("ops.production.own_leases.KEPT_AT_LEAST_S", 1e9)


async def gained(replica: Replica, *names: str) -> None:
    for one in replica.running.leases.all:
        if one.name in names:
            await asyncio.wait_for(one.gained.wait(), 60)


@pytest.mark.slow
async def test_another_replica_watches_and_writes_while_one_does_not_reach_the_cluster(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.bus.leases.prepare()
    async with line_to_cluster(stage, tmp_path) as (line, through):
        first = Replica(stage, "first", through=through)
        await first.serves()
        second = Replica(stage, "second")
        await second.waits()
        await asyncio.wait_for(play(stage, "before"), 90)
        line.swallow()
        await gained(second, WATCHING, WRITING)
        await asyncio.wait_for(play(stage, "cut-off"), 90)
        held = {one.name for one in first.running.leases.all if one.held}
        assert held and not held & {WATCHING, WRITING}, "it goes on deciding: the bus is as near as before"
        assert any("can't be reached from here" in why for why in await Health(first.running).why_not())
        line.mend()
        await second.stop()
        await gained(first, WATCHING, WRITING)
        await asyncio.wait_for(play(stage, "mended"), 90)
        await first.stop()
    await replay_is_right(stage)


@pytest.mark.slow
async def test_who_is_cut_off_and_alone_keeps_its_leases(stage: Stage, tmp_path: Path) -> None:
    await stage.bus.leases.prepare()
    async with line_to_cluster(stage, tmp_path) as (line, through):
        only = Replica(stage, "only", through=through)
        await only.serves()
        line.swallow()
        while not only.running.is_cut_off:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.05)
        line.mend()
        await asyncio.wait_for(play(stage, "mended"), 90)
        assert [one.given_back for one in only.running.leases.all] == [0] * len(only.running.leases.all)
        await only.stop()
