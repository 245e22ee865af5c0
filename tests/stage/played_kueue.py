"""A worker cluster under somebody else's Kueue, played: it admits what it is told to, starts the jobs of it, and stops what is inactive."""

import asyncio
from pathlib import Path
from typing import Any

from events.api.labels import PREBUILT_WORKLOAD_NAME
from events.timestamp import format_timestamp
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.failures import ApiFailure
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from tests.stage.cluster import WORKLOADS, Embedded, end_pods

JOBS = "jobs.batch"


class Worker:
    """A cluster whose Kueue is played; it admits only while `admits` is set."""

    def __init__(self, name: str, folder: Path, clock: ScaledClock, *, admits: bool = True) -> None:
        self.name, self.admits, self._clock = name, admits, clock
        self.cluster = Embedded(folder / name, clock, webhooks=False)
        self.embedded = self.cluster.embedded
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self.cluster.start()
        await self.cluster.add(gpu_node("n1", product="V100", zone="a", cards=1, memory_mib=32768, model="NVIDIA-V100"))
        self._task = asyncio.create_task(self._play())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self.cluster.stop()

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.kubeconfig

    @property
    def copies(self) -> list[dict[str, Any]]:
        return list(self.embedded.store.of(WORKLOADS).values())

    @property
    def jobs(self) -> list[dict[str, Any]]:
        return list(self.embedded.store.of(JOBS).values())

    async def end_pods(self, job: str) -> None:
        """Have the pods of a Job end well."""
        client = await self.cluster.connect("tests")
        try:
            await end_pods(self.cluster, client, "default", job)
        finally:
            await client.close()

    def admit(self) -> None:
        self.admits = True
        self._look()

    async def _play(self) -> None:
        queue = self.embedded.store.watch()
        try:
            while True:
                self._look()
                await queue.get()
        finally:
            self.embedded.store.unwatch(queue)

    def _look(self) -> None:
        for name, copy in list(self.embedded.store.of(WORKLOADS).items()):
            try:
                self._steer(name, copy)
            except ApiFailure:
                continue

    def _steer(self, name: tuple[str, str], copy: dict[str, Any]) -> None:
        active = copy["spec"].get("active") is not False
        told = {one["type"]: one["status"] for one in copy.get("status", {}).get("conditions", ())}
        if active and self.admits and told.get("Admitted") != "True":
            self._tell(name, copy, QuotaReserved="True", Admitted="True")
        elif not active and told.get("Evicted") != "True":
            self._tell(name, copy, Evicted="True", Admitted="False")
        job = next((one for one in self.jobs if one["metadata"]["labels"].get(PREBUILT_WORKLOAD_NAME) == name[1]), None)
        if job is None:
            return
        runs = active and told.get("Admitted") == "True"
        if job["spec"].get("suspend") is runs:
            kind = self.embedded.resources.kind("batch", "v1", "jobs")
            value = {**job, "spec": {**job["spec"], "suspend": not runs}}
            self.embedded.resources.update(kind, (job["metadata"]["namespace"], job["metadata"]["name"]), value)

    def evict(self) -> None:
        """Somebody else needs the room."""
        for name, copy in list(self.embedded.store.of(WORKLOADS).items()):
            self._tell(name, copy, Evicted="True")

    def _tell(self, name: tuple[str, str], copy: dict[str, Any], **conditions: str) -> None:
        now = format_timestamp(self._clock.now())
        kept = [one for one in copy.get("status", {}).get("conditions", ()) if one["type"] not in conditions]
        fresh = [
            {"type": kind, "status": status, "reason": kind, "message": "", "lastTransitionTime": now}
            for kind, status in conditions.items()
        ]
        kind = self.embedded.resources.kind("kueue.x-k8s.io", "v1beta2", "workloads")
        shown = {"metadata": {}, "status": {**copy.get("status", {}), "conditions": [*kept, *fresh]}}
        self.embedded.resources.update(kind, name, shown, subresource="status")
