"""Workload objects that are kept while something needs them, and what frees them, as under Kueue (`resource-in-use`)."""

import pytest

from events.api.labels import RESOURCE_IN_USE
from events.json_object import JsonObject
from events.json_path import look
from services.runtime.cluster_port import ObjectMissing, Resource
from services.runtime.own_task import stopped
from tests.stage.stage import JOBS, Stage, job

WORKLOADS = Resource(group="kueue.x-k8s.io", version="v1beta2", plural="workloads", kind="Workload")
NAMESPACES = Resource(plural="namespaces", kind="Namespace", namespaced=False)
PODS = Resource(plural="pods", kind="Pod")
QUEUE = {"kueue.x-k8s.io/queue-name": "team"}
FOREGROUND = {"propagationPolicy": "Foreground"}


def workload(stage: Stage, owner: str) -> JsonObject:
    found = stage.of("workloads.kueue.x-k8s.io")
    return next((one for one in found if one["metadata"]["ownerReferences"][0]["name"] == owner), {})


def held(value: JsonObject) -> bool:
    return RESOURCE_IN_USE in (look(value, "metadata.finalizers") or ())


def events(stage: Stage) -> list[tuple[str, str]]:
    return [(one["reason"], one["message"]) for one in stage.of("events")]


async def delete(stage: Stage, value: JsonObject) -> None:
    meta = value["metadata"]
    await stage.client.delete(WORKLOADS, meta["namespace"], meta["name"])


async def test_the_object_is_held_from_its_beginning_until_the_job_has_ended(stage: Stage) -> None:
    stage.serve()
    await stage.add(job("runs", 3600))
    await stage.until(lambda: stage.running("runs"))
    await stage.add(job("waits", 3600))
    await stage.until(
        lambda: stage.running("runs") and held(workload(stage, "runs")) and held(workload(stage, "waits"))
    )
    foreign = {"metadata": {"finalizers": [RESOURCE_IN_USE, "example.com/kept"]}}
    await stage.client.merge(WORKLOADS, "default", workload(stage, "runs")["metadata"]["name"], foreign)
    await stage.end_pods("runs")
    await stage.until(lambda: look(workload(stage, "runs"), "metadata.finalizers") == ["example.com/kept"])
    assert look(workload(stage, "runs"), "status.conditions[Finished].status") == "True"
    assert held(workload(stage, "waits"))
    freed = {"metadata": {"finalizers": None}}
    await stage.client.merge(WORKLOADS, "default", workload(stage, "runs")["metadata"]["name"], freed)


async def test_the_object_of_a_job_that_is_deleted_goes_whether_it_ran_or_waited(stage: Stage) -> None:
    stage.serve()
    await stage.add(job("runs", 3600))
    await stage.until(lambda: stage.running("runs"))
    await stage.add(job("waits", 3600))
    await stage.until(lambda: stage.running("runs") and held(workload(stage, "waits")))
    for name in ("runs", "waits"):
        await stage.client.delete(JOBS, "default", name)
    await stage.until(lambda: not stage.of("workloads.kueue.x-k8s.io"))


async def test_a_job_that_was_deleted_while_nobody_looked_leaves_no_object_behind(stage: Stage) -> None:
    stage.serve()
    await stage.add(job("runs", 3600))
    await stage.until(lambda: stage.running("runs") and held(workload(stage, "runs")))
    await stopped(stage.tasks.pop())
    await stage.client.delete(JOBS, "default", "runs")
    await stage.until(lambda: bool(look(workload(stage, "runs"), "metadata.deletionTimestamp")))
    stage.serve()
    await stage.until(lambda: not workload(stage, "runs"))


async def test_whose_object_is_deleted_is_stopped_and_let_in_anew(stage: Stage) -> None:
    stage.serve()
    await stage.add(job("runs", 3600))
    await stage.until(lambda: stage.running("runs"))
    before = workload(stage, "runs")
    await delete(stage, before)
    await stage.until(lambda: look(workload(stage, "runs"), "metadata.uid") not in (None, before["metadata"]["uid"]))
    await stage.until(lambda: stage.running("runs") and held(workload(stage, "runs")))
    stopped_by = ("Stopped", "Workload is deleted")
    await stage.until(lambda: [told for told in events(stage) if told[0] == "Stopped"] == [stopped_by])


