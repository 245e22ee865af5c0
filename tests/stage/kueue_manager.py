"""Kueue's own manager, as it is installed, in a process beside the API server: definitions, webhooks, its certificates."""

import asyncio
import os
import time
from base64 import b64decode
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen

import aiohttp
import pytest
import yaml

from events.json_object import JsonObject
from ops.production.kubernetes.client import KubeClient, path_of
from ops.production.visibility.api import GROUP
from services.runtime.cluster_port import ObjectMissing, Resource
from tests.stage.api_server import ADMIN
from tests.stage.installation import APPLY, DEFINED, put_there, served
from tests.stage.ports import reserved_port

MANAGER = "KUELOG_TEST_KUEUE_MANAGER"
"""The setting that names its program."""
SPACE, SERVICE, SECRET = "kueue-system", "kueue-webhook-service", "kueue-webhook-server-cert"
SECRETS = Resource(plural="secrets", kind="Secret")
SERVICES = Resource(plural="services", kind="Service")
CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
_JOBS = (
    "trainer-kubeflow-org-v1alpha1-trainjob",
    "jobset-x-k8s-io-v1alpha2-jobset",
    "kubeflow-org-v2beta1-mpijob",
    "kubeflow-org-v1-pytorchjob",
    "kubeflow-org-v1-tfjob",
    "kubeflow-org-v1-xgboostjob",
    "kubeflow-org-v1-paddlejob",
    "kubeflow-org-v1-jaxjob",
    "ray-io-v1-rayjob",
    "ray-io-v1-raycluster",
    "ray-io-v1-rayservice",
    "workload-codeflare-dev-v1beta2-appwrapper",
)
"""Kinds of jobs that all are asked about alike."""
ASKED = {
    "mutating": {
        "batch-v1-job": ["CREATE"],
        "-v1-pod": ["CREATE"],
        "apps-v1-deployment": ["CREATE", "UPDATE"],
        "apps-v1-statefulset": ["CREATE", "UPDATE"],
        "leaderworkerset-x-k8s-io-v1-leaderworkerset": ["CREATE", "UPDATE"],
        **dict.fromkeys(_JOBS, ["CREATE"]),
        "kueue-x-k8s-io-v1beta2-workload": ["CREATE"],
        "kueue-x-k8s-io-v1beta2-clusterqueue": ["CREATE"],
        "kueue-x-k8s-io-v1beta2-resourceflavor": ["CREATE"],
    },
    "validating": {
        "batch-v1-job": ["CREATE", "UPDATE"],
        "-v1-pod": ["CREATE", "UPDATE"],
        "apps-v1-deployment": ["CREATE", "UPDATE"],
        "apps-v1-statefulset": ["CREATE", "UPDATE"],
        "leaderworkerset-x-k8s-io-v1-leaderworkerset": ["CREATE", "UPDATE"],
        **dict.fromkeys(_JOBS, ["CREATE", "UPDATE"]),
        "kueue-x-k8s-io-v1beta2-workload": ["CREATE", "UPDATE"],
        "kueue-x-k8s-io-v1beta2-clusterqueue": ["CREATE", "UPDATE"],
        "kueue-x-k8s-io-v1beta2-cohort": ["CREATE", "UPDATE"],
        "kueue-x-k8s-io-v1beta2-resourceflavor": ["CREATE", "UPDATE"],
    },
}
"""What Kueue's webhooks are asked about, by the end of their paths."""
_GROUPS = {
    "batch": "batch",
    "": "",
    "apps": "apps",
    "kueue": "kueue.x-k8s.io",
    "trainer": "trainer.kubeflow.org",
    "jobset": "jobset.x-k8s.io",
    "leaderworkerset": "leaderworkerset.x-k8s.io",
    "kubeflow": "kubeflow.org",
    "ray": "ray.io",
    "workload": "workload.codeflare.dev",
}
_PATIENCE_S = 120.0


def program() -> Path:
    """The program; a test that needs it is skipped where there is none."""
    named = os.environ.get(MANAGER)
    if not named:
        pytest.skip(
            f"no manager of Kueue: set {MANAGER} to its program, and its definitions in KUELOG_KUEUE_DEFINITIONS"
        )
    return Path(named)


