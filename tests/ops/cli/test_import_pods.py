"""Pods that run and that nobody manages are brought into queues: they run on, count, and make the next one wait."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.cli import import_pods
from ops.cli.import_pods import imported
from ops.cli.main import app
from ops.production.pod_import import ImportTargets, MappingRule, carry_out, planned
from ops.production.process.clock import ScaledClock
from services.runtime.cluster_port import ObjectMissing
from tests.ops.cli.test_adopt import left, until
from tests.ops.production.deploy.small_cluster import platform
from tests.stage.cluster import Cluster
from tests.stage.stage import PODS

Make = Callable[..., Cluster]
RULES = [MappingRule(labels={"src": "a"}, to_local_queue="lq"), MappingRule(labels={"src": "z"}, skip=True)]


def pod(name: str, *, cpus: int = 1, src: str = "a", labels: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpus)}}}
    meta = {"name": name, "namespace": "team", "uid": f"uid-{name}", "labels": {"src": src, **(labels or {})}}
    meta["annotations"] = {"kuelog.io/run-seconds": "3600"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def around(**other: Any) -> ImportTargets:
    found: dict[str, dict[str, JsonObject]] = {}
    for one in platform(2):
        space = one["metadata"].get("namespace")
        key = f"{space}/{one['metadata']['name']}" if space else one["metadata"]["name"]
        found.setdefault(one["kind"], {})[key] = one
    tables: dict[str, Any] = {
        "local_queues": found["LocalQueue"],
        "cluster_queues": found["ClusterQueue"],
        "flavors": found["ResourceFlavor"],
        "nodes": found["Node"],
        "classes": {"urgent": {"metadata": {"name": "urgent"}, "value": 7}},
    }
    return ImportTargets(**{**tables, **other})


def problem(value: JsonObject, rules: list[MappingRule] | None = None, **other: Any) -> str:
    (one,) = planned([value], RULES if rules is None else rules, around(**other), SettingsObserved())
    return one.problem


JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}


def test_what_keeps_a_pod_from_being_brought_in_is_said_of_each() -> None:
    assert problem(pod("p")) == ""
    assert problem(pod("p", src="other")) == "no mapping says to which LocalQueue it goes"
    assert problem(pod("p"), local_queues={}) == "there is no LocalQueue lq in its namespace"
    assert problem(pod("p"), cluster_queues={}) == "LocalQueue lq leads to ClusterQueue cq, which is not there"
    assert problem(pod("p"), flavors={}) == "its ClusterQueue has the ResourceFlavor a, which is not there"
    assert problem(pod("p", priorityClassName="none")) == "there is no PriorityClass none"
    assert problem(pod("p", cpus=0)) == "its ClusterQueue covers none of what it asks for"
    owned = pod("p")
    owned["metadata"]["ownerReferences"] = [JOB]
    assert problem(owned) == "it belongs to Job j: that is what a queue manages"
    replicated = pod("p")
    replicated["metadata"]["ownerReferences"] = [{**JOB, "apiVersion": "apps/v1", "kind": "ReplicaSet"}]
    assert problem(replicated) == ""


@pytest.mark.parametrize("kind", ["LocalQueue", "ClusterQueue"])
def test_a_pod_is_not_brought_into_a_queue_that_would_end_it(kind: str) -> None:
    there = around()
    tables = {"LocalQueue": there.local_queues, "ClusterQueue": there.cluster_queues}
    (value,) = tables[kind].values()
    value["spec"]["stopPolicy"] = "HoldAndDrain"
    name = value["metadata"]["name"]
    (one,) = planned([pod("p")], RULES, there, SettingsObserved())
    assert one.problem == f"{kind} {name} is stopped, and stops what runs in it: resume it first"
    value["spec"]["stopPolicy"] = "Hold"
    assert planned([pod("p")], RULES, there, SettingsObserved())[0].problem == ""


def test_rules_are_taken_in_order_and_may_ask_for_a_class() -> None:
    rules = [
        MappingRule(labels={"src": "a"}, priority_class="urgent", to_local_queue="none"),
        *RULES,
    ]
    assert problem(pod("p"), rules) == ""
    assert problem(pod("p", priorityClassName="urgent"), rules) == "there is no LocalQueue none in its namespace"
    assert planned([pod("p", src="z")], rules, around(), SettingsObserved()) == []


def test_its_flavor_is_that_of_its_node_and_its_priority_that_of_its_class() -> None:
    flavors = {name: {"spec": {"nodeLabels": {"pool": name}}} for name in ("a", "b")}
    cluster_queue = json.loads(json.dumps(around().cluster_queues["cq"]))
    (group,) = cluster_queue["spec"]["resourceGroups"]
    group["flavors"] = [{**group["flavors"][0], "name": name} for name in ("b", "a")]
    there = around(flavors=flavors, cluster_queues={"cq": cluster_queue})

    def plan(**spec: Any) -> Any:
        (one,) = planned([pod("p", **spec)], RULES, there, SettingsObserved())
        return one

    assert plan(nodeName="n1").flavors == {"cpu": "a"}
    assert plan(nodeName="n9").flavors == {"cpu": "b"}, "of a node that is in none it is the first one"
    urgent = plan(priorityClassName="urgent")
    assert urgent.workload["spec"]["priority"] == 7
    assert urgent.workload["spec"]["priorityClassRef"]["name"] == "urgent"
    assert urgent.usage == {"cpu": "1"}


async def test_they_run_on_count_and_make_the_next_one_wait_whether_services_run_or_not(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock) as found:
        cluster = found.cluster

        async def bring(*, dry_run: bool = False) -> Any:
            where = str(cluster.kubeconfig), ""
            return await imported(["team"], RULES, {"by": "hand"}, SettingsObserved(), where, dry_run=dry_run)

        def phase(name: str) -> str:
            return str(((cluster.get("pods", ("team", name)) or {}).get("status") or {}).get("phase"))

        def workload(name: str) -> JsonObject:
            objects = cluster.of("workloads.kueue.x-k8s.io").values()
            return next((one for one in objects if one["metadata"]["ownerReferences"][0]["name"] == name), {})

        await cluster.add(pod("first"))
        await cluster.until(lambda: phase("first") == "Running")
        told = await bring(dry_run=True)
        assert told.dry_run and [one.problem for one in told.pods] == [""] and not workload("first")
        told = await bring()
        assert not told.dry_run and told.failed == 0
        labels = (cluster.get("pods", ("team", "first")) or {})["metadata"]["labels"]
        assert labels["kueue.x-k8s.io/queue-name"] == "lq" and labels["by"] == "hand"
        assert (await bring()).pods == [], "it is managed now"

        async with found.serving() as running:
            await until(lambda: "LOG_0" in running.hosts)
            await cluster.add(pod("second"))
            await cluster.until(lambda: phase("second") == "Running")
            assert (await bring()).failed == 0
            world = running.hosts["LOG_0"].fold.world
            await until(lambda: sum(one.admitted for one in world.workloads.values()) == 2)
            third = pod("third", labels={"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/managed": "true"})
            third["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
            await cluster.add(third)
            await until(lambda: told_of(workload("third"), "QuotaReserved") == "False")
            assert phase("first") == phase("second") == "Running", "no pod was stopped"
            (admitted,) = [one for one in workload("first")["status"]["conditions"] if one["type"] == "Admitted"]
            assert (admitted["reason"], admitted["message"]) == ("Imported", "Imported into ClusterQueue cq")

            ended = {"metadata": {"annotations": {"kuelog.io/run-seconds": "0"}}}
            await found.client.merge(PODS, "team", "first", ended)
            await cluster.until(lambda: phase("third") == "Running")
            await until(lambda: told_of(workload("first"), "Finished") == "True")


def told_of(value: JsonObject, kind: str) -> str:
    conditions = (value.get("status") or {}).get("conditions") or ()
    return next((one["status"] for one in conditions if one["type"] == kind), "")


async def test_where_one_can_not_be_brought_in_none_is(cluster_with: Make, tmp_path: Path, clock: ScaledClock) -> None:
    async with left(cluster_with, tmp_path, clock) as found:
        await found.cluster.add(pod("good"))
        await found.cluster.add(pod("lost", src="nowhere"))
        where = str(found.cluster.kubeconfig), ""
        told = await imported(["team"], RULES, {}, SettingsObserved(), where, dry_run=False)
        assert told.dry_run and told.failed == 1
        assert not found.cluster.of("workloads.kueue.x-k8s.io")


SIMPLE = ["--queuelabel", "src", "--queuemapping", "a=lq"]


async def test_namespaces_are_named_together_and_one_that_is_not_there_is_no_answer_without_pods(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock) as found:
        await found.cluster.add(pod("good"))
        await found.cluster.add(pod("other", src="nowhere"))
        rules = tmp_path / "rules.yaml"
        rules.write_text("- {match: {labels: {src: a}}, toLocalQueue: lq}\n- {match: {}, skip: true}\n")

        async def asked(spaces: str) -> Any:
            words = ["import-pods", "--kubeconfig", str(found.cluster.kubeconfig), "-n", spaces]
            return await asyncio.to_thread(
                CliRunner().invoke, app, [*words, "--queuemapping-file", str(rules), "-o", "json"]
            )

        done = await asked("default,team,team")
        assert done.exit_code == 0, done.output
        assert [one["pod"] for one in json.loads(done.stdout)["pods"]] == ["team/good"], "the rest is left out"
        done = await asked("team,nowhere")
        assert (done.exit_code, done.stdout) == (2, "")
        assert "nowhere" in done.stderr and "not found" in done.stderr


async def test_a_pod_that_is_gone_meanwhile_keeps_nobody_else_out(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with left(cluster_with, tmp_path, clock) as found:
        for name in ("first", "second"):
            await found.cluster.add(pod(name))

        async def but_first(client: Any, one: Any, add: Any, at: Any) -> None:
            if one.pod == "team/first":
                raise ObjectMissing('pods "first" not found')
            await carry_out(client, one, add, at)

        monkeypatch.setattr(import_pods, "carry_out", but_first)
        where = str(found.cluster.kubeconfig), ""
        told = await imported(["team"], RULES, {}, SettingsObserved(), where, dry_run=False)
        assert [one.problem for one in told.pods] == ['pods "first" not found', ""]
        assert (told.dry_run, told.failed) == (False, 1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name --queuelabel and --queuemapping"),
        (["--queuelabel", "src", "--queuemapping-file", "rules.yaml"], "leave out --queuelabel and --queuemapping"),
        (["--queuemapping-file", "typo.yaml"], "rule 1 has the unknown field lables"),
        (["--queuemapping-file", "bare.yaml"], "rule 1 needs match: with labels or priorityClassName, or {} for all"),
        (["--queuemapping-file", "value.yaml"], "rule 1 needs text for names and values of labels"),
        ([*SIMPLE, "--add-labels", "a b=c"], "'a b': a name holds letters"),
        ([*SIMPLE, "--add-labels", "kueue.x-k8s.io/queue-name=b"], "queue-name is set by the import itself"),
        (["--queuelabel", "src", "--queuemapping", "a"], "is not of the form KEY=VALUE"),
        (["--queuemapping-file", "rules.yaml"], "rule 2 needs one of toLocalQueue and skip"),
    ],
)
def test_a_mistake_in_the_mapping_is_named(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rules = "- {match: {labels: {src: a}}, toLocalQueue: lq}\n- match: {priorityClassName: x}\n"
    (tmp_path / "rules.yaml").write_text(rules)
    (tmp_path / "typo.yaml").write_text("- {match: {lables: {src: a}, priorityClassName: x}, toLocalQueue: lq}\n")
    (tmp_path / "bare.yaml").write_text("- {toLocalQueue: lq}\n")
    (tmp_path / "value.yaml").write_text("- {match: {labels: {src: true}}, toLocalQueue: lq}\n")
    done = CliRunner().invoke(app, ["import-pods", "-n", "team", *words])
    assert done.exit_code == 2 and told in " ".join(done.output.replace("│", " ").split())
