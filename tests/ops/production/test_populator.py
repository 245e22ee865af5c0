"""Each namespace that a cluster queue selects gets a local queue of one name; what is there is left alone."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from events.json_object import JsonObject
from events.selector import LabelSelector
from ops.cli.main import app
from ops.production.kubernetes.client import KubeClient, connect, path_of
from ops.production.populator import READ, Population, WantedQueue, keep_populated, populated
from ops.production.process.clock import ScaledClock
from ops.production.webhook.default_local_queues import LOCAL_QUEUES
from services.runtime.cluster_port import AccessRefused, Resource
from tests.places import ROOT
from tests.stage.cluster import Cluster, Embedded
from tests.stage.installation import DEFINED
from tests.stage.real import Real

EXAMPLE = ROOT / "examples" / "populator" / "populator.yaml"
KUEUE = "kueue.x-k8s.io/v1beta2"
EVERYBODY: JsonObject = {}


def namespace(name: str, **labels: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def cluster_queue(name: str, selector: JsonObject | None = EVERYBODY, **meta: Any) -> JsonObject:
    spec = {} if selector is None else {"namespaceSelector": selector}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name, **meta}, "spec": spec}


def local_queue(space: str, of: str, name: str = "default") -> JsonObject:
    meta = {"name": name, "namespace": space}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": meta, "spec": {"clusterQueue": of}}


def wanted(*objects: JsonObject, selector: LabelSelector | None = None) -> list[tuple[str, str, str]]:
    """Namespace, cluster queue, and of whom there is one already."""
    seen: dict[str, dict[tuple[str, str], JsonObject]] = {one.kind: {} for one in READ}
    for one in objects:
        meta = one["metadata"]
        seen[one["kind"]][meta.get("namespace", ""), meta["name"]] = one
    found = Population(name="default", namespaces=selector).wanted(seen)
    return [(one.namespace, one.cluster_queue, one.taken_by) for one in found]


TEAM, OTHER = namespace("team", kind="lab"), namespace("other")
LAB = {"matchLabels": {"kind": "lab"}}


def test_a_namespace_gets_one_of_the_first_queue_that_selects_it() -> None:
    queues = (cluster_queue("b"), cluster_queue("a", LAB), cluster_queue("c"))
    assert wanted(TEAM, OTHER, *queues) == [("other", "b", ""), ("team", "a", "")]
    by_name = {"matchLabels": {"kubernetes.io/metadata.name": "other"}}
    assert wanted(TEAM, OTHER, cluster_queue("a", by_name)) == [("other", "a", "")]


def test_who_has_one_of_a_queue_that_selects_him_gets_no_other() -> None:
    assert wanted(TEAM, cluster_queue("a"), cluster_queue("b"), local_queue("team", "b")) == []
    assert wanted(TEAM, cluster_queue("a"), local_queue("team", "a", name="mine")) == [("team", "a", "")]


def test_one_of_another_queue_is_left_alone_and_told() -> None:
    assert wanted(TEAM, cluster_queue("a"), cluster_queue("b", None), local_queue("team", "b")) == [("team", "a", "b")]


def test_a_queue_without_a_selector_or_that_is_going_and_a_namespace_that_is_going_get_none() -> None:
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert wanted(TEAM, cluster_queue("a", None)) == []
    assert wanted(TEAM, cluster_queue("a", **going)) == []
    assert wanted({**TEAM, "metadata": {**TEAM["metadata"], **going}}, cluster_queue("a")) == []


def test_only_namespaces_that_are_asked_for_get_one() -> None:
    asked = LabelSelector(labels={"kind": "lab"})
    assert wanted(TEAM, OTHER, cluster_queue("a"), selector=asked) == [("team", "a", "")]


async def queues_in(client: KubeClient, space: str) -> dict[str, JsonObject]:
    found = (await client.request("GET", path_of(LOCAL_QUEUES, space)))["items"]
    return {one["metadata"]["name"]: one for one in found}


ONLY_TEAM = {"matchLabels": {"kubernetes.io/metadata.name": "team"}}


async def test_on_a_cluster_it_makes_what_is_missing_and_again_when_it_is_gone(cluster: Cluster) -> None:
    await cluster.start()
    try:
        client = await cluster.connect("")
        await cluster.add(namespace("team"))
        await cluster.add(cluster_queue("populated", ONLY_TEAM))
        population = Population(name="shared")
        expected = [WantedQueue(namespace="team", name="shared", cluster_queue="populated")]
        assert await populated(client, population, writes=False) == expected
        assert await queues_in(client, "team") == {}
        keeping = asyncio.create_task(keep_populated(client, population))
        await until_there(cluster)
        (made,) = (await queues_in(client, "team")).values()
        assert made["spec"]["clusterQueue"] == "populated"
        assert made["metadata"]["labels"] == {"kueue.x-k8s.io/auto-generated": "true"}
        await client.request("DELETE", path_of(LOCAL_QUEUES, "team", "shared"))
        await cluster.until(lambda: uid_of(cluster) not in ("", made["metadata"]["uid"]))
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        assert await populated(client, population) == []
        await client.close()
    finally:
        await cluster.stop()


async def test_a_cluster_without_the_kinds_is_told_of_in_one_line(tmp_path: Path, clock: ScaledClock) -> None:
    cluster = Embedded(tmp_path, clock)
    await cluster.start()
    try:
        client = await cluster.connect("")
        await client.request("DELETE", path_of(DEFINED, "", "localqueues.kueue.x-k8s.io"))
        kubeconfig = str(await cluster.kubeconfig_of(""))
        told = await asyncio.to_thread(CliRunner().invoke, app, ["populator", "--once", "--kubeconfig", kubeconfig])
        assert told.exit_code == 2
        assert "needs the definitions of Kueue's kinds" in " ".join(told.output.split())
        await client.close()
    finally:
        await cluster.stop()


def uid_of(cluster: Cluster) -> str:
    found = cluster.get("localqueues.kueue.x-k8s.io", ("team", "shared"))
    return "" if found is None else str(found["metadata"]["uid"])


async def until_there(cluster: Cluster) -> None:
    await cluster.until(lambda: bool(uid_of(cluster)))


async def test_the_rights_of_the_example_are_enough_and_no_more(real: Real, tmp_path: Path) -> None:
    parts = list(yaml.safe_load_all(EXAMPLE.read_text()))
    await real.start()
    try:
        for one in parts[:3]:
            await real.add(one)
        await real.add(cluster_queue("populated", ONLY_TEAM))
        owner = await real.connect("")
        account = Resource(plural="serviceaccounts", kind="ServiceAccount")
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = path_of(account, parts[0]["metadata"]["namespace"], "kuelog-populator", "token")
        token = (await owner.request("POST", path, asked))["status"]["token"]
        server = real.installation.server
        assert server is not None
        kubeconfig = tmp_path / "populator"
        kubeconfig.write_text(server.kubeconfig_of(token))
        client = await connect(str(kubeconfig), service="populator")
        assert [one.namespace for one in await populated(client, Population(name="shared"))] == ["team"]
        assert list(await queues_in(client, "team")) == ["shared"]
        with pytest.raises(AccessRefused):
            await client.request("DELETE", path_of(LOCAL_QUEUES, "team", "shared"))
        await client.close()
        await owner.close()
    finally:
        await real.stop()


def test_what_the_example_starts_is_the_command() -> None:
    *_, deployment = yaml.safe_load_all(EXAMPLE.read_text())
    pod = deployment["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"][0] == "populator"
    assert pod["serviceAccountName"] == "kuelog-populator"
