"""Each service, as a process of its own, killed with SIGKILL at each of its await points: the end is the same.

The other services run on in this process; what the dead one had begun, its successor finds on the log.
"""

import asyncio
import sys
from pathlib import Path

import pytest

from ops.cluster.clock import ScaledClock
from ops.cluster.embedded import EmbeddedCluster
from ops.cluster.nodes import gpu_node
from ops.crds.definitions import manifests as crds
from ops.kube.client import KubeClient
from ops.kube.client import connect as connect_kube
from ops.kube.reflector import Reflector
from ops.log.history import read_everything
from ops.log.jetstream import JetStreamBus
from ops.log.jetstream import connect as connect_bus
from ops.log.server import NatsServer
from ops.manifests import read_manifests
from ops.replay import fold_lane
from ops.scenario.platform import suspend
from ops.wiring import DEVICE_LANE, LANE, SERVICES, Ports, Running
from tests.places import ROOT

SCALE = 20
LANES = ("queue-manager", "admitter", "preemptor", "accountant")
POINTS = [
    *(
        (service, f"append:{when}:{2 if service != 'preemptor' else 1}")
        for service in LANES
        for when in ("before", "after")
    ),
    *(("watcher", f"publish:{when}:{number}") for when in ("before", "after") for number in (2, 12)),
    *(("applier", f"{call}:{when}:2") for call in ("get", "merge", "publish") for when in ("before", "after")),
    *(("applier", f"create:{when}:1") for when in ("before", "after")),
    *(("applier", f"queue-merge:{when}:2") for when in ("before", "after")),
]

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


def job(name: str, seconds: int, *, urgent: bool = False) -> dict[str, object]:
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
    """A bus, a cluster, and the ports to both."""

    def __init__(self, folder: Path) -> None:
        self.clock = ScaledClock(SCALE)
        self.server = NatsServer(folder / "nats")
        self.kubeconfig = folder / "kubeconfig"
        self.cluster = EmbeddedCluster(clock=self.clock, kubeconfig=self.kubeconfig, mutators=(suspend,))
        self.bus: JetStreamBus
        self.client: KubeClient
        self.tasks: list[asyncio.Task[None]] = []
        self.changes: asyncio.Queue[object] = asyncio.Queue()

    async def __aenter__(self) -> "Stage":
        for crd in crds():
            self.cluster.add(crd)
        await self.cluster.start()
        await self.server.start()
        self.bus = await connect_bus(self.server.url)
        self.client = await connect_kube(str(self.kubeconfig))
        self.cluster.add(gpu_node("n1", product="V100", zone="a", cards=1, memory_mib=32768, model="NVIDIA-V100"))
        path = self.kubeconfig.with_name("queues.yaml")
        path.write_text(QUEUES)
        for document in read_manifests([path]):
            self.cluster.add(document.value)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.client.close()
        await self.bus.close()
        await self.server.stop()
        await self.cluster.stop()

    def serve(self, *services: str, replica: str) -> None:
        ports = Ports(bus=self.bus, reader=Reflector(self.client), writer=self.client, clock=self.clock)
        self.tasks.append(asyncio.create_task(Running(ports, services, replica=replica).run()))

    async def start_mortal(self, service: str, crash: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "ops.cli.main", "run", service, "--nats", self.server.url),
            *("--kubeconfig", str(self.kubeconfig), "--scale", str(SCALE), "--crash", crash),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def until(self, kind: str, holds: object) -> None:
        """Wait for changes of the cluster until something holds."""
        queue = self.cluster.store.watch()
        try:
            while not holds():  # type: ignore[operator]
                for task in self.tasks:
                    if task.done():
                        task.result()
                await asyncio.wait_for(queue.get(), 30)
        finally:
            self.cluster.store.unwatch(queue)

    def running(self, name: str) -> bool:
        found = self.cluster.store.get("jobs.batch", ("default", name))
        return bool(found) and found.get("status", {}).get("ready", 0) > 0

    def complete(self, *names: str) -> bool:
        return all(
            any(
                one["type"] == "Complete" and one["status"] == "True"
                for one in (self.cluster.store.get("jobs.batch", ("default", name)) or {})
                .get("status", {})
                .get("conditions", ())
            )
            for name in names
        )


async def play(stage: Stage, seconds: int = 30) -> None:
    """A job runs, an urgent one takes its place, and both end."""
    stage.cluster.add(job("patient", seconds))
    await stage.until("jobs", lambda: stage.running("patient"))
    stage.cluster.add(job("urgent", 5, urgent=True))
    await stage.until("jobs", lambda: stage.complete("patient", "urgent"))


async def final_state(stage: Stage) -> dict[str, object]:
    """What the log says when all is over, without what depends on the moment of a crash."""
    while True:
        entries = await read_everything(stage.bus)
        fold, replayed = fold_lane(LANE, entries, verify=True)
        devices, _ = fold_lane(DEVICE_LANE, entries)
        if not devices.world.cards.holdings and all(w.finish_shown for w in fold.world.workloads.values()):
            break
        await asyncio.sleep(0.05)
    assert not replayed.differences
    return {
        "workloads": {
            w.owner.name: (w.finished, w.evicted, w.preempted_count) for w in fold.world.workloads.values() if w.owner
        },
        "usage": fold.world.quota.usage_by_name(fold.world.quota.queues["team"]),
        "cards": {uuid: use for uuid, use in devices.world.cards.used.items() if use.slots},
        "parked": fold.world.lines.of("team").empty,
    }


EXPECTED = {
    "workloads": {"patient": (True, False, 1), "urgent": (True, False, 0)},
    "usage": {},
    "cards": {},
    "parked": True,
}


@pytest.mark.slow
@pytest.mark.parametrize(("service", "crash"), POINTS, ids=lambda value: value.replace(":", " "))
async def test_a_service_killed_at_an_await_point_changes_nothing_about_the_end(
    service: str, crash: str, tmp_path: Path
) -> None:
    async with Stage(tmp_path) as stage:
        stage.serve(*(one for one in SERVICES if one != service), replica="others")
        mortal = await stage.start_mortal(service, crash)
        if mortal.stdout is not None:
            await asyncio.wait_for(mortal.stdout.readline(), 60)  # It says when it begins to serve.

        async def succeed() -> None:
            told = (await mortal.communicate())[1]
            assert mortal.returncode == -9, f"it did not reach {crash}: {told.decode()[-500:]}"
            stage.serve(service, replica="successor")

        succession = asyncio.create_task(succeed())
        await asyncio.wait_for(play(stage), 90)
        await succession
        assert await final_state(stage) == EXPECTED


async def test_without_any_death_the_end_is_the_expected_one(tmp_path: Path) -> None:
    async with Stage(tmp_path) as stage:
        stage.serve(*SERVICES, replica="all")
        await asyncio.wait_for(play(stage), 60)
        assert await final_state(stage) == EXPECTED


async def test_the_bus_restarted_in_the_middle_changes_nothing_about_the_end(tmp_path: Path) -> None:
    async with Stage(tmp_path) as stage:
        stage.serve(*SERVICES, replica="all")
        # Long enough that the patient job still runs when the bus is back and the urgent one comes.
        playing = asyncio.create_task(play(stage, seconds=300))
        await stage.until("jobs", lambda: stage.running("patient"))
        await stage.server.kill()
        await stage.server.start()
        await asyncio.wait_for(playing, 90)
        assert await final_state(stage) == EXPECTED
