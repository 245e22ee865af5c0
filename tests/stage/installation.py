"""Kuelog as it is installed on a real API server: definitions, rights and webhooks, once for all tests of a run."""

import asyncio
import sys
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from subprocess import DEVNULL, Popen

import yaml

from events.json_object import JsonObject
from ops.production.crds.definitions import manifests as definitions
from ops.production.deploy.chart import CHOICES, NAMESPACE, manifests
from ops.production.kubernetes.client import KubeClient, path_of
from ops.production.webhook.certificates import renewed
from ops.production.webhook.configurations import CONVERT, configurations
from ops.sandbox.embedded_cluster.kinds import BUILT_IN
from services.runtime.cluster_port import ClusterUnavailable, ObjectInvalid, ObjectMissing, Resource
from tests.places import ROOT
from tests.stage.api_server import ApiServer
from tests.stage.caches import resource_at
from tests.stage.ports import reserved_port

SPACES = ("default", "team")
"""The namespaces that tests may use."""
WORKERS = ("w1", "w2")
"""The Secrets with the kubeconfigs of worker clusters."""
JOBS = Resource(group="batch", plural="jobs", kind="Job")
DEFINED = Resource(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)
_TOKEN_S = 6 * 3600
APPLY = "application/apply-patch+yaml"
_PATIENCE_S = 60.0
_QUEUED_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"generateName": "asks-", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "none"}},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}},
}
_OTHER = {"name": "f", "resources": [{"name": "memory", "nominalQuota": 1}]}
_BAD_QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {"generateName": "asks-"},
    "spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [_OTHER]}]},
}
"""Only the webhook finds what is wrong in it."""


def rights_of(part: Sequence[JsonObject]) -> list[JsonObject]:
    """The roles and bindings of a part of an installation."""
    return [one for one in part if one["apiVersion"].startswith("rbac.")]


class Installation:
    """Whoever comes first installs; `host` is the name by which the API server finds this machine."""

    def __init__(
        self,
        kubeconfig: Path,
        folder: Path,
        *,
        server: ApiServer | None = None,
        host: str = "localhost",
        defined: Sequence[JsonObject] = (),
    ) -> None:
        self.kubeconfig, self.folder, self.server = kubeconfig, folder, server
        """`server` is the API server where it is a child of the tests, which may then kill it."""
        self._defined = defined or definitions()
        self._host, self._done = host, False
        self._configurations: list[JsonObject] = []
        self._conversion: JsonObject = {}
        self._webhook: Popen[bytes] | None = None

    async def install(self, client: KubeClient) -> None:
        """Put everything there, unless it is."""
        if self._done:
            return
        for space in (*SPACES, NAMESPACE):
            await put_there(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        others = {**CHOICES["multiKueue"], "enabled": True, "secrets": list(WORKERS)}
        parts = manifests({**CHOICES, "multiKueue": others})
        accounts = [one for part in parts.values() for one in part if one["kind"] == "ServiceAccount"]
        for value in (*self._defined, *accounts, *parts["access"], *rights_of(parts["multikueue"])):
            await put_there(client, value)
        for value in self._defined:
            await served(client, value)
        await self._serve_webhooks(client)
        self._done = True

    def stop(self) -> None:
        """The webhooks' process ends with the tests."""
        if self._webhook is not None:
            self._webhook.kill()
            self._webhook.wait()

    async def kubeconfig_of(self, client: KubeClient, service: str) -> Path:
        """A kubeconfig of a service's own account."""
        return await kubeconfig_of(client, self.kubeconfig, f"kuelog-{service}", self.folder)

    async def _serve_webhooks(self, client: KubeClient) -> None:
        port = reserved_port()
        held = renewed(None, (self._host,), int(datetime.now(UTC).timestamp() * 1000))
        assert held is not None
        (self.folder / "tls.crt").write_text(held.certificate)
        (self.folder / "tls.key").write_text(held.key)
        kubeconfig = await self.kubeconfig_of(client, "webhook")
        words = ["run", "webhook", "--kubeconfig", str(kubeconfig), "--port", str(port)]
        with (self.folder / "webhook.log").open("ab") as log:
            self._webhook = Popen(  # noqa: ASYNC220 - it returns at once
                [sys.executable, "-m", "ops.cli.main", *words, "--cert-dir", str(self.folder)],
                cwd=ROOT,
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
            )
        bundle = b64encode(held.authorities.encode()).decode()

        def where(path: str) -> JsonObject:
            return {"url": f"https://{self._host}:{port}{path}", "caBundle": bundle}

        self._configurations = configurations("unused", NAMESPACE, ["kube-system", NAMESPACE])
        for value in self._configurations:
            for one in value["webhooks"]:
                one["clientConfig"] = where(one["clientConfig"]["service"]["path"])
        webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {**where(CONVERT), "service": None}}
        self._conversion = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
        await self.convert(client)
        await self.ask_webhooks(client)

    async def convert(self, client: KubeClient) -> None:
        """Have the API server ask us for other versions of an object, whose definitions ever are there."""
        for value in definitions():
            await client.merge(DEFINED, "", value["metadata"]["name"], self._conversion)

    async def ask_webhooks(self, client: KubeClient) -> None:
        """Have the API server ask the webhooks before it stores anything."""
        for value in self._configurations:
            await put_there(client, value)
        async with asyncio.timeout(_PATIENCE_S):
            while not await _webhooks_are_asked(client):  # noqa: ASYNC110 - the API server tells nobody when it begins
                await asyncio.sleep(0.1)

    async def spare_webhooks(self, client: KubeClient) -> None:
        """Have it ask nobody, as before kuelog was installed."""
        for value in self._configurations:
            await client.request("DELETE", _path_of(value))
        async with asyncio.timeout(_PATIENCE_S):
            while await _is_suspended(client):  # noqa: ASYNC110 - nor when it ends
                await asyncio.sleep(0.1)