def _mount(folder: Path, secret: JsonObject) -> None:
    """Show a Secret's data as a kubelet does: all of it at once, or nobody could read a certificate beside the key of another."""
    data, shown = {name: b64decode(text) for name, text in secret.items()}, folder / "..data"
    if {file.name: file.read_bytes() for file in shown.glob("*")} == data:
        return
    version = folder / f"..{time.monotonic_ns()}"
    version.mkdir()
    for name, content in data.items():
        (version / name).write_bytes(content)
    (folder / "..next").symlink_to(version.name)
    (folder / "..next").replace(shown)
    for name in data:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(Path("..data") / name)


class KueueManager:
    """The manager for Jobs, pods, Deployments, StatefulSets and further kinds, with Kueue's defaults for the rest."""

    def __init__(
        self,
        program: Path,
        kubeconfig: Path,
        folder: Path,
        *frameworks: str,
        gates: dict[str, bool] | None = None,
        more: JsonObject | None = None,
    ) -> None:
        """`more` is what else its configuration says, in the place of what it would say.

        With the gate `VisibilityOnDemand` it answers who waits: only a program that keeps the certificate for that in the folder in
        which it runs.
        """
        self._more = more or {}
        self._gates = {"VisibilityOnDemand": False, **(gates or {})}
        self._frameworks = ["batch/job", "pod", "deployment", "statefulset", *frameworks]
        self._program, self._kubeconfig, self._folder = (one.absolute() for one in (program, kubeconfig, folder))
        self._port, self._health, self._metrics, self._visibility = (reserved_port() for _ in range(4))
        self._process: Popen[bytes] | None = None

    async def install(self, client: KubeClient, definitions: Sequence[JsonObject]) -> None:
        """Kueue's definitions in the place of others, and whom the API server asks."""
        await put_there(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        await self._put(client, SECRETS, SECRET, {})
        # No pod of Kueue's is there: its service leads to this machine.
        await self._put(client, SERVICES, SERVICE, {"spec": {"type": "ExternalName", "externalName": "localhost"}})
        for value in definitions:
            name = value["metadata"]["name"]
            nobody = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
            with suppress(ObjectMissing):  # Where kuelog was not installed before.
                await client.merge(DEFINED, "", name, nobody)
            webhook = {"conversionReviewVersions": ["v1"], "clientConfig": self._where("/convert")}
            asks = {"strategy": "Webhook", "webhook": webhook}
            spec = {**value["spec"], **({"conversion": asks} if name.partition(".")[0] in CONVERTED else {})}
            await put_there(client, {**value, "spec": spec})
        for value in self._configurations():
            await put_there(client, value)

    async def uninstall(self, client: KubeClient) -> None:
        """Have the API server ask it no more, as `kubectl delete` of its configurations does."""
        for value in self._configurations():
            path = f"/apis/{value['apiVersion']}/{value['kind'].lower()}s/{value['metadata']['name']}"
            with suppress(ObjectMissing):
                await client.request("DELETE", path)

    async def start(self, client: KubeClient, definitions: Sequence[JsonObject]) -> None:
        """Run it until it is ready; what a kubelet mounts from its Secret is put where it looks."""
        certificates = self._folder / "certificates"
        certificates.mkdir(parents=True, exist_ok=True)
        file = self._folder / "kueue.yaml"
        file.write_text(yaml.safe_dump(self._configuration(certificates)))
        with (self._folder / "kueue.log").open("ab") as log:
            self._process = Popen(  # noqa: ASYNC220 - it returns at once
                [str(self._program), "--config", str(file), "--kubeconfig", str(self._kubeconfig)],
                cwd=self._folder,
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
            )
        async with asyncio.timeout(_PATIENCE_S), aiohttp.ClientSession() as session:
            while not await self._is_ready(session):
                assert self._process.poll() is None, (self._folder / "kueue.log").read_text(errors="replace")[-2000:]
                _mount(certificates, (await client.get(SECRETS, SPACE, SECRET)).get("data") or {})
                await asyncio.sleep(0.2)
        for value in definitions:
            await served(client, value)

    async def stop(self) -> None:
        """As a Deployment that is scaled to nothing stops it."""
        if self._process is not None:
            self._process.terminate()
            await asyncio.to_thread(self._process.wait)
            self._process = None

    async def metrics(self) -> str:
        """What it tells Prometheus."""
        async with self._asking() as session, session.get(f"https://127.0.0.1:{self._metrics}/metrics") as answer:
            answer.raise_for_status()
            return await answer.text()

    async def waiting(self, paths: Iterable[str]) -> list[JsonObject]:
        """What its visibility API answers to each of these paths below its version."""
        found: list[JsonObject] = []
        async with self._asking() as session:
            for path in paths:
                address = f"https://127.0.0.1:{self._visibility}/apis/{GROUP}/v1beta2/{path}"
                async with session.get(address) as answer:
                    found.append(await answer.json())
        return found

    def _asking(self) -> aiohttp.ClientSession:
        # Nobody has signed its certificates.
        connector = aiohttp.TCPConnector(ssl=False)
        return aiohttp.ClientSession(headers={"Authorization": f"Bearer {ADMIN}"}, connector=connector)

    def why_it_ended(self) -> str:
        """What it has said last, if it has ended by itself; empty while it runs, and when it was stopped."""
        if self._process is None or self._process.poll() is None:
            return ""
        said = (self._folder / "kueue.log").read_text(errors="replace").splitlines()
        begin = next((number for number, line in enumerate(said) if line.startswith(("panic:", "fatal error:"))), -12)
        return "\n".join(said[begin:][:30]) or f"code {self._process.returncode}"

    async def _is_ready(self, session: aiohttp.ClientSession) -> bool:
        """Its first manager only makes certificates, and is ready as well: the second one says that it starts."""
        if "Starting manager" not in (self._folder / "kueue.log").read_text(errors="replace"):
            return False
        try:
            async with session.get(f"http://127.0.0.1:{self._health}/readyz") as answer:
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    async def _put(self, client: KubeClient, resource: Resource, name: str, parts: JsonObject) -> None:
        value = {"apiVersion": "v1", "kind": resource.kind, "metadata": {"name": name, "namespace": SPACE}, **parts}
        path = f"{path_of(resource, SPACE, name)}?fieldManager=tests&force=true"
        await client.request("PATCH", path, value, form=APPLY)

    def _where(self, path: str) -> JsonObject:
        return {"service": {"namespace": SPACE, "name": SERVICE, "path": path, "port": self._port}}

    def _configurations(self) -> list[JsonObject]:
        return [
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{how.capitalize()}WebhookConfiguration",
                "metadata": {"name": f"kueue-{how}-webhook-configuration"},
                "webhooks": [self._webhook(how, end, operations) for end, operations in ends.items()],
            }
            for how, ends in ASKED.items()
        ]

    def _webhook(self, how: str, end: str, operations: list[str]) -> JsonObject:
        *group, version, kind = end.split("-")
        rule = {
            "apiGroups": [_GROUPS[group[0]]],
            "apiVersions": [version],
            "operations": operations,
            "resources": [f"{kind}s", *(["workloads/status"] if (how, kind) == ("validating", "workload") else [])],
        }
        spared = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", SPACE]}
        return {
            "name": f"{how[0]}{kind}.kb.io",
            "clientConfig": self._where(f"/{'mutate' if how == 'mutating' else 'validate'}-{end}"),
            "rules": [rule],
            "namespaceSelector": {"matchExpressions": [spared]},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }

    def _configuration(self, certificates: Path) -> JsonObject:
        return {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._health}"},
            "metrics": {"bindAddress": f"127.0.0.1:{self._metrics}", "enableClusterQueueResources": True},
            "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": self._visibility},
            "webhook": {"host": "127.0.0.1", "port": self._port, "certDir": str(certificates)},
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"qps": 50, "burst": 100},
            "internalCertManagement": {"enable": True},
            "featureGates": self._gates,
            "integrations": {"frameworks": self._frameworks},
            **self._more,
        }
