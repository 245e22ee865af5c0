"""Whatever is asked of the embedded API over HTTP, it answers what a real one does: never that it has failed itself."""

import copy
import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from events.json_object import JsonObject
from ops.production.crds.definitions import manifests
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.scenario.platform import convert, suspend
from tests.services.watcher.manifests import MANIFESTS, ODD, broken

Request = tuple[str, str, Any, str]
JSON_PATCH = "application/json-patch+json"
VERBS = ("add", "remove", "replace", "test", "move", "copy", "zap", 7, None)
PATHS = (
    "/spec", "/metadata", "/metadata/labels/a", "/metadata/finalizers", "/spec/template", "/status", "", "/",
    "/spec/template/spec/containers/0", "/spec/x/y", "spec", 7, None, ["a"], "/metadata/name", "/metadata/resourceVersion",
    "/apiVersion", "/kind", "/spec/suspend", "/spec/parallelism", "/spec/schedulingGates",
)  # fmt: skip


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    found = EmbeddedCluster(mutators=(suspend,), converter=convert, controllers=False)
    for one in manifests():
        found.add(one)
    await found.start()
    yield found
    await found.stop()


def path_of(kind: ApiKind, namespace: str) -> str:
    group = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    return f"{group}/namespaces/{namespace}/{kind.plural}" if kind.namespaced else f"{group}/{kind.plural}"


def odd_request(chance: random.Random, base: str, value: JsonObject) -> Request:
    """A request about an object, odd in some way."""
    one = f"{base}/{value['metadata']['name']}{chance.choice(('', '', '/status'))}"
    found = broken(value, chance)
    match chance.randrange(7):
        case 0 | 1:
            return "POST", base, found, "application/json"
        case 2:
            return "PUT", one, found, "application/json"
        case 3:
            form = chance.choice(("application/merge-patch+json", "application/strategic-merge-patch+json"))
            return "PATCH", one, {name: found[name] for name in list(found)[:2]}, form
        case 4:
            return "PATCH", f"{one}?fieldManager=m&force=true", found, "application/apply-patch+yaml"
        case 5:
            operation = {
                "op": chance.choice(VERBS),
                "path": chance.choice(PATHS),
                "from": chance.choice(PATHS),
                "value": chance.choice(ODD),
            }
            return "PATCH", one, [operation if chance.random() < 0.9 else chance.choice(ODD)], JSON_PATCH
        case _:
            options = {"preconditions": chance.choice(ODD), "gracePeriodSeconds": chance.choice(ODD)}
            grace = chance.choice(("", "?gracePeriodSeconds=x", f"?gracePeriodSeconds={'9' * 30}"))
            return "DELETE", f"{one}{grace}", options, "application/json"


async def test_odd_objects_patches_and_options_are_refused_and_fail_nothing(cluster: EmbeddedCluster) -> None:
    chance, codes = random.Random(1), Counter[int]()
    kinds = {one.kind: one for one in cluster.resources.kinds() if one.version == (one.storage or one.version)}
    async with aiohttp.ClientSession(cluster.url) as session:
        for number in range(1500):
            place, value = chance.choice([one for one in MANIFESTS if one[0] in kinds])
            kind, namespace = kinds[place], value["metadata"].get("namespace", "")
            good: JsonObject = {**copy.deepcopy(value), "apiVersion": kind.api_version, "kind": kind.kind}
            good["metadata"].pop("resourceVersion", None)
            base, name = path_of(kind, namespace), (namespace, good["metadata"]["name"])
            if chance.random() < 0.3 and cluster.store.get(kind.key, name) is not None:
                cluster.store.remove(kind.key, name)
            elif chance.random() < 0.3:
                async with session.post(base, json=good) as answer:
                    assert answer.status < 500, await answer.text()
            method, path, body, form = odd_request(chance, base, good)
            data = json.dumps(body)
            async with session.request(method, path, data=data, headers={"Content-Type": form}) as answer:
                codes[answer.status] += 1
                told = await answer.text()
                assert answer.status < 500, f"{number}: {method} {path} {form} {data[:3000]}: {told[:300]}"
                if answer.status == 422:
                    causes = json.loads(told)["details"].get("causes")
                    assert causes and all(one["field"] for one in causes), told
    assert codes[422] > 50 and codes[400] > 20 and codes[200] + codes[201] > 50


async def test_a_watch_from_no_version_is_a_bad_request(cluster: EmbeddedCluster) -> None:
    async with aiohttp.request("GET", f"{cluster.url}/api/v1/pods?watch=1&resourceVersion=x") as answer:
        assert answer.status == 400 and "resourceVersion" in await answer.text()


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"parallelism": "two", "template": {}}, "spec.parallelism"),
        ({"template": {"spec": {"containers": [7]}}}, "spec.template.spec.containers[0]"),
        ({"template": {"spec": {"containers": [{"name": "c", "resources": {"limits": []}}]}}}, "limits"),
    ],
)
async def test_a_job_of_other_types_is_refused_with_its_field(
    cluster: EmbeddedCluster, spec: JsonObject, field: str
) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    async with aiohttp.request("POST", f"{cluster.url}/apis/batch/v1/namespaces/default/jobs", json=job) as answer:
        assert answer.status == 422 and field in await answer.text()