async def test_the_object_of_a_job_that_waits_is_made_anew_when_it_is_deleted(stage: Stage) -> None:
    stage.serve()
    await stage.add(job("runs", 3600))
    await stage.until(lambda: stage.running("runs"))
    await stage.add(job("waits", 3600))
    await stage.until(lambda: bool(workload(stage, "waits")))
    before = workload(stage, "waits")
    await delete(stage, before)
    await stage.until(lambda: look(workload(stage, "waits"), "metadata.uid") not in (None, before["metadata"]["uid"]))
    await stage.until(lambda: held(workload(stage, "waits")))
    assert look(workload(stage, "waits"), "spec") == before["spec"]


@pytest.mark.parametrize("looks", [True, False], ids=["seen", "while nobody looks"])
async def test_an_object_that_somebody_lets_go_by_hand_is_made_anew_and_what_runs_goes_on(
    stage: Stage, looks: bool
) -> None:
    stage.serve()
    await stage.add(job("runs", 3600))
    await stage.until(lambda: stage.running("runs"))
    await stage.add(job("waits", 3600))
    await stage.until(lambda: held(workload(stage, "waits")) and held(workload(stage, "runs")))
    (pod,) = stage.of("pods")
    before = {name: workload(stage, name)["metadata"]["uid"] for name in ("runs", "waits")}
    if not looks:
        await stopped(stage.tasks.pop())
    for name in before:
        name_of = workload(stage, name)["metadata"]["name"]
        await stage.client.merge(WORKLOADS, "default", name_of, {"metadata": {"finalizers": None}})
        await delete(stage, workload(stage, name))
    await stage.until(lambda: not {look(workload(stage, name), "metadata.uid") for name in before} & {*before.values()})
    if not looks:
        stage.serve()
    await stage.until(lambda: all(held(workload(stage, name)) for name in before))
    reserved = "status.conditions[QuotaReserved].status"
    await stage.until(lambda: [look(workload(stage, name), reserved) for name in before] == ["True", "False"])
    assert [one["metadata"]["uid"] for one in stage.of("pods")] == [pod["metadata"]["uid"]]
    await stage.end_pods("runs")
    await stage.until(lambda: stage.running("waits"))


async def test_a_pod_whose_object_is_deleted_goes_with_it(stage: Stage) -> None:
    stage.serve()
    limits = job("x", 1)["spec"]["template"]["spec"]["containers"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "alone", "namespace": "default", "labels": QUEUE},
        "spec": {"restartPolicy": "Never", "containers": limits},
    }
    await stage.client.create(PODS, "default", pod)
    await stage.until(lambda: held(workload(stage, "alone")))
    await delete(stage, workload(stage, "alone"))
    await stage.until(lambda: not workload(stage, "alone") and not stage.get("pods", "default", "alone"))


async def test_a_job_that_is_deleted_in_the_foreground_does_not_wait_for_its_object(embedded_stage: Stage) -> None:
    stage = embedded_stage
    stage.serve()
    await stage.add(job("runs", 3600))
    await stage.until(lambda: stage.running("runs") and held(workload(stage, "runs")))
    await stage.client.request("DELETE", "/apis/batch/v1/namespaces/default/jobs/runs", FOREGROUND)
    await stage.until(lambda: not workload(stage, "runs") and not stage.get("jobs.batch", "default", "runs"))


async def test_a_namespace_that_is_deleted_goes_with_all_that_is_in_it(embedded_stage: Stage) -> None:
    stage = embedded_stage
    stage.serve()
    await stage.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}})
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "team", "namespace": "doomed"},
        "spec": {"clusterQueue": "team"},
    }
    await stage.add(queue)
    for name in ("runs", "waits"):
        made = job(name, 3600)
        made["metadata"]["namespace"] = "doomed"
        await stage.add(made)
    await stage.until(lambda: held(workload(stage, "runs")) and held(workload(stage, "waits")))
    await stage.client.delete(NAMESPACES, "", "doomed")
    await stage.until(lambda: not stage.of("workloads.kueue.x-k8s.io") and not stage.get("namespaces", "", "doomed"))
    try:
        found = await stage.client.get(NAMESPACES, "", "doomed")
    except ObjectMissing:
        found = {}
    assert not found
