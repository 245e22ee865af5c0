"""kueuectl's habits, as a person has them: real commands against a platform that runs."""

import asyncio
import json
import os
import shutil
import sys
import tomllib
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from events.json_path import look
from ops.cli.kubectl.age import human
from ops.cli.main import app
from ops.production.visibility.api import GROUP, Visibility
from ops.production.visibility.server import Followed
from tests.places import ROOT
from tests.stage.forked_commands import forked
from tests.stage.stage import Stage, job


class Kubectl:
    """The command line, with a platform behind."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    async def ask(self, *words: str, code: int = 0, say: str = "") -> str:
        """What a command prints; its complaints, when it is to fail."""
        environment = {**os.environ, "COLUMNS": "200", "KUBECONFIG": str(self.stage.kubeconfig)}
        done = await asyncio.to_thread(forked, words, env=environment, given=say)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout

    async def table(self, *words: str) -> list[list[str]]:
        """The cells of a table: columns stand three spaces apart, and an empty cell is all spaces."""
        head, *lines = (await self.ask(*words)).splitlines()
        starts = [0]
        for place in range(3, len(head)):
            if head[place - 3 : place] == "   " and head[place] != " ":
                starts.append(place)
        ends = [*starts[1:], None]
        return [[line[a:b].strip() for a, b in zip(starts, ends, strict=True)] for line in (head, *lines)]

    def object(self, plural: str, name: str, namespace: str = "") -> dict[str, Any]:
        return self.stage.get(f"{plural}.kueue.x-k8s.io", namespace, name)


@pytest.fixture
async def kubectl(stage: Stage) -> AsyncIterator[Kubectl]:
    """One job runs, two wait."""
    running = stage.serve()
    if not stage.cluster.real:
        stage.embedded.aggregated[GROUP] = Visibility(Followed(running))
    await stage.add(job("first", 5000))
    await stage.until(lambda: stage.running("first"))
    for name in ("second", "third"):
        await stage.add(job(name, 5000))
    found = Kubectl(stage)

    def settled() -> bool:
        status = found.object("localqueues", "team", "default").get("status") or {}
        return (status.get("pendingWorkloads"), status.get("admittedWorkloads")) == (2, 1)

    await stage.until(settled)
    await stage.until(lambda: look(found.object("clusterqueues", "team"), "status.pendingWorkloads") == 2)
    yield found


async def test_what_is_there_is_listed_in_kueuectls_columns(kubectl: Kubectl) -> None:
    head, row = await kubectl.table("list", "clusterqueue")
    assert head == ["NAME", "COHORT", "PENDING WORKLOADS", "ADMITTED WORKLOADS", "ACTIVE", "AGE"]
    assert row[:5] == ["team", "", "2", "1", "true"]
    head, row = await kubectl.table("list", "lq")
    assert head == ["NAME", "CLUSTERQUEUE", "PENDING WORKLOADS", "ADMITTED WORKLOADS", "AGE"]
    assert row[:4] == ["team", "team", "2", "1"]
    head, row = await kubectl.table("list", "rf")
    assert (head, row[:2]) == (["NAME", "NODE LABELS", "AGE"], ["v100", "zone=a"])
    head, *rows = await kubectl.table("list", "workload", "-A")
    assert head == [
        *("NAMESPACE", "NAME", "JOB TYPE", "JOB NAME", "LOCALQUEUE", "CLUSTERQUEUE"),
        *("STATUS", "POSITION IN QUEUE", "EXEC TIME", "AGE"),
    ]
    by_job = {row[3]: row for row in rows}
    assert by_job["first"][2:8] == ["job.batch", "first", "team", "team", "ADMITTED", ""]
    assert {by_job[name][6] for name in ("second", "third")} == {"PENDING"}
    # Who has not been told of the visibility API has no positions.
    assert {by_job[name][7] for name in ("second", "third")} == ({""} if kubectl.stage.cluster.real else {"0", "1"})


async def test_lists_can_be_narrowed_and_read_by_programs(kubectl: Kubectl) -> None:
    waiting = await kubectl.table("list", "workload", "--status", "pending")
    assert sorted(row[2] for row in waiting[1:]) == ["second", "third"]
    (found,) = (await kubectl.table("list", "wl", "--for", "job.batch/first"))[1:]
    assert found[2] == "first"
    told = json.loads(await kubectl.ask("list", "workload", "-c", "team", "-q", "team", "-o", "json"))
    assert (told["kind"], len(told["items"])) == ("WorkloadList", 3)
    assert yaml.safe_load(await kubectl.ask("list", "cq", "--active", "false", "-o", "yaml"))["items"] == []
    assert await kubectl.ask("list", "cq", "-o", "name") == "clusterqueue.kueue.x-k8s.io/team\n"
    assert await kubectl.ask("list", "workload", "-n", "kube-system") == ""


async def test_a_queue_is_stopped_and_goes_on(kubectl: Kubectl) -> None:
    assert await kubectl.ask("stop", "cq", "team", "--keep-already-running") == (
        "clusterqueue.kueue.x-k8s.io/team stopped\n"
    )
    assert kubectl.object("clusterqueues", "team")["spec"]["stopPolicy"] == "Hold"
    shown = await kubectl.ask("stop", "localqueue", "team", "--dry-run", "client", "-o", "json")
    assert json.loads(shown)["spec"] == {"clusterQueue": "team", "stopPolicy": "HoldAndDrain"}
    await kubectl.ask("stop", "localqueue", "team", "--dry-run", "server")
    assert "stopPolicy" not in kubectl.object("localqueues", "team", "default")["spec"]
    assert await kubectl.ask("resume", "clusterqueue", "team") == "clusterqueue.kueue.x-k8s.io/team resumed\n"
    assert kubectl.object("clusterqueues", "team")["spec"]["stopPolicy"] == "None"
    complaint = await kubectl.ask("stop", "cq", "nobody", code=2)
    assert complaint == 'Error from server: clusterqueues.kueue.x-k8s.io "nobody" not found\n'


async def test_a_workload_is_stopped_described_and_deleted_with_its_job(kubectl: Kubectl) -> None:
    (row,) = (await kubectl.table("list", "wl", "--for", "job/first"))[1:]
    name = row[0]
    assert await kubectl.ask("stop", "workload", name) == f"workload.kueue.x-k8s.io/{name} stopped\n"
    # Its events are written behind the stop of the job.
    await kubectl.stage.until(
        lambda: any(one["reason"] == "EvictedDueToDeactivated" for one in kubectl.stage.of("events"))
    )
    told = await kubectl.ask("describe", "workload", name)
    assert f"Name:         {name}\nNamespace:    default\n" in told
    assert "  Active:" in told
    assert "EvictedDueToDeactivated" in told
    asked = await kubectl.ask("delete", "workload", name, say="n\n")
    assert f"Job first, of workload {name}" in asked
    assert kubectl.object("workloads", name, "default")
    await kubectl.ask("delete", "workload", name, "--yes")
    await kubectl.stage.until(lambda: not kubectl.stage.get("jobs.batch", "default", "first"))


async def test_workloads_of_all_namespaces_are_deleted_with_their_jobs(
    kubectl: Kubectl,
) -> None:
    stage = kubectl.stage
    await kubectl.ask("create", "lq", "training", "-c", "team", "-n", "kube-public")
    elsewhere = job("elsewhere", 5000)
    elsewhere["metadata"]["namespace"] = "kube-public"
    await stage.add(elsewhere)
    await stage.until(lambda: len(stage.of("workloads.kueue.x-k8s.io")) == 4)
    assert "--all" in await kubectl.ask("delete", "kueueworkloads", "x", "--all", "-A", code=2)
    assert "--all" in await kubectl.ask("delete", "kueueworkloads", "-A", code=2)
    asked = await kubectl.ask("delete", "kueueworkloads", "--all", "-A", say="n\n")
    assert "Job elsewhere, of workload" in asked and "in namespace kube-public" in asked
    await kubectl.ask("delete", "kueueworkloads", "--all", "-A", "--yes")
    await stage.until(lambda: not stage.of("jobs.batch"))


async def test_queues_and_flavors_are_made_from_flags(kubectl: Kubectl) -> None:
    quotas = "alpha:cpu=9;memory=36Gi,beta:cpu=18;memory=72Gi"
    words = ("--cohort", "all", "--nominal-quota", quotas, "--borrowing-limit", "alpha:cpu=1")
    made = await kubectl.ask("create", "clusterqueue", "more", *words, "--reclaim-within-cohort", "Any")
    assert made == "clusterqueue.kueue.x-k8s.io/more created\n"
    spec = kubectl.object("clusterqueues", "more")["spec"]
    (group,) = spec["resourceGroups"]
    assert (spec["cohortName"], group["coveredResources"]) == ("all", ["cpu", "memory"])
    assert group["flavors"][0] == {
        "name": "alpha",
        "resources": [
            {"name": "cpu", "nominalQuota": "9", "borrowingLimit": "1"},
            {"name": "memory", "nominalQuota": "36Gi"},
        ],
    }
    await kubectl.ask("create", "lq", "door", "-c", "more", "-n", "default")
    assert kubectl.object("localqueues", "door", "default")["spec"] == {"clusterQueue": "more"}
    complaint = await kubectl.ask("create", "lq", "lost", "-c", "nowhere", code=2)
    assert "there is no ClusterQueue nowhere" in complaint
    words = ("--node-labels", "a=b", "--node-taints", "k=v:NoSchedule", "--tolerations", "k:NoSchedule,x=y")
    plan = json.loads(await kubectl.ask("create", "rf", "soft", *words, "--dry-run", "client", "-o", "json"))
    assert plan["spec"] == {
        "nodeLabels": {"a": "b"},
        "nodeTaints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
        "tolerations": [
            {"key": "k", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "x", "operator": "Equal", "value": "y"},
        ],
    }
    assert not kubectl.object("resourceflavors", "soft")
    assert "already exists" in await kubectl.ask("create", "cq", "more", code=2)
    assert "write FLAVOR:RESOURCE" in await kubectl.ask("create", "cq", "x", "--nominal-quota", "cpu=9", code=2)
    assert await kubectl.ask("delete", "cq", "more") == "clusterqueue.kueue.x-k8s.io/more deleted\n"


@pytest.mark.parametrize("option", ["--nominal-quota", "--borrowing-limit", "--lending-limit"])
@pytest.mark.parametrize("twice", ["v:cpu=1;cpu=2", "v:cpu=1,v:cpu=1", "v:cpu=1;memory=1,v:cpu=2"])
def test_an_amount_that_is_given_twice_is_refused(option: str, twice: str) -> None:
    whole = () if option == "--nominal-quota" else ("--nominal-quota", "v:cpu=9;memory=9")
    done = CliRunner().invoke(app, ["create", "cq", "x", *whole, option, twice, "--dry-run", "client"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "cpu of v is given twice" in done.stderr


def test_the_resources_of_a_flavor_may_be_given_in_several_words() -> None:
    words = ("--nominal-quota", "v:cpu=1", "--nominal-quota", "v:memory=2", "--dry-run", "client", "-o", "json")
    done = CliRunner().invoke(app, ["create", "cq", "x", *words])
    (group,) = json.loads(done.stdout)["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["cpu", "memory"]


def test_without_a_cluster_there_is_one_clear_message(tmp_path: Path) -> None:
    done = forked(("list", "cq", "--kubeconfig", str(tmp_path / "none")), env=os.environ)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no Kubernetes cluster: there is no file ")
    assert done.stderr.count("\n") == 1


async def test_kubectl_learns_what_may_follow() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ops.cli.kubectl.completion", "list", "work"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await process.communicate()
    assert told.decode().split() == ["workload", ":4"]


def test_every_script_that_is_installed_leads_to_a_function() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert {"kuelog", "kubectl-kuelog", "kubectl_complete-kuelog"} <= set(scripts)
    for target in scripts.values():
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (5, "5s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (2700, "45m"),
        (12_000, "3h20m"),
        (108_000, "30h"),
        (273_600, "3d4h"),
        (3_456_000, "40d"),
        (63_936_000, "2y10d"),
        (-3, "0s"),
    ],
)
def test_durations_are_told_as_kubectl_tells_them(seconds: int, text: str) -> None:
    assert human(seconds) == text


async def test_the_pods_of_a_job_are_found_by_its_name(kubectl: Kubectl) -> None:
    (pod,) = [one for one in kubectl.stage.of("pods") if one["metadata"]["name"].startswith("first")]
    head, *rows = await kubectl.table("list", "pods", "--for", "job/first")
    assert head == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [row[0] for row in rows] == [pod["metadata"]["name"]] and rows[0][2] == "Running"
    assert [row[1] for row in (await kubectl.table("list", "po", "-A", "--for", "jobs.batch/first"))[1:]] == [
        row[0] for row in rows
    ]
    (row,) = (await kubectl.table("list", "pods", "--for", f"pod/{pod['metadata']['name']}", "-o", "wide"))[1:]
    assert row[5] == "n1"
    assert await kubectl.ask("list", "pods", "--for", "job/second") == "", "it waits"
    listed = json.loads(await kubectl.ask("list", "pods", "--for", "job/first", "-o", "json"))
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "PodList") and len(listed["items"]) == 1
    assert "TYPE[.API-GROUP]/NAME" in await kubectl.ask("list", "pods", "--for", "first", code=2)


async def test_pods_of_a_workload_whose_maker_is_another_are_its_own(embedded_stage: Stage) -> None:
    stage = embedded_stage
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "r", "uid": "u", "controller": True}
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "rayjob-r-1", "namespace": "default", "ownerReferences": [owner]},
        "spec": {"queueName": "team", "podSets": [{"name": "main", "count": 1, "template": template}]},
    }
    await stage.add(workload)
    for name, notes in (("mine", {"kueue.x-k8s.io/workload": "rayjob-r-1"}), ("other", {})):
        meta = {"name": name, "namespace": "default", "annotations": notes}
        await stage.add({"apiVersion": "v1", "kind": "Pod", "metadata": meta, **template})
    assert (await Kubectl(stage).ask("list", "pods", "--for", "rayjob.ray.io/r", "-o", "name")).split() == ["pod/mine"]


async def test_the_version_is_told_with_the_images_that_run(embedded_stage: Stage) -> None:
    kubectl = Kubectl(embedded_stage)
    first, *rest = (await kubectl.ask("version")).splitlines()
    assert first.startswith("Client Version: ") and rest == []
    await embedded_stage.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
    for name in ("kuelog-admitter", "kuelog-watcher"):
        labels = {"app.kubernetes.io/name": "kuelog"}
        meta = {"name": name, "namespace": "elsewhere", "labels": labels}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "kuelog:7"}]}}
        spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        await embedded_stage.add({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec})
    told = (await kubectl.ask("version", "-n", "elsewhere")).splitlines()
    assert told == [first, "Image: kuelog:7 (kuelog-admitter, kuelog-watcher)"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on the PATH: install it")
async def test_get_and_patch_are_handed_on_to_kubectl(kubectl: Kubectl) -> None:
    told = await kubectl.ask("get", "cq", "team", "-o", "jsonpath={.metadata.name}")
    assert told == "team"
    await kubectl.ask("patch", "lq", "team", "--type=merge", "-p", '{"spec":{"stopPolicy":"Hold"}}')
    await kubectl.stage.until(
        lambda: kubectl.object("localqueues", "team", "default")["spec"].get("stopPolicy") == "Hold"
    )
    assert "NotFound" in await kubectl.ask("get", "workload", "nobody", code=1), "its exit code, too"


def test_without_kubectl_there_is_one_clear_message(tmp_path: Path) -> None:
    done = forked(("edit", "rf", "v100"), env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr == "error: kuelog edit hands on to kubectl, and there is no kubectl on the PATH\n"
