"""What a job of Ray's may not say."""

from typing import Any

import pytest

from events.job_kind import JobKind
from events.json_object import JsonObject
from services.jobs.kinds.ray_rules import ray_problems
from services.jobs.kinds.table import RAY_CLUSTER, RAY_JOB, RAY_SERVICE

LETTERS = "abcdefghijklmnopqrstuvwxyz"
HEAD: JsonObject = {"headGroupSpec": {"template": {}}}


def cluster(*groups: str) -> JsonObject:
    return {**HEAD, "workerGroupSpecs": [{"groupName": one} for one in groups]}


def ray_job(**spec: Any) -> JsonObject:
    return {"spec": {"shutdownAfterJobFinishes": True, "rayClusterSpec": cluster("a"), **spec}}


def told(kind: JobKind, job: JsonObject) -> list[str]:
    return [one.field for one in ray_problems(kind, job)]


def test_a_cluster_that_stays_when_its_job_has_ended_would_run_on_without_quota() -> None:
    assert told(RAY_JOB, ray_job()) == []
    assert told(RAY_JOB, ray_job(shutdownAfterJobFinishes=False)) == ["spec.shutdownAfterJobFinishes"]
    assert told(RAY_JOB, ray_job(shutdownAfterJobFinishes=None)) == ["spec.shutdownAfterJobFinishes"]


def test_a_ray_job_has_a_cluster_of_its_own_or_one_that_is_there() -> None:
    there = {"ray.io/cluster": "x"}
    assert told(RAY_JOB, ray_job(clusterSelector=there)) == ["spec.clusterSelector"]
    assert told(RAY_JOB, ray_job(rayClusterSpec=None)) == ["spec.rayClusterSpec"]
    assert told(RAY_JOB, {"spec": {"clusterSelector": there}}) == [], "it is not managed"


@pytest.mark.parametrize(
    ("kind", "at"),
    [(RAY_CLUSTER, ("spec",)), (RAY_SERVICE, ("spec", "rayClusterConfig")), (RAY_JOB, ("spec", "rayClusterSpec"))],
    ids=lambda one: getattr(one, "kind", ""),
)
def test_there_are_as_many_groups_of_workers_as_a_workload_has_room_for_and_none_is_called_head(
    kind: JobKind, at: tuple[str, ...]
) -> None:
    def job(*groups: str) -> JsonObject:
        found: JsonObject = cluster(*groups)
        return ray_job(rayClusterSpec=found) if kind is RAY_JOB else {at[0]: {at[1]: found} if at[1:] else found}

    groups = ".".join((*at, "workerGroupSpecs"))
    # A pod submits a RayJob.
    most = 16 if kind is RAY_JOB else 17
    assert told(kind, job(*LETTERS[:most])) == []
    assert told(kind, job(*LETTERS[: most + 1])) == [groups]
    assert told(kind, job("a", "head")) == [f"{groups}[1].groupName"]


def test_where_no_pod_submits_a_ray_job_there_is_room_for_one_more_group() -> None:
    job = ray_job(rayClusterSpec=cluster(*LETTERS[:17]), submissionMode="HTTPMode")
    assert told(RAY_JOB, job) == []
