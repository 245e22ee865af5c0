"""The embedded cluster as a whole: API, controllers and a kubeconfig, started and stopped together."""

import asyncio
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from ops.production.listeners.listening import PortTaken, close_listener, open_listener
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.api import discovery
from ops.sandbox.embedded_cluster.api.http_api import AggregatedApi, Api
from ops.sandbox.embedded_cluster.controllers.controller import Controller
from ops.sandbox.embedded_cluster.controllers.cron_job import CronJobs
from ops.sandbox.embedded_cluster.controllers.deployment import Deployments
from ops.sandbox.embedded_cluster.controllers.garbage import Garbage
from ops.sandbox.embedded_cluster.controllers.job import JobController
from ops.sandbox.embedded_cluster.controllers.replica_set import ReplicaSets
from ops.sandbox.embedded_cluster.controllers.resource_claims import ResourceClaims
from ops.sandbox.embedded_cluster.controllers.stateful_set import StatefulSets
from ops.sandbox.embedded_cluster.failures import ApiFailure
from ops.sandbox.embedded_cluster.faults import Faults
from ops.sandbox.embedded_cluster.nodes.kubelet import Kubelet
from ops.sandbox.embedded_cluster.nodes.pod_garbage import PodGarbage
from ops.sandbox.embedded_cluster.nodes.scheduler import Scheduler
from ops.sandbox.embedded_cluster.nodes.scheduling_events import SchedulingEvents
from ops.sandbox.embedded_cluster.resources import Mutator, Resources, Validator
from ops.sandbox.embedded_cluster.store import Store
from ops.sandbox.embedded_cluster.versions import Converter, renamed

_BATCH: tuple[type[Controller], ...] = (
    Garbage,
    PodGarbage,
    ResourceClaims,
    Scheduler,
    Kubelet,
    JobController,
)
_SERVING: tuple[type[Controller], ...] = (Deployments, ReplicaSets, StatefulSets, CronJobs, SchedulingEvents)


class EmbeddedCluster:
    """A Kubernetes API on loopback with what makes jobs run behind it, and where `serving` is asked for all else that people run."""

    def __init__(
        self,
        *,
        port: int = 0,
        data_dir: Path | None = None,
        clock: ScaledClock | None = None,
        mutators: Sequence[Mutator] = (),
        converter: Converter = renamed,
        validators: Sequence[Validator] = (),
        controllers: bool = True,
        serving: bool = False,
        kubeconfig: Path | None = None,
        identity: str | None = None,
    ) -> None:
        """No other cluster has its UIDs, as in Kubernetes; with an identity they are the same when a history is played again."""
        self.clock = clock or ScaledClock()
        whose = str(uuid.uuid4()) if identity is None else identity
        self.store = Store(data_dir / "api.jsonl" if data_dir is not None else None)
        self.resources = Resources(self.store, self.clock.now, mutators, converter, validators, whose)
        self.faults = Faults()
        self.aggregated: dict[str, AggregatedApi] = {}
        """Servers that answer for groups of their own, by group."""
        self.url = ""
        self.kubeconfig = kubeconfig
        self._port = port
        self._controllers: list[Controller] = (
            [kind(self.resources, self.clock) for kind in (*_BATCH, *(_SERVING if serving else ()))]
            if controllers
            else []
        )
        self._serving: tuple[web.AppRunner, asyncio.Server] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Serve, and write the kubeconfig where one was asked for."""
        api = Api(self.resources, self.clock.now, self.faults, self.aggregated)
        runner = web.AppRunner(api.app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
        await runner.setup()
        try:
            listener = await open_listener(runner, self._port, host="127.0.0.1")
        except OSError as problem:
            await runner.cleanup()
            raise PortTaken("the Kubernetes API", self._port, problem.strerror or str(problem)) from problem
        self._serving = runner, listener
        # Whoever has connected comes back to the same port after a restart.
        self._port = int(listener.sockets[0].getsockname()[1])
        self.url = f"http://127.0.0.1:{self._port}"
        if self.kubeconfig is not None:
            self.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
            self.kubeconfig.write_text(kubeconfig_text(self.url))
        self.start_controllers()

    def start_controllers(self) -> None:
        """Let what makes jobs run begin; all there is for those who speak to the objects in this process."""
        self._tasks = [asyncio.create_task(self._keep(controller)) for controller in self._controllers]

    async def load_built_in(self) -> None:
        """Have at hand what kubectl asks for when it first applies anything, before it does; others go on meanwhile."""
        await asyncio.to_thread(discovery.load_built_in, self.resources.kinds())

    async def stop(self) -> None:
        """Stop serving; open watches end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.store.break_watches()
        if self._serving is not None:
            await close_listener(*self._serving)
        self.store.close()

    def add(self, value: dict[str, Any]) -> None:
        """Create an object from within, for instance the nodes of a scenario; there already is as good."""
        group, _, version = value["apiVersion"].rpartition("/")
        kind = next(
            one
            for one in self.resources.kinds()
            if (one.group, one.version, one.kind) == (group, version, value["kind"])
        )
        try:
            self.resources.create(kind, value["metadata"].get("namespace", ""), value)
        except ApiFailure as failure:
            if failure.body["reason"] != "AlreadyExists":
                raise

    async def _keep(self, controller: Controller) -> None:
        """A conflict of two controllers is looked at again, not the end of one."""
        while True:
            try:
                await controller.run()
            except ApiFailure:
                await asyncio.sleep(0.01)


def kubeconfig_text(url: str) -> str:
    """A kubeconfig for this API: plain HTTP on loopback, nobody to prove oneself to."""
    return (
        "apiVersion: v1\nkind: Config\ncurrent-context: kuelog\n"
        f"clusters:\n- name: kuelog\n  cluster:\n    server: {url}\n"
        "contexts:\n- name: kuelog\n  context:\n    cluster: kuelog\n    user: kuelog\n"
        "users:\n- name: kuelog\n  user: {}\n"
    )
