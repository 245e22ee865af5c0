"""A WorkloadPriorityClass and the label that names it, changed while jobs wait and run, as Kueue's issue 8322 asks for it."""

from collections.abc import Callable

import pytest

from events.json_object import JsonObject
from events.json_path import look
from services.applier.workloads.known_objects import WORKLOADS
from services.runtime.cluster_port import ObjectInvalid, Resource
from tests.stage.stage import JOBS, Stage, job
from tests.stage.without_jobs import stops, without_job

CLASSES = Resource(
    group="kueue.x-k8s.io",
    version="v1beta2",
    plural="workloadpriorityclasses",
    kind="WorkloadPriorityClass",
    namespaced=False,
)
CLASS = "kueue.x-k8s.io/priority-class"


async def value(stage: Stage, name: str, number: int) -> None:
    await stage.client.merge(CLASSES, "", name, {"value": number})


async def put(stage: Stage, name: str, of: str) -> None:
    made = job(name, 50_000)
    made["metadata"]["labels"][CLASS] = of
    await stage.add(made)


def asks(stage: Stage, name: str) -> JsonObject:
    found = stage.of("workloads.kueue.x-k8s.io")
    return next((one["spec"] for one in found if one["metadata"]["ownerReferences"][0]["name"] == name), {})


def shows(stage: Stage, name: str, priority: int, of: str) -> Callable[[], bool]:
    return lambda: (
        (asks(stage, name).get("priority"), look(asks(stage, name), "priorityClassRef.name")) == (priority, of)
    )


async def of_two_classes(stage: Stage) -> None:
    """One job runs in a class, another waits in a lower one."""
    for name, number in (("low", 1000), ("high", 2000)):
        meta = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": name}}
        await stage.add({**meta, "value": number})
    stage.serve()
    await put(stage, "runs", "high")
    await stage.until(lambda: stage.running("runs"))
    await put(stage, "waits", "low")
    await stage.until(shows(stage, "waits", 1000, "low"))
    assert not stage.running("waits")


async def test_a_class_whose_value_changes_changes_the_priority_of_who_waits_and_of_who_runs(stage: Stage) -> None:
    await of_two_classes(stage)
    await value(stage, "high", 500)
    await stage.until(shows(stage, "runs", 500, "high"))
    await stage.until(lambda: stage.running("waits") and not stage.running("runs"))
    await value(stage, "low", 100)
    await stage.until(shows(stage, "waits", 100, "low"))
    await stage.until(lambda: stage.running("runs") and not stage.running("waits"))


async def test_a_workload_without_a_job_has_the_value_that_its_class_has_now_and_shows_it(stage: Stage) -> None:
    await of_two_classes(stage)
    meta = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "own"}}
    await stage.add({**meta, "value": 500})
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "own"}
    await stage.add(without_job("alone", priority=500, priorityClassRef=reference))

    def alone() -> JsonObject:
        return stage.get("workloads.kueue.x-k8s.io", "default", "alone")

    await stage.until(lambda: bool(look(alone(), "status.conditions[QuotaReserved]")))
    assert not look(alone(), "status.admission")
    await value(stage, "own", 3000)
    await stage.until(lambda: bool(look(alone(), "status.admission")) and not stage.running("runs"))
    await stage.until(lambda: alone()["spec"]["priority"] == 3000)
    await stage.client.delete(CLASSES, "", "own")
    await stage.client.merge(WORKLOADS, "default", "alone", {"spec": {"active": False}})
    await stops(stage, "alone")
    await stage.until(lambda: stage.running("runs"))
    assert alone()["spec"]["priority"] == 3000, "what its class had last"


async def test_a_job_that_gets_another_class_makes_room_or_has_to(stage: Stage) -> None:
    await of_two_classes(stage)
    await stage.client.merge(JOBS, "default", "runs", {"metadata": {"labels": {CLASS: "low"}}})
    await stage.until(shows(stage, "runs", 1000, "low"))
    await stage.client.merge(JOBS, "default", "waits", {"metadata": {"labels": {CLASS: "high"}}})
    await stage.until(shows(stage, "waits", 2000, "high"))
    await stage.until(lambda: stage.running("waits") and not stage.running("runs"))
    if stage.cluster.real:  # Where the webhooks are asked.
        with pytest.raises(ObjectInvalid, match="cannot be removed"):
            await stage.client.merge(JOBS, "default", "runs", {"metadata": {"labels": {CLASS: None}}})


async def test_the_jobs_of_a_class_that_is_deleted_keep_their_priority_and_give_their_quota_back(stage: Stage) -> None:
    await of_two_classes(stage)
    for name in ("high", "low"):
        await stage.client.delete(CLASSES, "", name)
    await stage.end_pods("runs")
    await stage.until(lambda: stage.running("waits"))
    assert shows(stage, "waits", 1000, "low")()
