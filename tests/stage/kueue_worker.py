"""A worker cluster under the real manager of Kueue, on an API server of its own; what it lets the manager do is what docs/multikueue.md says."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from textwrap import dedent
from typing import Any

import yaml

from events.job_kind import JobKind
from events.json_object import JsonObject
from events.json_path import look
from ops.production.kubernetes.client import KubeClient
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from services.jobs.kinds.table import DEPLOYMENT, POD, STATEFUL_SET
from tests.places import ROOT
from tests.stage.api_server import ApiServer
from tests.stage.cluster import WORKLOADS, end_pods
from tests.stage.definitions import definitions_of
from tests.stage.installation import SPACES, Installation, put_there, served
from tests.stage.kueue_manager import SPACE, KueueManager, program
from tests.stage.real import Real
from tests.stage.stage import QUEUES

JOBS = "jobs.batch"
_TOKEN_S = 6 * 3600


class _UnderKueue(Installation):
    """Kueue is what is installed on it, and kuelog is not."""

    def __init__(self, server: ApiServer, folder: Path, manager: KueueManager, others: Sequence[JsonObject]) -> None:
        super().__init__(server.kubeconfig, folder, server=server)
        self._manager, self._others = manager, others

    async def install(self, client: KubeClient) -> None:
        for space in SPACES:
            await put_there(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        for value in self._others:
            await put_there(client, value)
            await served(client, value)
        definitions = definitions_of("kueue")
        await self._manager.install(client, definitions)
        await self._manager.start(client, definitions)


class KueueWorker:
    """A cluster with one node and the same queue as any stage, whose workloads Kueue decides about.

    Where its API server is alone, Job controller, scheduler and kubelets are played; else only the kubelets are. `kinds` are
    further ones that it runs, whose controllers are the test's part, and `others` what else has to be defined for them.
    """

    def __init__(
        self,
        name: str,
        assets: Path,
        folder: Path,
        clock: ScaledClock,
        *,
        kinds: Sequence[JobKind] = (),
        others: Sequence[JsonObject] = (),
        gates: dict[str, bool] | None = None,
    ) -> None:
        self._kinds = kinds
        self.name, self._folder = name, folder / name
        self.server = ApiServer(assets, self._folder / "server")
        frameworks = (one.name for one in kinds if one not in (POD, DEPLOYMENT, STATEFUL_SET))
        self._manager = KueueManager(program(), self.server.kubeconfig, self._folder, *frameworks, gates=gates)
        self.cluster = Real(_UnderKueue(self.server, self._folder, self._manager, others), clock)
        self.client: KubeClient
        self._opened = AsyncExitStack()

    @property
    def kubeconfig(self) -> Path:
        """Of the account that it has for the manager."""
        return self._folder / "multikueue.kubeconfig"

    async def start(self) -> None:
        async with AsyncExitStack() as opened:
            opened.callback(self.server.stop)
            await asyncio.to_thread(self.server.start)
            opened.push_async_callback(self._manager.stop)
            await self.cluster.start()
            opened.push_async_callback(self.cluster.stop)
            self.client = await self.cluster.connect("")
            opened.push_async_callback(self.client.close)
            await self._let_in()
            node = gpu_node("n1", product="V100", zone="a", cards=1, memory_mib=32768, model="NVIDIA-V100")
            for value in (node, *yaml.safe_load_all(QUEUES)):
                await self.cluster.add(value)
            await self.cluster.until(self._takes_jobs)
            self._opened = opened.pop_all()

    async def stop(self) -> None:
        await self._opened.aclose()

    async def end_pods(self, job: str) -> None:
        """Have the pods of a Job end well."""
        await end_pods(self.cluster, self.client, "default", job)

    def running(self, name: str) -> bool:
        """Whether a Job's pods are ready."""
        found = self.cluster.get(JOBS, ("default", name)) or {}
        return int(look(found, "status.ready") or 0) > 0

    def running_pods(self) -> set[str]:
        """The names of the pods that run."""
        return {name for (_, name), one in self.cluster.of("pods").items() if look(one, "status.phase") == "Running"}

    @property
    def copies(self) -> list[dict[str, Any]]:
        return list(self.cluster.of(WORKLOADS).values())

    @property
    def jobs(self) -> list[dict[str, Any]]:
        return list(self.cluster.of(JOBS).values())

    def _takes_jobs(self) -> bool:
        found = self.cluster.get("localqueues.kueue.x-k8s.io", ("default", "team")) or {}
        return look(found, "status.conditions[Active].status") == "True"

    async def _let_in(self) -> None:
        for value in _documented():
            if value["kind"] == "ClusterRole":
                jobs = next(one for one in value["rules"] if one["resources"] == ["jobs"])
                value["rules"] += [{**jobs, "apiGroups": [one.group], "resources": [one.plural]} for one in self._kinds]
            await put_there(self.client, value)
        path = f"/api/v1/namespaces/{SPACE}/serviceaccounts/multikueue/token"
        told = await self.client.request("POST", path, {"spec": {"expirationSeconds": _TOKEN_S}})
        self.kubeconfig.write_text(self.server.kubeconfig_of(told["status"]["token"]))


def _documented() -> list[JsonObject]:
    """The account that administrators of a worker are told to make."""
    text = (ROOT / "docs" / "multikueue.md").read_text().partition("kubectl apply -f - <<END\n")[2]
    return list(yaml.safe_load_all(dedent(text.partition("    END\n")[0])))
