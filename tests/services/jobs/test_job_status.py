"""How a job stands: what it needs no more pods for, and whether those that it needs are ready."""

from typing import Any

import pytest

from events.json_object import JsonObject
from events.json_path import FieldBroken
from services.jobs.job_status import count_indexes, is_stopped, ready_of, reclaimable_of
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.table import JOB, RAY_JOB, RAY_SERVICE


def job(*, indexed: bool = True, **status: Any) -> JsonObject:
    """Four completions, three pods at a time."""
    spec = {"parallelism": 3, "completions": 4, "completionMode": "Indexed" if indexed else "NonIndexed"}
    return {"metadata": {"name": "j"}, "spec": {**spec, "template": {"spec": {}}}, "status": status}


@pytest.mark.parametrize(
    ("status", "given_back"),
    [
        ({"succeeded": 1}, {}),
        ({"succeeded": 2}, {"main": 1}),
        ({"succeeded": 1, "failedIndexes": "0"}, {"main": 1}),
        ({"succeeded": 1, "failedIndexes": "0,2-3"}, {"main": 3}),
        ({"failed": 3}, {}),
    ],
    ids=str,
)
def test_an_index_that_has_failed_for_good_gives_its_quota_back_as_one_that_has_succeeded(
    status: JsonObject, given_back: dict[str, int]
) -> None:
    found = job(**status)
    assert reclaimable_of(JOB, found, pods_of(JOB, found)) == given_back


def test_a_job_without_indexes_gives_back_only_for_what_has_succeeded() -> None:
    found = job(indexed=False, succeeded=1, failedIndexes="0-3")
    assert reclaimable_of(JOB, found, pods_of(JOB, found)) == {}


def test_a_job_that_stands_still_asks_for_the_pods_alone_that_are_not_done() -> None:
    found = job(succeeded=3)
    found["spec"]["suspend"] = True
    assert reclaimable_of(JOB, found, pods_of(JOB, found)) == {"main": 2}


def test_of_a_job_that_is_over_when_one_pod_is_no_pod_is_made_again_once_one_has_succeeded() -> None:
    found = job(indexed=False, succeeded=1)
    del found["spec"]["completions"]
    assert reclaimable_of(JOB, found, pods_of(JOB, found)) == {"main": 1}


def test_of_a_job_that_was_larger_before_as_many_pods_are_needed_as_run_on() -> None:
    found = job(indexed=False, succeeded=2, active=2)
    del found["spec"]["completions"]
    assert reclaimable_of(JOB, found, pods_of(JOB, found)) == {"main": 1}
    found["spec"]["parallelism"] = 2
    assert reclaimable_of(JOB, found, pods_of(JOB, found)) == {}


def test_pods_are_ready_when_those_are_that_are_still_needed() -> None:
    for status, ready in (
        ({"ready": 3}, True),
        ({"ready": 2}, False),
        ({"ready": 1, "succeeded": 1, "failedIndexes": "3"}, True),
        ({"ready": 2, "uncountedTerminatedPods": {"succeeded": ["u"]}}, True),
    ):
        found = job(**status)
        assert ready_of(JOB, found, pods_of(JOB, found)) is ready, status


def test_the_pods_of_a_ray_job_are_ready_when_its_cluster_is_whatever_is_submitted_to_it() -> None:
    for status, ready in (
        ({"jobDeploymentStatus": "Initializing"}, False),
        ({"jobDeploymentStatus": "Initializing", "rayClusterStatus": {"state": "ready"}}, True),
        ({"jobDeploymentStatus": "Running", "rayClusterStatus": {"state": "ready"}}, True),
        ({"jobDeploymentStatus": "Running", "rayClusterStatus": {"state": "failed"}}, False),
    ):
        assert ready_of(RAY_JOB, {"spec": {}, "status": status}, ()) is ready, status


def test_indexes_that_cannot_be_read_are_named_with_their_field() -> None:
    assert count_indexes("0,3-5,7") == 5
    for text in ("a", "3-1", "1,,2", 7):
        with pytest.raises(FieldBroken, match="does not name indexes"):
            count_indexes(text)


def test_a_ray_service_that_never_served_has_stopped_when_its_pending_cluster_is_suspended() -> None:
    def service(**status: JsonObject) -> JsonObject:
        return {"spec": {"rayClusterConfig": {"suspend": True}}, "status": status}

    def cluster(state: str) -> JsonObject:
        return {"rayClusterName": "s-1", "rayClusterStatus": {"state": state}}

    assert is_stopped(RAY_SERVICE, service(activeServiceStatus={}, pendingServiceStatus=cluster("suspended")))
    assert is_stopped(RAY_SERVICE, service(activeServiceStatus=cluster("suspended")))
    assert not is_stopped(RAY_SERVICE, service(pendingServiceStatus=cluster("ready")))
    assert not is_stopped(RAY_SERVICE, service()), "its operator has not said yet which cluster it made"
    both = service(activeServiceStatus=cluster("ready"), pendingServiceStatus=cluster("suspended"))
    assert not is_stopped(RAY_SERVICE, both), "the one that serves runs on"
