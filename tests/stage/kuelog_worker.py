"""A worker cluster under kuelog: its services, its bus and its log are its own."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from events.job_kind import JobKind
from events.settings import SettingsObserved
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Running
from services.runtime.own_task import stopped
from tests.stage.cluster import WORKLOADS, Cluster
from tests.stage.stage import Stage

JOBS = "jobs.batch"


class KuelogWorker:
    """A cluster with one node and the same queue as any stage, whose workloads kuelog decides about."""

    def __init__(
        self,
        name: str,
        folder: Path,
        clock: ScaledClock,
        *,
        prepare: Callable[[Stage], Awaitable[None]] | None = None,
        kinds: tuple[JobKind, ...] = (),
        gates: dict[str, bool] | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        """On an embedded cluster, where no other one is given."""
        self.name, self._prepare = name, prepare
        self._settings = SettingsObserved(devices=False, job_kinds=kinds, gates=gates or {})
        self.stage = Stage(folder / name, cluster, clock)
        self.running: Running
        self._opened = AsyncExitStack()

    async def start(self) -> None:
        await self._opened.enter_async_context(self.stage)
        if self._prepare is not None:
            await self._prepare(self.stage)
        self.running = self.stage.serve(settings=self._settings)

    async def stop(self) -> None:
        for task in self.stage.tasks:
            await stopped(task)
        await self._opened.aclose()

    @property
    def cluster(self) -> Cluster:
        return self.stage.cluster

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.kubeconfig

    @property
    def copies(self) -> list[dict[str, Any]]:
        return self.stage.of(WORKLOADS)

    @property
    def jobs(self) -> list[dict[str, Any]]:
        return self.stage.of(JOBS)
