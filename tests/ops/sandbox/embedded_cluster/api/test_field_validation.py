"""Objects as a strict client wants them judged, and as the webhook judges them, by the embedded API."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.crds.definitions import manifests
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.scenario.platform import convert, suspend, validating

QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


@pytest_asyncio.fixture
async def api() -> AsyncIterator[aiohttp.ClientSession]:
    cluster = EmbeddedCluster(
        mutators=(suspend,), converter=convert, validators=(validating(SettingsObserved()),), controllers=False
    )
    for one in manifests():
        cluster.add(one)
    await cluster.start()
    async with aiohttp.ClientSession(cluster.url) as session:
        yield session
    await cluster.stop()


def queue(quota: object = 4, **further: object) -> JsonObject:
    resource = {"name": "cpu", "nominalQuota": quota}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [resource]}]}
    spec = {"resourceGroups": [group], **further}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": spec}


def job(container: JsonObject | None = None, **further: object) -> JsonObject:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x", **(container or {})}]}}
    spec = {"template": template, **further}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}


async def sent(api: aiohttp.ClientSession, path: str, value: JsonObject, method: str = "POST") -> tuple[int, Any]:
    form = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
    async with api.request(method, path, json=value, headers=form) as answer:
        return answer.status, await answer.json()


async def test_a_quota_below_nothing_is_refused_by_the_webhook_with_its_field(api: aiohttp.ClientSession) -> None:
    code, told = await sent(api, QUEUES, queue(-4))
    assert (code, told["reason"]) == (422, "Invalid")
    assert told["message"].startswith("admission webhook") and "denied the request" in told["message"]
    (cause,) = told["details"]["causes"]
    assert cause["field"] == "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"


async def test_a_change_is_judged_as_well_as_a_new_object(api: aiohttp.ClientSession) -> None:
    assert (await sent(api, QUEUES, queue()))[0] == 201
    code, told = await sent(api, f"{QUEUES}/q", {"spec": queue(-4)["spec"]}, "PATCH")
    assert code == 422 and "nominalQuota" in told["message"]
    assert (await sent(api, f"{QUEUES}/q", {"spec": queue(5)["spec"]}, "PATCH"))[0] == 200


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (QUEUES, queue(resourceGroup=[]), "spec.resourceGroup"),
        (QUEUES, {**queue(), "spek": {}}, "spek"),
        (QUEUES, {**queue(), "metadata": {"name": "q", "label": {}}}, "metadata.label"),
        (JOBS, job(paralelism=2), "spec.paralelism"),
        (JOBS, job({"imag": "y"}), "spec.template.spec.containers[0].imag"),
        (JOBS, job({"resources": {"limit": {}}}), "spec.template.spec.containers[0].resources.limit"),
    ],
)
async def test_a_field_that_does_not_exist_is_refused_by_name_where_the_client_is_strict(
    api: aiohttp.ClientSession, path: str, value: JsonObject, field: str
) -> None:
    code, told = await sent(api, f"{path}?fieldValidation=Strict", value)
    assert (code, told["reason"]) == (400, "BadRequest")
    assert told["message"].endswith(f'strict decoding error: unknown field "{field}"')


async def test_a_client_that_only_wants_to_be_warned_is_warned(api: aiohttp.ClientSession) -> None:
    async with api.post(f"{JOBS}?fieldValidation=Warn", json=job(paralelism=2)) as answer:
        assert answer.status == 201
        assert answer.headers["Warning"] == '299 - "unknown field \\"spec.paralelism\\""'


async def test_what_is_right_passes_the_strictest_client(api: aiohttp.ClientSession) -> None:
    labels = {"any.example.com/name": "x"}
    value = job({"resources": {"limits": {"cpu": "1", "example.com/card": "2"}}}, parallelism=2)
    value["metadata"] |= {"labels": labels, "annotations": labels}
    value["spec"]["template"]["spec"] |= {"nodeSelector": labels, "volumes": [{"name": "v", "emptyDir": {}}]}
    assert (await sent(api, f"{JOBS}?fieldValidation=Strict", value))[0] == 201
    assert (await sent(api, f"{QUEUES}?fieldValidation=Strict", queue(cohortName="c")))[0] == 201


async def test_a_way_of_validation_that_there_is_not_is_a_bad_request(api: aiohttp.ClientSession) -> None:
    code, told = await sent(api, f"{QUEUES}?fieldValidation=Hard", queue())
    assert code == 400 and "Ignore, Warn, Strict" in told["message"]
