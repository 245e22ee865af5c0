"""A bus, a cluster under test, and the ports to both: what stories are played on."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

import yaml

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.archive.history import History, read_everything
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.client import connect as connect_kube
from ops.production.kubernetes.reflector import Reflector
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.bus import connect as connect_bus
from ops.production.log.server.server import NatsServer
from ops.production.process.clock import ScaledClock
from ops.production.served import SERVICES
from ops.production.wiring import Ports, Running
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from services.runtime.cluster_port import Resource
from services.runtime.own_task import stopped
from tests.stage.cluster import WORKLOADS, Cluster, Embedded, end_pods
from tests.stage.processes import Order, ServiceProcess

Found = TypeVar("Found")

SCALE = 20
CLUSTER_QUEUES = Resource(
    group="kueue.x-k8s.io", version="v1beta2", plural="clusterqueues", kind="ClusterQueue", namespaced=False
)
JOBS = Resource(group="batch", plural="jobs", kind="Job")
PODS = Resource(plural="pods", kind="Pod")
NODES = Resource(plural="nodes", kind="Node", namespaced=False)

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: v100}
spec:
  nodeLabels: {zone: a}
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu, nvidia.com/gpumem, nvidia.com/gpucores]
    flavors:
    - name: v100
      resources:
      - {name: nvidia.com/gpu, nominalQuota: 10}
      - {name: nvidia.com/gpumem, nominalQuota: 32768}
      - {name: nvidia.com/gpucores, nominalQuota: 100}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: default}
spec: {clusterQueue: team}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 100
"""


def job(name: str, seconds: int, *, urgent: bool = False) -> JsonObject:
    labels = {"kueue.x-k8s.io/queue-name": "team"} | ({"kueue.x-k8s.io/priority-class": "urgent"} if urgent else {})
    limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 20000, "nvidia.com/gpucores": 60}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "template": {
                "metadata": {"annotations": {"kuelog.io/run-seconds": str(seconds)}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}],
                },
            }
        },
    }


class Stage:
    """Services on it act with the rights that they are installed with; `client` may do everything."""

    def __init__(self, folder: Path, cluster: Cluster | None = None, clock: ScaledClock | None = None) -> None:
        self.folder, self.clock = folder, clock or ScaledClock(SCALE)
        self.server = NatsServer(folder / "nats")
        self.cluster = cluster or Embedded(folder, self.clock)
        self.bus: JetStreamBus
        self.client: KubeClient
        self.ports: Ports
        self.tasks: list[asyncio.Task[None]] = []
        self.story: tuple[Stage, ...] = (self,)
        """Those of all clusters in the same story."""
        self.processes: list[ServiceProcess] = []
        self._opened: AsyncExitStack

    async def __aenter__(self) -> "Stage":
        async with AsyncExitStack() as opened:
            opened.push_async_callback(self.cluster.stop)
            await self.cluster.start()
            opened.push_async_callback(self.server.stop)
            await self.server.start()
            self.bus = await connect_bus(self.server.url)
            opened.push_async_callback(self.bus.close)
            self.client = await connect_kube(str(self.kubeconfig), service="tests")
            opened.push_async_callback(self.client.close)
            watcher, applier = [await self.cluster.connect(one) for one in ("watcher", "applier")]
            opened.push_async_callback(watcher.close)
            opened.push_async_callback(applier.close)
            self.ports = Ports(bus=self.bus, reader=Reflector(watcher), writer=applier, clock=self.clock)
            await self.add(gpu_node("n1", product="V100", zone="a", cards=1, memory_mib=32768, model="NVIDIA-V100"))
            for document in yaml.safe_load_all(QUEUES):
                await self.add(document)
            await self.until(lambda: bool(self.get("clusterqueues.kueue.x-k8s.io", "", "team")))
            self._opened = opened.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for process in self.processes:
            await process.kill()
        await self._opened.aclose()

    @property
    def embedded(self) -> EmbeddedCluster:
        """The embedded cluster, of whoever orders its faults or serves beside it."""
        assert isinstance(self.cluster, Embedded)
        return self.cluster.embedded

    @property
    def kubeconfig(self) -> Path:
        """Of whoever may do everything."""
        return self.cluster.kubeconfig

    def serve(self, *services: str, replica: str = "all", settings: SettingsObserved | None = None) -> Running:
        """Run services, all of them if none is named, in this process."""
        running = Running(self.ports, services or SERVICES, replica=replica, settings=settings)
        self.tasks.append(asyncio.create_task(running.run()))
        return running

    async def start_process(self, service: str, crash: str = "") -> ServiceProcess:
        """Run a service as a process of its own, which kills itself at an await point if one is named."""
        order = Order(
            service=service,
            nats=self.server.url,
            kubeconfig=str(await self.cluster.kubeconfig_of(service)),
            scale=SCALE,
            crash=crash,
        )
        self.processes.append(ServiceProcess(order, self.folder / f"{service}.log"))
        return self.processes[-1]

    async def add(self, value: JsonObject) -> None:
        """Create an object."""
        await self.cluster.add(value)

    def get(self, key: str, namespace: str, name: str) -> JsonObject:
        """An object as it was when something was last awaited; nothing when it was not there."""
        return self.cluster.get(key, (namespace, name)) or {}

    def of(self, key: str) -> list[JsonObject]:
        """All objects of a kind, as they were then."""
        return list(self.cluster.of(key).values())

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for changes of the cluster until something holds. Raises what a service on any stage of the story has died of."""
        await self._or_what_has_died(self.cluster.until(holds))

    async def stored(self, look: Callable[[History], Found | None]) -> Found:
        """What is found in all that is stored, once there is something: the log may say a moment later what the cluster shows."""
        return await self._or_what_has_died(self._stored(look))

    async def _stored(self, look: Callable[[History], Found | None]) -> Found:
        while (found := look(await read_everything(self.bus))) is None:  # noqa: ASYNC110 - it comes over the log
            await asyncio.sleep(0.05)
        return found

    async def _or_what_has_died(self, awaited: Coroutine[None, None, Found]) -> Found:
        waiting = asyncio.create_task(awaited)
        try:
            while not waiting.done():
                serving = [task for stage in self.story for task in stage.tasks if not _has_ended_well(task)]
                await asyncio.wait([waiting, *serving], return_when=asyncio.FIRST_COMPLETED)
                if not waiting.done():
                    for task in serving:
                        if task.done():
                            task.result()
            return waiting.result()
        except asyncio.CancelledError as ended:
            ended.add_note("\n".join(stage.stands() for stage in self.story))
            raise
        finally:
            await stopped(waiting)

    def stands(self) -> str:
        """How pods and workloads stand here, of a story that has come to no end."""
        pods = {one["metadata"]["name"]: one.get("status", {}).get("phase") for one in self.of("pods")}
        told = {one["metadata"]["name"]: one.get("status", {}).get("conditions") for one in self.of(WORKLOADS)}
        return f"{self.folder.name}: pods: {pods}; workloads: {told}"

    async def end_pods(self, job: str) -> None:
        """Have the pods of a Job end well."""
        await end_pods(self.cluster, self.client, "default", job)

    def running(self, name: str) -> bool:
        """Whether a Job's pods are ready."""
        return self.get("jobs.batch", "default", name).get("status", {}).get("ready", 0) > 0

    def complete(self, *names: str) -> bool:
        """Whether Jobs have ended well."""
        return all(
            any(
                one["type"] == "Complete" and one["status"] == "True"
                for one in self.get("jobs.batch", "default", name).get("status", {}).get("conditions", ())
            )
            for name in names
        )


def _has_ended_well(task: asyncio.Task[None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
