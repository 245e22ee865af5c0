"""A worker that is cut off goes on alone: three real API servers, the manager and one worker under kuelog, the other under Kueue's own manager.

Rule: docs/rules/multikueue.md#at-most-once
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from events.json_object import JsonObject
from events.json_path import look
from ops.production.process.clock import ScaledClock
from ops.sandbox.scenario.network_line import NetworkLine
from tests.ops.cli.test_command_line import kuelog
from tests.stage.api_server import ApiServer
from tests.stage.installation import Installation
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.kueue_worker import KueueWorker
from tests.stage.real import Real
from tests.stage.stage import PODS, Stage
from tests.stories.test_checks import conditions
from tests.stories.test_multikueue import active, delegated, managing
from tests.stories.test_multikueue_under_kueue import assets, leaves_nothing, place
from tests.stories.test_pods import Pods, pod


class FarKueueWorker(KueueWorker):
    """A worker whose API server the manager reaches over a line that can be cut."""

    line: NetworkLine

    async def start(self) -> None:
        await super().start()
        self.line = NetworkLine(self.server.port)
        await self.line.restore()
        text = self.kubeconfig.read_text().replace(f"127.0.0.1:{self.server.port}", f"127.0.0.1:{self.line.port}")
        self.kubeconfig.write_text(text)

    async def stop(self) -> None:
        await self.line.cut()
        await super().stop()


@asynccontextmanager
async def real_worker(name: str, folder: Path, clock: ScaledClock) -> AsyncGenerator[KuelogWorker]:
    """A worker under kuelog on an API server of its own."""
    server = ApiServer(assets(), folder / name / "server")
    installation = Installation(server.kubeconfig, folder / name, server=server)
    try:
        await asyncio.to_thread(server.start)
        yield KuelogWorker(name, folder, clock, cluster=Real(installation, clock))
    finally:
        installation.stop()
        server.stop()


async def test_what_runs_in_a_cluster_that_is_cut_off_goes_on_there_and_once_the_line_is_back_in_one_cluster_only(
    real: Real, tmp_path: Path, clock: ScaledClock
) -> None:
    cut_off = FarKueueWorker("w1", assets(), tmp_path, clock)
    async with (
        asyncio.timeout(500),
        real_worker("w2", tmp_path, clock) as other,
        Stage(tmp_path, real, clock) as stage,
        managing(stage, [cut_off, other]),
    ):
        await other.stage.client.create(PODS, "default", pod("local", urgent=True, **{"nvidia.com/gpucores": "90"}))
        await other.stage.until(lambda: Pods(other.stage).phase("local") == "Running")
        await stage.add(delegated("patient", 3_600_000))
        await stage.until(lambda: place(stage) == "w1" and stage.running("patient"))

        await cut_off.line.cut()
        await stage.until(lambda: active(stage, "w1")[:2] == ("False", "ClientConnectionFailed"))
        await other.stage.client.delete(PODS, "default", "local")
        await stage.until(lambda: place(stage) == "w2" and stage.running("patient"))
        assert cut_off.running("patient"), "nobody there knows that it was given up"

        await cut_off.line.restore()
        await stage.until(lambda: active(stage, "w1") == ("True", "Active", "Connected"))
        await cut_off.cluster.until(leaves_nothing(cut_off))
        assert place(stage) == "w2" and stage.running("patient"), "the one that was chosen later stays"
        assert len(other.jobs) == 1

        await other.stage.end_pods("patient")
        await stage.until(lambda: stage.complete("patient"))
        await stage.until(lambda: conditions(stage).get("Finished", ("", ""))[0] == "True")
        await other.stage.until(lambda: not other.copies and not other.jobs)
        bill = await asyncio.to_thread(billed, stage, other)
        # kuelog accounts for no cards here, but for the quota that it gave, here and there.
        assert bill.keys() == {"manager", "w2"} and all(look(one, "quota.held") for one in bill.values())


def billed(stage: Stage, worker: KuelogWorker) -> dict[str, JsonObject]:
    """One bill over the logs of the manager and of the worker that has one, by cluster."""
    there = f"--worker={worker.name}={worker.stage.server.url}"
    told = kuelog("bill", "--nats", stage.server.url, there, "-o", "json")
    assert told.stdout, told.stderr
    return json.loads(told.stdout)["clusters"]
