"""Jobs that run in a Workload which was made before them and which they name."""

from typing import Any

import pytest

from events.api.labels import ELASTIC_JOB
from events.json_object import JsonObject
from services.applier.workloads.known_objects import WORKLOADS as WORKLOAD
from tests.stage.stage import JOBS, Stage, job
from tests.stories.test_elastic_jobs import runs, scale
from tests.stories.test_own_cards import alive, many_cards

WORKLOADS = "workloads.kueue.x-k8s.io"
NAME = "kueue.x-k8s.io/prebuilt-workload-name"
FINALIZER = "kueue.x-k8s.io/resource-in-use"


def naming(name: str, workload: str = "made", seconds: int = 36000) -> JsonObject:
    """A job that names the Workload that it is to run in."""
    found = job(name, seconds)
    found["metadata"]["labels"][NAME] = workload
    return found


def made(count: int = 1, **pods: Any) -> JsonObject:
    """A Workload that was made for such a job."""
    spec = {**job("any", 36000)["spec"]["template"]["spec"], **pods}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "made", "namespace": "default"},
        "spec": {"queueName": "team", "podSets": [{"name": "main", "count": count, "template": {"spec": spec}}]},
    }


def told(stage: Stage, kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition of the Workload; empty before it is there."""
    for one in (stage.get(WORKLOADS, "default", "made").get("status") or {}).get("conditions") or ():
        if one["type"] == kind:
            return one["status"], one["reason"], one["message"]
    return "", "", ""


def owners(stage: Stage) -> list[tuple[str, bool]]:
    found = stage.get(WORKLOADS, "default", "made").get("metadata") or {}
    return [(one["name"], one.get("controller", False)) for one in found.get("ownerReferences") or ()]


def waits_because(stage: Stage, job: str, why: str) -> bool:
    """Whether an Event on the job says why it waits."""
    events = [one for one in stage.of("events") if one["involvedObject"]["name"] == job]
    return any(why in one["message"] for one in events)


@pytest.mark.parametrize("first", ["Workload", "Job"])
async def test_a_job_runs_in_the_workload_that_it_names_whichever_of_them_comes_first(stage: Stage, first: str) -> None:
    stage.serve()
    if first == "Workload":
        await stage.add(made())
        await stage.until(lambda: told(stage, "Admitted")[0] == "True")
        await stage.add(naming("late"))
    else:
        await stage.add(naming("late"))
        await stage.until(lambda: waits_because(stage, "late", "Workload default/made doesn't exist"))
        assert not stage.running("late")
        await stage.add(made())
    await stage.until(lambda: stage.running("late"))
    await stage.until(lambda: owners(stage) == [("late", True)])
    meta = stage.get(WORKLOADS, "default", "made")["metadata"]
    uid = stage.get("jobs.batch", "default", "late")["metadata"]["uid"]
    assert meta["finalizers"] == [FINALIZER]
    assert meta["labels"]["kueue.x-k8s.io/job-uid"] == uid
    assert [one["metadata"]["name"] for one in stage.of(WORKLOADS)] == ["made"]
    await stage.end_pods("late")
    await stage.until(lambda: told(stage, "Finished")[:2] == ("True", "Succeeded"))


@pytest.mark.bare_server
async def test_an_elastic_job_keeps_the_size_of_its_workload_and_pods_beyond_it_wait(stage: Stage) -> None:
    await many_cards(stage)
    stage.serve()
    await stage.add(made(count=2))
    asked = naming("grow")
    asked["metadata"]["annotations"] = {ELASTIC_JOB: "true"}
    asked["spec"]["parallelism"] = 2
    await stage.add(asked)
    await stage.until(lambda: runs(stage, "grow", 2))
    await scale(stage, "grow", 3)
    await stage.until(lambda: runs(stage, "grow", 2, waiting=1))
    assert [one["metadata"]["name"] for one in stage.of(WORKLOADS)] == ["made"]
    await scale(stage, "grow", 2)
    await stage.until(lambda: len(alive(stage, "grow")) == 2)
    await stage.end_pods("grow")
    await stage.until(lambda: told(stage, "Finished")[:2] == ("True", "Succeeded"))


async def test_a_job_with_other_pods_ends_its_workload_as_out_of_sync_and_does_not_run(stage: Stage) -> None:
    stage.serve()
    await stage.add(made(count=2))
    await stage.add(naming("other"))
    await stage.until(lambda: told(stage, "Finished")[0] == "True")
    assert told(stage, "Finished")[1:] == ("OutOfSync", "The prebuilt workload is out of sync with its user job")
    assert stage.get("jobs.batch", "default", "other")["spec"]["suspend"] is True


async def test_a_second_job_does_not_get_the_workload_of_the_first(stage: Stage) -> None:
    stage.serve()
    await stage.add(made())
    await stage.add(naming("one"))
    await stage.until(lambda: stage.running("one"))
    await stage.add(naming("two"))
    await stage.until(lambda: waits_because(stage, "two", "Workload default/made belongs to Job/default/one"))
    assert not stage.running("two")
    assert owners(stage) == [("one", True)]


async def test_a_job_whose_workload_is_deleted_stops_and_runs_again_with_another_of_that_name(stage: Stage) -> None:
    stage.serve()
    await stage.add(made())
    await stage.add(naming("late"))
    await stage.until(lambda: stage.running("late") and owners(stage) == [("late", True)])
    await stage.client.delete(WORKLOAD, "default", "made")
    await stage.until(lambda: not stage.get(WORKLOADS, "default", "made"))
    await stage.until(lambda: stage.get("jobs.batch", "default", "late")["spec"]["suspend"] is True)
    await stage.add(made())
    await stage.until(lambda: stage.running("late"))


async def test_the_workload_goes_with_its_job(stage: Stage) -> None:
    stage.serve()
    await stage.add(made())
    await stage.add(naming("late"))
    await stage.until(lambda: stage.running("late") and owners(stage) == [("late", True)])
    await stage.client.delete(JOBS, "default", "late")
    await stage.until(lambda: not stage.get(WORKLOADS, "default", "made"))