async def kubeconfig_of(client: KubeClient, kubeconfig: Path, account: str, into: Path) -> Path:
    """A kubeconfig like that one, of an account in kuelog's namespace; it lies in that folder, made once."""
    file = into / f"{account}.kubeconfig"
    if not file.exists():
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
        told = await client.request("POST", path, {"spec": {"expirationSeconds": _TOKEN_S}})
        whole = yaml.safe_load(kubeconfig.read_text())
        token = {"token": told["status"]["token"]}
        whole["users"] = [{"name": one["name"], "user": token} for one in whole["users"]]
        file.write_text(yaml.safe_dump(whole))
    return file


async def put_there(client: KubeClient, value: JsonObject) -> None:
    """Apply a built-in object, whatever is there."""
    await client.request("PATCH", f"{_path_of(value)}?fieldManager=tests&force=true", value, form=APPLY)


def _path_of(value: JsonObject) -> str:
    group, _, version = value["apiVersion"].rpartition("/")
    kind = next(one for one in BUILT_IN if (one.group, one.version, one.kind) == (group, version, value["kind"]))
    meta = value["metadata"]
    return path_of(resource_at(kind), meta.get("namespace", ""), meta["name"])


async def served(client: KubeClient, definition: JsonObject) -> None:
    """Wait until the kind of a definition can be listed."""
    spec = definition["spec"]
    version = next(one["name"] for one in spec["versions"] if one["storage"])
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            try:
                await client.request("GET", f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1")
            except ObjectMissing:
                await asyncio.sleep(0.05)
            else:
                return


async def _is_suspended(client: KubeClient) -> bool:
    try:
        made = await client.request("POST", path_of(JOBS, "default") + "?dryRun=All", _QUEUED_JOB)
    except (ObjectInvalid, ClusterUnavailable):
        return False
    return bool(made["spec"].get("suspend"))


async def _webhooks_are_asked(client: KubeClient) -> bool:
    try:
        await client.request("POST", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues?dryRun=All", _BAD_QUEUE)
    except ObjectInvalid as refused:
        return "vkueue.kuelog.io" in str(refused) and await _is_suspended(client)
    except ClusterUnavailable:
        return False  # The webhook does not listen yet.
    return False
