"""A replica whose way to the API server swallows what is sent: another one watches and writes in its place, if there is one."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from ops.production.health import Health
from ops.production.kubernetes.api_reach import ApiReach
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.client import connect as connect_kube
from ops.production.kubernetes.reflector import Reflector
from ops.production.ports import Ports
from tests.stage.stage import Stage
from tests.stories.test_leases import Replica, play, replay_is_right

WATCHING, WRITING = "watcher", "LOG_0.applier"
SERVER = re.compile(r"(https?://)([0-9.]+):(\d+)")


class Way:
    """A way to an API server that can swallow all that is sent on it, as a network does that is cut in the middle."""

    def __init__(self) -> None:
        self._host, self._port = "", 0
        self._open = asyncio.Event()
        self._open.set()
        self._carrying: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server

    async def start(self, kubeconfig: Path) -> str:
        """Lead to the server of a kubeconfig; the host and port where it begins."""
        found = SERVER.search(kubeconfig.read_text())
        assert found is not None
        self._host, self._port = found[2], int(found[3])
        self._listener = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        return f"127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        self._listener.close()
        for one in self._carrying:
            one.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def cut(self) -> None:
        """From now on nothing arrives, and nobody is told so."""
        self._open.clear()

    def mend(self) -> None:
        """What was held up arrives."""
        self._open.set()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._host, self._port)
        both = [asyncio.create_task(self._pump(*pair)) for pair in ((reader, back), (there, writer))]
        self._carrying.update(both)
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for one in (*both, writer.transport, back.transport):
            one.cancel() if isinstance(one, asyncio.Task) else one.abort()
        self._carrying.difference_update(both)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(1 << 16):
                await self._open.wait()
                sink.write(data)
                await sink.drain()


@asynccontextmanager
async def ports_through(way: Way, stage: Stage, folder: Path) -> AsyncIterator[Ports]:
    """What a replica is handed that reaches the cluster this way."""
    async with AsyncExitStack() as opened:
        opened.push_async_callback(way.stop)
        begins = await way.start(await stage.cluster.kubeconfig_of("watcher"))
        clients: list[KubeClient] = []
        for service in ("watcher", "applier"):
            direct = await stage.cluster.kubeconfig_of(service)
            kubeconfig = folder / f"{service}-through"
            kubeconfig.write_text(SERVER.sub(rf"\g<1>{begins}", direct.read_text()))
            clients.append(await connect_kube(str(kubeconfig), service=service))
            opened.push_async_callback(clients[-1].close)
        watching, writing = clients
        yield replace(stage.ports, reader=Reflector(watching), writer=writing, reach=ApiReach(writing.answers))


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
    way = Way()
    async with ports_through(way, stage, tmp_path) as through:
        first = Replica(stage, "first", through=through)
        await first.serves()
        second = Replica(stage, "second")
        await second.waits()
        await asyncio.wait_for(play(stage, "before"), 90)
        way.cut()
        await gained(second, WATCHING, WRITING)
        await asyncio.wait_for(play(stage, "cut-off"), 90)
        held = {one.name for one in first.running.leases.all if one.held}
        assert held and not held & {WATCHING, WRITING}, "it goes on deciding: the bus is as near as before"
        assert any("can't be reached from here" in why for why in await Health(first.running).why_not())
        way.mend()
        await second.stop()
        await gained(first, WATCHING, WRITING)
        await asyncio.wait_for(play(stage, "mended"), 90)
        await first.stop()
    await replay_is_right(stage)


@pytest.mark.slow
async def test_who_is_cut_off_and_alone_keeps_its_leases(stage: Stage, tmp_path: Path) -> None:
    await stage.bus.leases.prepare()
    way = Way()
    async with ports_through(way, stage, tmp_path) as through:
        only = Replica(stage, "only", through=through)
        await only.serves()
        way.cut()
        while not only.running.is_cut_off:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.05)
        way.mend()
        await asyncio.wait_for(play(stage, "mended"), 90)
        assert [one.given_back for one in only.running.leases.all] == [0] * len(only.running.leases.all)
        await only.stop()
