"""Kinds of jobs that a configuration adds, that come later, that others own, and what only a Job can do."""

import asyncio
from pathlib import Path
from typing import Any

from events.json_object import JsonObject
from events.json_path import look
from ops.production.configuration.configuration_file import read_configuration
from ops.production.deploy.chart import NAMESPACE
from services.jobs.kinds.table import RAY_JOB
from services.runtime.cluster_port import Resource
from tests.stage.cluster import UNTIL_ENDED_S
from tests.stage.stage import JOBS, Stage, job
from tests.stories.job_samples import SAMPLED, child, definition, pod
from tests.stories.test_job_kinds import Play, prepare

SWEEP = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations:
  externalFrameworks: [Forest.v1.example.com]
kuelog:
  jobKinds:
  - group: example.com
    version: v1
    kind: Sweep
    plural: sweeps
    suspend: spec.paused
    pods:
    - at: spec.trials.*
      nameAt: id
      count: [{path: size}]
    succeeded: {at: status.phase, values: [Done]}
    stopped: {at: status.phase, values: [Paused]}
"""
SWEEPS = Resource(group="example.com", plural="sweeps", kind="Sweep")
CRON_JOBS = Resource(group="batch", plural="cronjobs", kind="CronJob")


def sweep() -> JsonObject:
    trials = [{"id": "wide", "size": 1, "template": pod(card=True)}]
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    meta = {"name": "s", "namespace": "default", "labels": labels}
    return {"apiVersion": "example.com/v1", "kind": "Sweep", "metadata": meta, "spec": {"trials": trials}}


def rights() -> list[JsonObject]:
    """What somebody who adds a kind has to allow: the roles that kuelog comes with know only its own kinds."""
    api, found = "rbac.authorization.k8s.io", list[JsonObject]()
    for service, verbs in (("watcher", ["list", "watch"]), ("applier", ["get", "patch", "delete"])):
        meta = {"name": f"sweeps-{service}"}
        rule = {"apiGroups": ["example.com"], "resources": ["sweeps"], "verbs": verbs}
        role = {"apiGroup": api, "kind": "ClusterRole", **meta}
        account = {"kind": "ServiceAccount", "name": f"kuelog-{service}", "namespace": NAMESPACE}
        found.append({"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": meta, "rules": [rule]})
        bound = {"roleRef": role, "subjects": [account]}
        found.append({"apiVersion": f"{api}/v1", "kind": "ClusterRoleBinding", "metadata": meta, **bound})
    return found


async def test_a_configuration_adds_a_kind_whose_definition_may_come_later(tmp_path: Path, stage: Stage) -> None:
    (tmp_path / "c.yaml").write_text(SWEEP)
    settings = read_configuration(tmp_path / "c.yaml").settings
    await prepare(stage)
    for value in rights():
        await stage.add(value)
    running = stage.serve(settings=settings)
    while running.watcher is None:  # noqa: ASYNC110 - the services are being put together
        await asyncio.sleep(0.01)
    await asyncio.wait_for(running.watcher.listed.wait(), 60)
    (kind,) = settings.job_kinds
    await stage.add(definition(kind))
    await stage.add(sweep())

    def spec() -> JsonObject:
        found = stage.get("sweeps.example.com", "default", "s")
        return found.get("spec", {})

    await asyncio.wait_for(stage.until(lambda: spec().get("paused") is False), 60)
    assert spec()["trials"][0]["template"]["spec"]["nodeSelector"] == {"own": "yes", "zone": "a"}
    await stage.client.merge(SWEEPS, "default", "s", {"status": {"phase": "Done"}}, subresource="status")
    play = Play(stage, kind)
    await asyncio.wait_for(play.until(lambda: play.condition("s", "Finished") == "True"), 60)


async def test_what_a_managed_job_owns_is_no_job_of_its_own(stage: Stage) -> None:
    await prepare(stage)
    stage.serve()
    play = Play(stage, SAMPLED[0])
    made = await play.submit("parent")
    await asyncio.wait_for(play.started("parent"), 60)
    inner: dict[str, Any] = job("inner", 5)
    inner["metadata"]["ownerReferences"] = child(made)["metadata"]["ownerReferences"]
    created = await stage.client.create(JOBS, "default", inner)
    assert not created["spec"].get("suspend"), "it starts with its owner"
    await stage.add(job("own", 5))
    await asyncio.wait_for(stage.until(lambda: bool(play.workload("own"))), 60)
    assert not play.workload("inner")


async def test_a_job_does_not_run_while_the_managed_one_that_owns_it_waits(stage: Stage) -> None:
    stage.serve()
    wide: dict[str, Any] = job("wide", UNTIL_ENDED_S)
    wide["spec"] |= {"parallelism": 100, "completions": 100}
    made = await stage.client.create(JOBS, "default", wide)
    await asyncio.wait_for(stage.until(lambda: bool(stage.of("workloads.kueue.x-k8s.io"))), 60)
    inner: dict[str, Any] = job("inner", UNTIL_ENDED_S)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "wide", "uid": made["metadata"]["uid"]}
    inner["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    assert not (await stage.client.create(JOBS, "default", inner))["spec"].get("suspend")

    def suspended() -> bool:
        return bool(stage.get("jobs.batch", "default", "inner")["spec"].get("suspend"))

    await asyncio.wait_for(stage.until(suspended), 60)
    await asyncio.wait_for(stage.until(lambda: any(one["reason"] == "Suspended" for one in stage.of("events"))), 60)


async def test_fewer_pods_may_be_let_in_and_a_stopped_job_is_as_it_was(stage: Stage) -> None:
    stage.serve()
    wide: dict[str, Any] = job("wide", UNTIL_ENDED_S)
    wide["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
    wide["spec"] |= {"parallelism": 3, "completions": 3}
    await stage.add(wide)
    await asyncio.wait_for(stage.until(lambda: stage.running("wide")), 60)

    def spec() -> JsonObject:
        return (stage.get("jobs.batch", "default", "wide"))["spec"]

    assert spec()["parallelism"] == 1, "there is room for one"
    await stage.add(job("urgent", 3600, urgent=True))
    await asyncio.wait_for(stage.until(lambda: stage.running("urgent")), 60)
    await asyncio.wait_for(stage.until(lambda: (spec()["suspend"], spec()["parallelism"]) == (True, 3)), 60)
    assert "nodeSelector" not in spec()["template"]["spec"]
    assert "kueue.x-k8s.io/podset" not in spec()["template"]["metadata"]["labels"]
    await stage.end_pods("urgent")
    await asyncio.wait_for(stage.until(lambda: stage.running("wide")), 60)
    assert spec()["template"]["spec"]["nodeSelector"] == {"zone": "a"}


def nightly() -> JsonObject:
    template = {"spec": job("nightly", 5)["spec"]}
    spec = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": template}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "default"},
        "spec": spec,
    }


async def test_the_jobs_of_a_cron_job_are_jobs_like_any_other(stage: Stage) -> None:
    stage.serve()
    await stage.add(nightly())
    uid = (await stage.client.get(CRON_JOBS, "default", "nightly"))["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": uid, "controller": True}
    made: dict[str, Any] = job("nightly-1", 5)
    made["metadata"]["ownerReferences"] = [owner]
    created = await stage.client.create(JOBS, "default", made)
    assert created["spec"]["suspend"] is True
    await asyncio.wait_for(stage.until(lambda: stage.complete("nightly-1")), 60)


async def test_a_ray_job_that_its_operator_refuses_gives_its_quota_back_and_waits_until_it_is_mended(
    stage: Stage,
) -> None:
    await prepare(stage, RAY_JOB)
    stage.serve()
    play = Play(stage, RAY_JOB)
    await play.submit("bad")
    await play.started("bad")
    await play.show("bad", {"status": {"jobDeploymentStatus": "ValidationFailed"}})
    reason = "status.conditions[QuotaReserved].reason"
    await play.until(lambda: look(play.workload("bad"), reason) == "OnHold")
    assert look(play.workload("bad"), "status.conditions[QuotaReserved].message") == (
        "RayJob failed validation; workload on hold"
    )
    await play.until(lambda: look(play.job("bad"), "spec.suspend") is True)
    await play.submit("good")
    await play.started("good")
    await play.delete("good")
    await play.show("bad", {"status": {"jobDeploymentStatus": "Suspended"}})
    await play.started("bad")
