"""The worker clusters of a scenario: each a whole platform with a log of its own, reached by the manager over a line that can be cut."""

import base64
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from events.settings import SettingsObserved
from ops.production.kubernetes.remote import HOME
from ops.sandbox.embedded_cluster.embedded import kubeconfig_text
from ops.sandbox.scenario.network_line import NetworkLine
from ops.sandbox.scenario.node_pools import add_nodes
from ops.sandbox.scenario.platform import ScenarioPlatform, platform
from ops.sandbox.scenario.script import ScenarioWorker

CLUSTERS = "clusters"
"""Where their logs are, in the folder of the run."""


class WorkerPlatform(msgspec.Struct, kw_only=True):
    """A worker cluster that runs, and the line to it."""

    on: ScenarioPlatform
    line: NetworkLine


@asynccontextmanager
async def worker_clusters(
    manager: ScenarioPlatform, workers: Sequence[ScenarioWorker], data: Path, settings: SettingsObserved | None
) -> AsyncGenerator[Mapping[str, WorkerPlatform]]:
    """Start them in the folder of a run, on the manager's clock; the manager finds the kubeconfig of each in a Secret of its name."""
    found: dict[str, WorkerPlatform] = {}
    async with AsyncExitStack() as opened:
        if workers:
            manager.cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
        for one in workers:
            on = await opened.enter_async_context(
                platform(data / CLUSTERS / one.name, settings=settings, clock=manager.clock)
            )
            add_nodes(on.cluster, one.nodes)
            line = NetworkLine(urlsplit(on.cluster.url).port or 0)
            await line.restore()
            opened.push_async_callback(line.cut)
            kubeconfig = kubeconfig_text(f"http://127.0.0.1:{line.port}")
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": one.name, "namespace": HOME}}
            manager.cluster.add({**secret, "data": {"kubeconfig": base64.b64encode(kubeconfig.encode()).decode()}})
            found[one.name] = WorkerPlatform(on=on, line=line)
        yield found
