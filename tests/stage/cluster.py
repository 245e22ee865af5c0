"""The cluster that a test runs against: the embedded one, or a real API server; tests that use only this run on both."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from events.api.labels import RUN_SECONDS
from events.json_object import JsonObject
from ops.production.crds.definitions import manifests as definitions
from ops.production.kubernetes.client import KubeClient, connect, failure_of
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.failures import ApiFailure
from ops.sandbox.embedded_cluster.faults import RequestFault
from ops.sandbox.embedded_cluster.versions import renamed
from ops.sandbox.scenario.platform import convert, suspend
from services.runtime.cluster_port import Resource

PODS = Resource(plural="pods", kind="Pod")
WORKLOADS = "workloads.kueue.x-k8s.io"
Name = tuple[str, str]
"""Namespace (empty for cluster-wide kinds) and name."""
PATIENCE_S = 120.0
"""How long nothing may change while a test waits for something."""
UNTIL_ENDED_S = 1_000_000
"""How long pods run that a test ends: on a busy machine shorter ones end before anybody has seen them run."""


class Cluster(Protocol):
    """A cluster with kuelog's definitions and its webhooks, or what stands in for them, and nothing of another test."""

    kubeconfig: Path
    """Of whoever may do everything: the tests themselves."""
    real: bool
    managed: bool
    """Whether the controllers of built-in kinds run, whom tests need not play and must not contradict."""

    async def start(self) -> None:
        """Be there, and empty."""
        ...

    async def stop(self) -> None:
        """Forget everything that the test has made."""
        ...

    async def connect(self, service: str) -> KubeClient:
        """A client with the rights of one of kuelog's services; without a name, of whoever may do everything."""
        ...

    async def kubeconfig_of(self, service: str) -> Path:
        """A kubeconfig with the rights of one of kuelog's services."""
        ...

    async def add(self, value: JsonObject) -> None:
        """Create an object with the status that it brings; there already is as good."""
        ...

    def get(self, key: str, name: Name) -> JsonObject | None:
        """An object as it was when something was last awaited. The key is plural and group: `jobs.batch`."""
        ...

    def of(self, key: str) -> Mapping[Name, JsonObject]:
        """The objects of one kind, as they were then."""
        ...

    def changes(self, key: str) -> int:
        """How many changes of objects of one kind there were so far."""
        ...

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for changes until something holds."""
        ...

    async def restart(self, *, forget: bool = False) -> None:
        """Kill the API server and start it again; it may forget everything but how things stand."""
        ...

    def overloaded(self, service: str) -> AbstractAsyncContextManager[None]:
        """Meanwhile the API server puts off what that service writes of jobs, if it is more than one write at a time."""
        ...


async def end_pods(cluster: Cluster, client: KubeClient, namespace: str, job: str) -> None:
    """Have the pods of a Job end well, where kubelets are played."""
    for (space, name), pod in dict(cluster.of("pods")).items():
        owners = pod["metadata"].get("ownerReferences", ())
        if space == namespace and any(one["name"] == job for one in owners):
            await end_pod(client, namespace, name)


async def end_pod(client: KubeClient, namespace: str, name: str) -> None:
    """Have a pod that runs end, as its annotations say how."""
    await client.merge(PODS, namespace, name, {"metadata": {"annotations": {RUN_SECONDS: "0"}}})


class Embedded:
    """The embedded cluster."""

    real = False
    managed = False

    def __init__(
        self,
        folder: Path,
        clock: ScaledClock,
        *,
        webhooks: bool = True,
        controllers: bool = True,
        defined: Sequence[JsonObject] = (),
    ) -> None:
        self.kubeconfig = folder / "kubeconfig"
        self._defined = defined or definitions()
        self.embedded = EmbeddedCluster(
            clock=clock,
            kubeconfig=self.kubeconfig,
            mutators=(suspend,) if webhooks else (),
            converter=convert if webhooks else renamed,
            controllers=controllers,
        )

    async def start(self) -> None:
        for one in self._defined:
            self.embedded.add(one)
        await self.embedded.start()

    async def stop(self) -> None:
        await self.embedded.stop()

    async def connect(self, service: str) -> KubeClient:
        return await connect(str(self.kubeconfig), service=service)

    async def kubeconfig_of(self, service: str) -> Path:
        del service
        return self.kubeconfig

    async def add(self, value: JsonObject) -> None:
        try:
            self.embedded.add(value)
            self._show(value)
        except ApiFailure as refused:
            raise failure_of(refused.code, msgspec.json.encode(refused.body)) from refused

    def _show(self, value: JsonObject) -> None:
        """Most kinds are created without a status."""
        group, _, version = value["apiVersion"].rpartition("/")
        places = self.embedded.resources.kinds()
        kind = next(one for one in places if (one.group, one.version, one.kind) == (group, version, value["kind"]))
        meta = value["metadata"]
        name = (meta.get("namespace", ""), meta.get("name", ""))
        stored = self.embedded.store.get(kind.key, name)
        if "status" in value and stored is not None and "status" not in stored:
            shown = {"metadata": {}, "status": value["status"]}
            self.embedded.resources.update(kind, name, shown, subresource="status")

    def get(self, key: str, name: Name) -> JsonObject | None:
        return self.embedded.store.get(key, name)

    def of(self, key: str) -> Mapping[Name, JsonObject]:
        return self.embedded.store.of(key)

    def changes(self, key: str) -> int:
        return sum(change.key == key for change in self.embedded.store.history)

    async def until(self, holds: Callable[[], bool]) -> None:
        queue = self.embedded.store.watch()
        try:
            while not holds():
                try:
                    await asyncio.wait_for(queue.get(), PATIENCE_S)
                except TimeoutError:
                    raise AssertionError(self._what_stands_still()) from None
        finally:
            self.embedded.store.unwatch(queue)

    def _what_stands_still(self) -> str:
        pods = {name: one.get("status", {}).get("phase") for name, one in self.of("pods").items()}
        told = {name: one.get("status", {}).get("conditions") for name, one in self.of(WORKLOADS).items()}
        return f"nothing changed for {PATIENCE_S:g} s; pods: {pods}; workloads: {told}"

    async def restart(self, *, forget: bool = False) -> None:
        await self.embedded.stop()
        if forget:
            self.embedded.store.compact()
        await self.embedded.start()

    @asynccontextmanager
    async def overloaded(self, service: str) -> AsyncGenerator[None]:
        del service
        fault = RequestFault(
            method="PATCH", path="/jobs/", code=429, reason="TooManyRequests", times=10**6, retry_after=1
        )
        self.embedded.faults.order(fault)
        yield
        fault.times = 0
