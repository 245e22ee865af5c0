"""A real API server asks the webhooks by the name of their service, and believes the certificate that they have made."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.deploy.chart import CHOICES, NAMESPACE, manifests
from ops.production.kubernetes.client import KubeClient, path_of
from ops.production.kubernetes.reflector import Reflector
from ops.production.listeners.certificate import Certificate
from ops.production.process.clock import ScaledClock
from ops.production.webhook.configurations import configurations
from ops.production.webhook.default_local_queues import DefaultLocalQueues
from ops.production.webhook.server import served_webhooks, webhook_app
from ops.production.webhook.trust import DEFINED, SECRETS, Callers, CertificateKeeper
from services.applier.writing import WORKLOADS
from services.runtime.cluster_port import ClusterUnavailable, ObjectInvalid
from tests.ops.production.webhook.test_https import ANYWHERE
from tests.stage.installation import JOBS, put_there
from tests.stage.real import Real
from tests.stage.stage import CLUSTER_QUEUES, job

SERVICE, SECRET = "kuelog-webhook", "kuelog-webhook-certificate"
QUEUES = f"{CLUSTER_QUEUES.plural}.{CLUSTER_QUEUES.group}"


@asynccontextmanager
async def as_installed(real: Real, admin: KubeClient) -> AsyncGenerator[None]:
    """The definitions as they are, whatever happens to them meanwhile, and nobody who is asked otherwise."""
    definitions: list[JsonObject] = (await admin.request("GET", path_of(DEFINED)))["items"]
    await real.installation.spare_webhooks(admin)
    try:
        yield
    finally:
        for value in definitions:
            name = value["metadata"]["name"]
            conversion = value["spec"].get("conversion")
            # Put back as a whole: a merge would leave the service beside the address.
            await admin.merge(DEFINED, "", name, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
            await admin.merge(DEFINED, "", name, {"spec": {"conversion": conversion}})
        await real.installation.ask_webhooks(admin)


@asynccontextmanager
async def started(real: Real, service: str) -> AsyncGenerator[tuple[KubeClient, KubeClient]]:
    """A real API server for somebody who may do all, and for a service by its own account."""
    async with AsyncExitStack() as opened:
        opened.push_async_callback(real.stop)
        await real.start()
        admin, own = await real.connect(""), await real.connect(service)
        opened.push_async_callback(admin.close)
        opened.push_async_callback(own.close)
        yield admin, own


async def test_an_api_server_asks_by_service_and_believes_what_the_webhook_has_made(
    real: Real, clock: ScaledClock
) -> None:
    async with AsyncExitStack() as opened:
        admin, own = await opened.enter_async_context(started(real, "webhook"))
        await opened.enter_async_context(as_installed(real, admin))
        certificate, doors = Certificate(), DefaultLocalQueues(Reflector(own))
        app = webhook_app(SettingsObserved(), doors, ANYWHERE, lambda: True)
        port = await opened.enter_async_context(served_webhooks(app, certificate, 0, "127.0.0.1"))
        for value in needed(port):
            await put_there(admin, value)
        trust = CertificateKeeper(
            own,
            clock,
            Callers(own, namespace=NAMESPACE, service=SERVICE),
            namespace=NAMESPACE,
            service=SERVICE,
            secret=SECRET,
        )
        held = await trust.look()
        certificate.show(held.certificate, held.key)
        opened.push_async_callback(admin.delete, SECRETS, NAMESPACE, SECRET)
        elsewhere = {"webhook": {"clientConfig": {"service": {"port": port}}}}
        await admin.merge(DEFINED, "", QUEUES, {"spec": {"conversion": elsewhere}})

        async with asyncio.timeout(60):
            while not await is_suspended(admin):  # noqa: ASYNC110 - the API server tells nobody when it begins
                await asyncio.sleep(0.1)
            spec = {"cohort": "all"}
            await real.add(
                {
                    "apiVersion": "kueue.x-k8s.io/v1beta1",
                    "kind": "ClusterQueue",
                    "metadata": {"name": "q"},
                    "spec": spec,
                }
            )
        assert (await admin.get(CLUSTER_QUEUES, "", "q"))["spec"]["cohortName"] == "all"
        await admin.delete(CLUSTER_QUEUES, "", "q")


async def test_what_others_write_of_a_workload_is_asked_about_and_not_what_kuelog_writes(real: Real) -> None:
    async with started(real, "applier") as (admin, own):
        template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
        await real.add(
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "Workload",
                "metadata": {"name": "asked", "namespace": "default"},
                "spec": {"podSets": [{"name": "main", "count": 2, "template": template}]},
            }
        )
        given_back = {"status": {"reclaimablePods": [{"name": "main", "count": 3}]}}
        with pytest.raises(ObjectInvalid, match=r"vstatus.kuelog.io.*reclaimablePods\[main\].count: 3 of 2 pods"):
            await admin.merge(WORKLOADS, "default", "asked", given_back, subresource="status")
        await own.merge(WORKLOADS, "default", "asked", given_back, subresource="status")
        looked_at = {"status": {"requeueState": {"count": 1}}}
        told = await admin.merge(WORKLOADS, "default", "asked", looked_at, subresource="status")
        assert told["status"]["requeueState"] == {"count": 1}, "what stood there holds nobody up"


def needed(port: int) -> list[JsonObject]:
    """What is installed, but for the port: the service leads to this process."""
    (secret,) = [one for one in manifests(CHOICES)["webhook"] if one["kind"] == "Secret"]
    found = configurations(SERVICE, NAMESPACE, ["kube-system", NAMESPACE])
    for one in found:
        for webhook in one["webhooks"]:
            webhook["clientConfig"]["service"]["port"] = port
    service = {"type": "ExternalName", "externalName": "localhost"}
    meta = {"name": SERVICE, "namespace": NAMESPACE}
    return [secret, {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": service}, *found]


async def is_suspended(admin: KubeClient) -> bool:
    try:
        made = await admin.request("POST", path_of(JOBS, "default") + "?dryRun=All", job("j", 1))
    except (ClusterUnavailable, ObjectInvalid):
        return False
    return bool(made["spec"].get("suspend"))
