"""What the framework of a suite starts in the place of a manager, in its folder: kuelog's webhooks, and all of its services."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any

import msgspec
import yaml

from events.json_object import JsonObject, is_object, object_at
from ops.production.configuration.configuration_file import configuration_of
from ops.production.configuration.gates import NEEDS
from ops.production.crds.definitions import manifests as definitions
from ops.production.deploy.chart import NAMESPACE
from ops.production.kubernetes.client import KubeClient, connect
from ops.production.webhook.configurations import CONVERT, configurations
from ops.production.webhook.trust import CONFIGURATIONS
from projections.feature_gates import DEFAULTS
from services.runtime.cluster_port import ObjectMissing
from tests.peers.suites.needs import frameworks
from tests.peers.suites.suspended_jobs import show_suspended
from tests.peers.worlds.claims import LATER_NAMES
from tests.places import ROOT
from tests.stage.installation import DEFINED, kubeconfig_of, put_there

TAKEN = (
    "fairSharing",
    "admissionFairSharing",
    "resources",
    "waitForPodsReady",
    "objectRetentionPolicies",
    "multiKueue",
)
"""What kuelog takes of the configuration of the core controllers."""
_STOPS_S = 30.0
ACCOUNT = "kuelog-suite"


class Jobs(msgspec.Struct, frozen=True, rename="pascal"):
    """What the controllers of jobs were set up with."""

    without_queue_name: bool = False
    pods_ready: bool = False
    labels: tuple[str, ...] | None = None


class Told(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What a suite sets its manager up with."""

    configuration: dict[str, Any] | None
    jobs: Jobs
    namespaces: dict[str, Any] | None
    transformations: list[dict[str, Any]] | None
    excluded_prefixes: list[str] | None
    multi_kueue: dict[str, Any] | None
    gates: dict[str, bool]
    port: int
    certificates: str
    authority: str
    webhooks: bool
    metrics: str
    """The port at which it serves its metrics."""


def configured(told: Told, suite: str) -> JsonObject:
    """The configuration file of kuelog by which it does what that manager would."""
    theirs: JsonObject = _said(told.configuration or {})
    found: JsonObject = {key: theirs[key] for key in TAKEN if key in theirs}
    resources = dict(found.get("resources") or {})
    if told.transformations is not None:
        resources["transformations"] = told.transformations
    if told.excluded_prefixes is not None:
        resources["excludeResourcePrefixes"] = told.excluded_prefixes
    if resources:
        found["resources"] = resources
    if labels := object_at(theirs, "metrics").get("customLabels"):
        found["metrics"] = {"customLabels": labels}
    if told.multi_kueue is not None:
        found["multiKueue"] = _said(told.multi_kueue)
    if told.namespaces is not None:
        # Not every suite leaves out what a configuration file has to.
        system = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}
        asked = [*(told.namespaces.get("matchExpressions") or ()), system]
        found["managedJobsNamespaceSelector"] = {**told.namespaces, "matchExpressions": asked}
    found.setdefault("waitForPodsReady", {"timeout": "30m"} if told.jobs.pods_ready else {"enable": False})
    named = {LATER_NAMES.get(name, name): on for name, on in told.gates.items()}
    gates = {name: named.get(name, False) for name in DEFAULTS}  # Gates of later versions are off.
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        **found,
        "manageJobsWithoutQueueName": told.jobs.without_queue_name,
        "integrations": {"frameworks": frameworks(suite), "labelKeysToCopy": sorted(set(told.jobs.labels or ()))},
        "featureGates": {name: on and all(gates[one] for one in NEEDS.get(name, ())) for name, on in gates.items()},
        "kuelog": {"devices": False},
    }


def _said(value: Any) -> Any:
    """Without fields that Go writes though nothing stands there."""
    return {key: _said(one) for key, one in value.items() if one is not None} if is_object(value) else value


async def _install(client: KubeClient, told: Told, whole: JsonObject) -> None:
    """Have the API server ask kuelog in the place of that manager."""

    def where(path: str) -> JsonObject:
        return {"url": f"https://127.0.0.1:{told.port}{path}", "caBundle": told.authority}

    for space in (NAMESPACE, "kueue-system"):
        await put_there(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {**where(CONVERT), "service": None}}
    for value in definitions():
        try:
            told_of = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
            await client.merge(DEFINED, "", value["metadata"]["name"], told_of)
        except ObjectMissing:
            continue  # A kind that Kueue 0.17 does not have.
    for resource, name in CONFIGURATIONS:
        try:
            await client.delete(resource, "", name.removeprefix("kuelog-"))
        except ObjectMissing:
            continue
    if not told.webhooks:
        return
    for value in configurations(
        "unused", NAMESPACE, ["kube-system", NAMESPACE], None, configuration_of(whole, "here").settings
    ):
        for one in value["webhooks"]:
            one["clientConfig"] = where(one["clientConfig"]["service"]["path"])
        await put_there(client, value)


async def _of_own_account(client: KubeClient, folder: Path) -> Path:
    """A kubeconfig of an account in kuelog's namespace, which may do all: what it writes, webhooks are not asked about."""
    meta, account = {"name": ACCOUNT}, {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    bound = {"kind": "ClusterRoleBinding", "metadata": meta, "subjects": [account], "roleRef": role}
    await put_there(
        client, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**meta, "namespace": NAMESPACE}}
    )
    await put_there(client, {"apiVersion": "rbac.authorization.k8s.io/v1", **bound})
    return await kubeconfig_of(client, folder / "kubeconfig", ACCOUNT, folder)


async def _serve(folder: Path) -> None:
    told = msgspec.json.decode((folder / "told.json").read_bytes(), type=Told)
    whole = configured(told, os.environ["KUELOG_SUITE_NAME"])
    file, kubeconfig = folder / "config.yaml", str(folder / "kubeconfig")
    file.write_text(yaml.safe_dump(whole))
    client = await connect(kubeconfig)
    await _install(client, told, whole)
    common = ["--kubeconfig", str(await _of_own_account(client, folder)), "--config", str(file)]
    asked = ["run", "webhook", *common, "--port", str(told.port), "--cert-dir", told.certificates]
    if not os.environ["KUELOG_SUITE_SERVICES"]:
        serving = (asked,)
    else:
        serving = (asked, ["up", *common, "--metrics", told.metrics, "--data", str(folder / "log")])
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    with (folder / "kuelog.log").open("ab") as log:
        started = [_start(words, log.fileno()) for words in serving]
    playing = asyncio.create_task(show_suspended(client, whole["integrations"]["frameworks"]))
    await stopped.wait()
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    await client.close()
    for one in started:
        one.terminate()
    for one in started:
        one.wait(_STOPS_S)


def _start(words: list[str], log: int) -> Popen[bytes]:
    return Popen(
        [sys.executable, "-m", "ops.cli.main", *words],
        cwd=ROOT,
        stdin=DEVNULL,
        stdout=log,
        stderr=log,
    )


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
