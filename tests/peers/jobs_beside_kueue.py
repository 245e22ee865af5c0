"""Jobs on a whole control plane, with Kueue or with kuelog: `python -m tests.peers.jobs_beside_kueue kuelog`.

A fresh API server with Kueue's definitions, controller manager and scheduler; the manager with its webhooks as it is installed; and
`kuelog bench jobs --running`, which creates suspended jobs that all have room and waits until the watch shows each unsuspended. Pods are
made and find no node, as no kubelet is there. Figures count beside those of another run in the same hour on the same machine. `make peers` builds
what this needs.
"""

import argparse
import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import psutil

from ops.production.kubernetes.client import KubeClient, connect, path_of
from ops.sandbox.bench.cluster_objects import SPACE, WORKLOADS
from ops.sandbox.bench.jobs import JOBS, JobFigures
from tests.peers.beside_kueue import MANAGERS, QUIET
from tests.peers.build import CONTROL_PLANE, KUEUE, PEERS
from tests.places import ROOT
from tests.stage.api_server import ApiServer
from tests.stage.definitions import definitions_of
from tests.stage.installation import Installation, put_there
from tests.stage.kueue_manager import KueueManager

LOADS = ((500, 0.0), (200, 10.0), (100, 5.0))
"""How many jobs, and how many of them in a second; 0: all at once."""
_PATIENCE_S = 300


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What one manager did, load by load."""

    manager: str
    runs: list[JobFigures]
    cpu_s: float
    """Of the manager's own processes, its webhooks and its bus among them, over all loads."""


@asynccontextmanager
async def _kueue(server: ApiServer, client: KubeClient, peers: Path, folder: Path) -> AsyncGenerator[None]:
    manager, definitions = KueueManager(peers / KUEUE / "manager", server.kubeconfig, folder), definitions_of("kueue")
    for value in definitions:
        await put_there(client, {**value, "spec": {**value["spec"], "conversion": {"strategy": "None"}}})
    await manager.install(client, definitions)
    await manager.start(client, definitions)
    try:
        yield
    finally:
        await manager.stop()


@asynccontextmanager
async def _kuelog(server: ApiServer, client: KubeClient, folder: Path) -> AsyncGenerator[None]:
    installation = Installation(server.kubeconfig, folder, server=server, defined=definitions_of("kueue"))
    words = ("-m", "ops.cli.main", "up", "--kubeconfig", str(server.kubeconfig), "--data", str(folder / "data"))
    try:
        await installation.install(client)
        with (folder / "kuelog.log").open("wb") as log:
            up = await asyncio.create_subprocess_exec(sys.executable, *words, cwd=ROOT, stdout=log, stderr=log)
        try:
            yield
        finally:
            up.terminate()
            await up.wait()
    finally:
        installation.stop()


async def measure(manager: str, peers: Path, folder: Path) -> Figures:
    """All loads one after the other under one manager."""
    async with AsyncExitStack() as stack:
        server = ApiServer(peers / CONTROL_PLANE, folder / "server")
        stack.callback(server.stop)
        server.start()
        client = await connect(str(server.kubeconfig))
        stack.push_async_callback(client.close)
        others = set(psutil.Process().children(recursive=True))
        serving = _kueue(server, client, peers, folder) if manager == "kueue" else _kuelog(server, client, folder)
        await stack.enter_async_context(serving)
        own = [one for one in psutil.Process().children(recursive=True) if one not in others]
        before, runs = _cpu_s(own), list[JobFigures]()
        for count, rate in LOADS:
            runs.append(await asyncio.to_thread(_bench, server.kubeconfig, count, rate))
            await _gone(client)
        own = [one for one in psutil.Process().children(recursive=True) if one not in others]
        return Figures(manager=manager, runs=runs, cpu_s=round(_cpu_s(own) - before, 1))


def _cpu_s(processes: list[psutil.Process]) -> float:
    taken = [one.cpu_times() for one in processes]
    return sum(one.user + one.system for one in taken)


def _bench(kubeconfig: Path, count: int, rate: float) -> JobFigures:
    words = f"bench jobs --running --kubeconfig {kubeconfig} --count {count} --rate {rate} -o json"
    told = subprocess.run(
        [sys.executable, "-m", "ops.cli.main", *words.split()], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    return msgspec.json.decode(told.stdout, type=JobFigures)


async def _gone(client: KubeClient) -> None:
    """The next load's jobs bear the names of this one's."""
    async with asyncio.timeout(_PATIENCE_S):
        for resource in (JOBS, WORKLOADS):
            while (await client.request("GET", path_of(resource, SPACE) + "?limit=1"))["items"]:  # noqa: ASYNC110 - asked, not watched
                await asyncio.sleep(0.5)


def main() -> None:
    """Run all loads with one manager, and print what was measured as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers.jobs_beside_kueue", description=__doc__)
    parser.add_argument("manager", choices=MANAGERS)
    parser.add_argument("--peers", type=Path, default=PEERS, help="where `make peers` has put its programs")
    given = parser.parse_args()
    if (load := psutil.getloadavg()[0]) > QUIET:
        print(
            f"jobs_beside_kueue: something else runs on this machine (load {load:.1f}): times say little",
            file=sys.stderr,
        )
    with TemporaryDirectory(prefix="jobs-beside-kueue-") as folder:
        figures = asyncio.run(measure(given.manager, given.peers.resolve(), Path(folder)))
    print(msgspec.json.format(msgspec.json.encode(figures), indent=2).decode())


if __name__ == "__main__":
    main()
