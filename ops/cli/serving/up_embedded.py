"""`kuelog up` with a cluster of its own."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from events.settings import SettingsObserved
from ops.cli.failures import known_failures
from ops.cli.serving.console_beside import console_beside
from ops.cli.serving.serve import metrics_served, settings_of, until_stopped
from ops.production.archive.archivist import RollLimits
from ops.production.listeners.endpoint import Endpoint
from ops.production.log.sites import Joining
from ops.production.process.event_loop import run
from ops.production.process.memory_tuning import tune_memory
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.sandbox.scenario.node_pools import NodePool, begin_with_nodes, nodes_and_cards, read_pools
from ops.sandbox.scenario.platform import platform


def run_up_embedded(
    data: Path,
    *,
    scale: float,
    port: int,
    metrics: Endpoint,
    pages: int,
    config: Path | None,
    rolled: RollLimits,
    nodes: Path | None,
    no_nodes: bool,
    partitions: int = 0,
    joining: Joining | None = None,
    console: Console,
) -> int:
    """A bus, a cluster and all services, until Ctrl-C or SIGTERM."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        settings = settings_of(config, console)
        pools = () if no_nodes else read_pools(nodes) if nodes is not None else None
        tune_memory()
        serving = _up_embedded(data, scale, port, metrics, pages, settings, rolled, pools, partitions, joining, console)
        run(until_stopped(serving))
        console.print("stopped")
        outcome.code = 0
    return outcome.code


async def _up_embedded(
    data: Path,
    scale: float,
    port: int,
    metrics: Endpoint,
    pages: int,
    settings: SettingsObserved,
    rolled: RollLimits,
    pools: Sequence[NodePool] | None,
    partitions: int,
    joining: Joining | None,
    console: Console,
) -> None:
    async with (
        platform(
            data.resolve(),
            scale=scale,
            settings=settings,
            fresh=False,
            port=port,
            rolled=rolled,
            partitions=partitions,
            joining=joining,
        ) as on,
        metrics_served(on.running, metrics),
        console_beside(on.server.url, pages, console, scale=scale),
    ):
        begin_with_nodes(on.cluster, pools)
        console.print(nodes_and_cards(on.cluster), highlight=False)
        console.print(f"Kubernetes API {on.cluster.url}, bus {on.server.url}; everything stays in {data}")
        console.print(
            f"try: kubectl --kubeconfig {data}/kubeconfig get clusterqueues    (Ctrl-C stops)", highlight=False
        )
        loading = asyncio.create_task(on.cluster.load_built_in())
        try:
            await asyncio.wait({on.task})
        finally:
            loading.cancel()
        on.task.result()
