"""A HorizontalPodAutoscaler of a real control plane scales by the lag that kuelog tells itself: up while it grows, down when it is gone."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from events.json_object import JsonObject
from events.subjects import FACTS
from ops.production.deploy.autoscaling import visibility_scaling_by_itself
from ops.production.deploy.chart import CHOICES, NAMESPACE
from ops.production.deploy.chart_values import Chosen
from ops.production.deploy.deployments import external_metrics
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.client import connect as connect_kube
from ops.production.log.jetstream.bus import connect as connect_bus
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import SOLE
from ops.production.visibility.api_service import API_SERVICES
from services.runtime.cluster_port import Resource
from services.runtime.log_port import Message
from tests.conftest import ABSENT, ASSETS
from tests.ops.production.visibility.test_access import Authority
from tests.places import ROOT
from tests.stage.api_server import ApiServer
from tests.stage.ports import reserved_port

DEPLOYMENTS = Resource(group="apps", plural="deployments", kind="Deployment")
SCALERS = Resource(group="autoscaling", version="v2", plural="horizontalpodautoscalers", kind="HorizontalPodAutoscaler")
CORE = {kind: Resource(plural=f"{kind.lower()}s", kind=kind) for kind in ("Secret", "Service")}
NAMESPACES = Resource(plural="namespaces", kind="Namespace", namespaced=False)
NAME = "kuelog-visibility"


@pytest.fixture
def server(tmp_path: Path) -> ApiServer:
    assets = os.environ.get(ASSETS)
    if not assets:
        pytest.skip(ABSENT)
    if not (Path(assets) / "kube-controller-manager").exists():
        pytest.skip(f"nobody scales here: {ASSETS} has no kube-controller-manager")
    return proxied(Path(assets), tmp_path)


def proxied(assets: Path, folder: Path) -> ApiServer:
    """An API server that hands requests on as a front proxy, with a certificate that says so."""
    authority = Authority(folder, "front-proxy-ca")
    certificate, key = authority.sign("front-proxy")
    return ApiServer(
        assets,
        folder / "server",
        options=(
            f"--requestheader-client-ca-file={authority.file}",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={certificate}",
            f"--proxy-client-key-file={key}",
        ),
    )


async def test_replicas_come_while_the_lag_grows_and_go_when_it_is_gone(server: ApiServer, tmp_path: Path) -> None:
    server.start()
    bus = NatsServer(tmp_path / "nats")
    await bus.start()
    try:
        async with asyncio.timeout(240), scaling(server), client_of(server) as client:
            log = await connect_bus(bus.url)
            for name in SOLE.every:
                await log.stream(name)
            port = reserved_port()
            await installed(client, port)
            async with visibility(server, bus.url, port):
                facts = await log.stream(FACTS)
                assert await replicas(client, lambda count, told: told == "0" and count == 1) == 1
                # A message that nobody can read halts whoever folds: from here on it lags.
                await facts.publish([Message("kuelog.facts._cluster.Stray", b"[", "stray")])
                assert await replicas(client, lambda count, _: count == 4) == 4
                skipped = await kuelog("log", "quarantine", FACTS, "1", "--reason", "a stray", "--nats", bus.url)
                assert skipped == 0
                assert await replicas(client, lambda count, told: count == 1) == 1
            await log.close()
    finally:
        await bus.stop()
        server.stop()


@asynccontextmanager
async def client_of(server: ApiServer) -> AsyncIterator[KubeClient]:
    found = await connect_kube(str(server.kubeconfig), service="tests")
    try:
        yield found
    finally:
        await found.close()


@asynccontextmanager
async def scaling(server: ApiServer) -> AsyncIterator[None]:
    """The controller that scales, which looks every second."""
    with (server.folder / "scaler.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            str(server.assets / "kube-controller-manager"),
            f"--kubeconfig={server.kubeconfig}",
            "--controllers=horizontal-pod-autoscaler-controller",
            "--horizontal-pod-autoscaler-sync-period=1s",
            "--leader-elect=false",
            "--secure-port=0",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def installed(client: KubeClient, port: int) -> None:
    """What the chart installs of it, with a Service that leads to this machine; the scaler goes by the lag alone, and down at once."""
    chosen = {**CHOICES, "autoscaling": {**CHOICES["autoscaling"], "lagSeconds": "1", "maxReplicas": 4}, "replicas": 1}
    values = Chosen(chosen, NAMESPACE)
    await client.create(NAMESPACES, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    here = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
    for kind, name, more in (
        ("Service", NAME, {"spec": here}),
        ("Secret", f"{NAME}-certificate", {}),
    ):
        value = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **more}
        await client.create(CORE[kind], NAMESPACE, value)
    labels = {"app": NAME}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    meta = {"name": NAME, "namespace": NAMESPACE}
    await client.create(
        DEPLOYMENTS, NAMESPACE, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    )
    [scaler] = visibility_scaling_by_itself(values)
    _cpu, lag = scaler["spec"]["metrics"]
    scaler["spec"] |= {"metrics": [lag], "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}
    await client.create(SCALERS, NAMESPACE, scaler)
    for one in external_metrics(values):
        one["spec"]["service"]["port"] = port
        await client.create(API_SERVICES, "", one)


async def replicas(client: KubeClient, holds: Callable[[int, str], bool]) -> int:
    """How many are wanted, as soon as that and what the scaler was told hold."""
    while True:
        scaler = await client.get(SCALERS, NAMESPACE, NAME)
        wanted = (await client.get(DEPLOYMENTS, NAMESPACE, NAME))["spec"]["replicas"]
        if holds(wanted, told_of(scaler)):
            return int(wanted)
        await asyncio.sleep(0.2)


def told_of(scaler: JsonObject) -> str:
    """What the metric was when the scaler last looked; empty while it was told nothing."""
    for one in scaler.get("status", {}).get("currentMetrics") or ():
        if one.get("type") == "External":
            return str(one["external"]["current"].get("averageValue", ""))
    return ""


@asynccontextmanager
async def visibility(server: ApiServer, nats: str, port: int) -> AsyncIterator[None]:
    """The process itself, as a pod of it would run."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ops.cli.main", "visibility", "--nats", nats, "--external-metrics"),
        *("--host", "127.0.0.1", "--port", str(port), "--kubeconfig", str(server.kubeconfig)),
        cwd=ROOT,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def kuelog(*words: str) -> int:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ops.cli.main", *words, cwd=ROOT, stdout=asyncio.subprocess.DEVNULL
    )
    return await process.wait()
