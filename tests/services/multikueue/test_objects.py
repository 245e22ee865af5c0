"""What is written in a worker cluster, and what of it is shown here."""

from typing import Any

import pytest

from events.job_kind import JobKind
from events.json_object import JsonObject
from events.json_path import Location, get, put
from services.jobs.kinds.ray import CLUSTER_AT
from services.jobs.kinds.table import JOB, JOB_SET, LEADER_WORKER_SET, RAY_CLUSTER, RAY_JOB, RAY_SERVICE, TRAIN_JOB
from services.multikueue.autoscaled import autoscaled_patch, is_scaled_there
from services.multikueue.objects import (
    amended,
    is_deferred,
    is_of_origin,
    parked_patch,
    remote_job,
    remote_workload,
    status_patch,
    step_patch,
)
from services.multikueue.remote_plan import Outline
from services.multikueue.remote_workloads import remote_workload_fact

ORIGIN = "kueue.x-k8s.io/multikueue-origin"
NOW = 1_700_000_000_000


def job(*, suspend: bool = True, **status: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "x", "controller-uid": "u", "batch.kubernetes.io/job-name": "a"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "a",
            "namespace": "team",
            "uid": "u",
            "resourceVersion": "7",
            "labels": {"kueue.x-k8s.io/queue-name": "lq"},
            "annotations": {"kuelog.io/decision": "LOG_0/3", "note": "n"},
            "ownerReferences": [{"kind": "X"}],
        },
        "spec": {
            "suspend": suspend,
            "managedBy": "kueue.x-k8s.io/multikueue",
            "selector": {"matchLabels": {"controller-uid": "u"}},
            "template": template,
        },
        "status": status,
    }


def test_a_copy_names_the_queue_that_its_workload_names_by_now() -> None:
    local = {"apiVersion": "v", "kind": "Workload", "metadata": {"name": "a", "namespace": "team"}}
    before = {**local, "spec": {"queueName": "lq", "priority": 1}}
    assert remote_workload(before, "here", queue="other")["spec"] == {"queueName": "other", "priority": 1}
    gated = remote_workload(before, "here", queue="other", gated=True)["spec"]
    assert (gated["queueName"], len(gated["preemptionGates"])) == ("other", 1)


def test_a_copy_may_run_as_long_as_its_workload_may_by_now() -> None:
    local = {"apiVersion": "v", "kind": "Workload", "metadata": {"name": "a", "namespace": "team"}}
    before = {**local, "spec": {"maximumExecutionTimeSeconds": 5}}
    copy = remote_workload(before, "here", max_execution=9000)
    assert copy["spec"] == {"maximumExecutionTimeSeconds": 9}
    assert remote_workload_fact("w1", copy).max_execution == 9000
    endless = remote_workload(before, "here")
    assert (endless["spec"], remote_workload_fact("w1", endless).max_execution) == ({}, 0)


def test_a_copy_has_neither_owner_nor_status_and_says_who_has_made_it() -> None:
    local = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "job-a",
            "namespace": "team",
            "uid": "u",
            "labels": {"kueue.x-k8s.io/job-uid": "u", "kept": "y"},
            "annotations": {"kuelog.io/decision": "LOG_0/3", "note": "n"},
            "ownerReferences": [{"kind": "Job"}],
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        },
        "spec": {"queueName": "lq"},
        "status": {"conditions": []},
    }
    copy = remote_workload(local, "here")
    assert copy == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "job-a",
            "namespace": "team",
            "labels": {"kept": "y", ORIGIN: "here"},
            "annotations": {"note": "n"},
        },
        "spec": {"queueName": "lq"},
    }
    assert is_of_origin(copy, "here") and not is_of_origin(copy, "there") and not is_of_origin(local, "")


def test_a_job_is_made_without_what_was_generated_and_names_its_workload() -> None:
    made = remote_job(JOB, job(), "job-a", "here", managed_by="spec.managedBy")
    assert made["metadata"]["labels"] == {
        "kueue.x-k8s.io/queue-name": "lq",
        ORIGIN: "here",
        "kueue.x-k8s.io/prebuilt-workload-name": "job-a",
    }
    assert made["metadata"]["annotations"] == {"note": "n"}
    assert made["spec"] == {"suspend": True, "template": {"metadata": {"labels": {"app": "x"}}}}
    assert set(made["metadata"]) == {"name", "namespace", "labels", "annotations"} and "status" not in made


def test_a_train_job_is_made_without_the_patch_of_who_starts_it_here() -> None:
    patches = [{"manager": "mine"}, {"manager": "kueue.x-k8s.io/manager"}]
    local = {**job(), "spec": {"managedBy": "kueue.x-k8s.io/multikueue", "runtimePatches": patches}}
    made = remote_job(TRAIN_JOB, local, "train-job-a", "here", managed_by="spec.managedBy")
    assert made["spec"] == {"runtimePatches": [{"manager": "mine"}]}


def test_the_status_there_is_shown_here_once_the_job_here_may_run_too() -> None:
    there = job(suspend=False, active=1, ready=1)
    assert is_deferred(JOB, job(), there)
    deferred = status_patch(JOB, job(), there, NOW)
    assert deferred is not None and list(deferred["status"]) == ["conditions"]
    (condition,) = deferred["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Suspended", "MultiKueueAdapter")
    here = job(suspend=False, active=2, failed=1)
    assert status_patch(JOB, here, there, NOW) == {"status": {"active": 1, "ready": 1, "failed": None}}
    assert status_patch(JOB, there, there, NOW) is None
    over = job(suspend=False, conditions=[{"type": "Complete", "status": "True"}])
    assert not is_deferred(JOB, job(), over), "how it has ended is shown at once"


def test_a_job_that_nobody_can_ask_looks_stopped() -> None:
    patch = parked_patch(JOB, job(active=2, ready=2, terminating=1), NOW)
    assert patch is not None
    assert {name: value for name, value in patch["status"].items() if name != "conditions"} == {
        "active": None,
        "ready": None,
        "terminating": None,
    }
    assert patch["status"]["conditions"][0]["type"] == "Suspended"
    job_set = {"spec": {"suspend": True}, "status": {"replicatedJobsStatus": [{"name": "w", "active": 2}]}}
    parked = parked_patch(JOB_SET, job_set, NOW)
    assert parked is not None
    assert parked["status"]["replicatedJobsStatus"] == [{"name": "w", "active": 0}]
    assert parked["status"]["conditions"][0]["type"] == "Suspended"


def test_a_copy_does_not_take_along_what_its_workload_here_cites() -> None:
    cited = {"kuelog.io/cited-commit": f"LOG_0/3/{'0' * 64}", "note": "n"}
    meta = {"name": "a", "namespace": "team", "annotations": cited}
    copy = remote_workload({"apiVersion": "v", "kind": "Workload", "metadata": meta, "spec": {}}, "here")
    assert copy["metadata"]["annotations"] == {"note": "n"}


def test_a_job_that_began_anew_there_while_nobody_looked_keeps_its_start_time_here() -> None:
    """The API server takes no other start time for a Job that is not suspended, and would refuse all of the status for ever."""
    local = job(suspend=False, startTime="2026-01-01T00:00:00Z", active=1)
    there = job(suspend=False, startTime="2026-01-01T00:05:00Z", succeeded=1)
    assert status_patch(JOB, local, there, NOW) == {"status": {"active": None, "succeeded": 1}}
    stopped = job(suspend=True, conditions=[{"type": "Suspended", "status": "True"}])
    patch = status_patch(JOB, local, stopped, NOW)
    assert patch is not None and "startTime" not in patch["status"], "nor may it be taken away"
    waiting = job(suspend=True, startTime="2026-01-01T00:00:00Z")
    assert status_patch(JOB, waiting, stopped, NOW) == {
        "status": {"startTime": None, "conditions": stopped["status"]["conditions"]}
    }


def test_the_pods_of_a_leader_worker_set_name_no_queue_there_before_who_admits_them_has_them_name_it() -> None:
    """Kueue's manager gives a pod that names a queue no Workload: it takes it for one that it has seen."""
    named = {"metadata": {"labels": {"app": "s", "kueue.x-k8s.io/queue-name": "q"}}, "spec": {}}
    local: dict[str, Any] = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "l", "namespace": "team", "uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"leaderWorkerTemplate": {"leaderTemplate": named, "workerTemplate": named, "size": 2}},
    }
    made = remote_job(LEADER_WORKER_SET, local, "l-0", "multikueue")
    assert made["metadata"]["labels"] == {
        "kueue.x-k8s.io/queue-name": "q",
        "kueue.x-k8s.io/multikueue-origin": "multikueue",
    }
    templates = made["spec"]["leaderWorkerTemplate"]
    assert [templates[one]["metadata"]["labels"] for one in ("leaderTemplate", "workerTemplate")] == [{"app": "s"}] * 2


def test_a_copy_is_made_smaller_and_gets_another_class_in_place() -> None:
    pod_sets = [{"name": "main", "count": 4, "template": {"spec": {}}}]
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "low"}
    copy = {
        "metadata": {"resourceVersion": "7"},
        "spec": {"podSets": pod_sets, "priority": 1, "priorityClassRef": reference},
    }
    same = Outline(counts={"main": 4}, priority=1, priority_class="low")
    assert amended(copy, same) is None
    assert amended(copy, Outline(counts={"main": 1}, priority=9, priority_class="high")) == {
        "metadata": {"resourceVersion": "7"},
        "spec": {
            "podSets": [{**pod_sets[0], "count": 1}],
            "priority": 9,
            "priorityClassRef": {**reference, "name": "high"},
        },
    }


def test_an_elastic_job_has_there_the_slice_and_the_size_that_were_admitted_there() -> None:
    local, there = sized(8), sized(2)
    there["metadata"]["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] = "first"
    assert step_patch(JOB, local, there, "first", {"main": 2}) is None, "it wants more, and waits for it"
    assert step_patch(JOB, local, there, "next", {}) is None, "the slice before has it still"
    assert step_patch(JOB, local, there, "next", {"main": 6}) == {
        "metadata": {"resourceVersion": "7", "labels": {"kueue.x-k8s.io/prebuilt-workload-name": "next"}},
        "spec": {"parallelism": 6},
    }
    made = remote_job(JOB, local, "next", "here", counts={"main": 6})
    assert made["spec"]["parallelism"] == 6
    capped = sized(8)
    capped["spec"]["completions"] = 6
    assert remote_job(JOB, capped, "next", "here", counts={"main": 6})["spec"]["parallelism"] == 8, "as it is written"


@pytest.mark.parametrize("kind", [RAY_CLUSTER, RAY_JOB, RAY_SERVICE], ids=lambda kind: kind.kind)
def test_a_job_of_ray_has_there_the_size_of_its_slice_within_the_bounds_that_are_written_by_now(kind: JobKind) -> None:
    local, there = ray(kind, replicas=8, maxReplicas=9), ray(kind, replicas=2, maxReplicas=4)
    there["metadata"]["labels"][SLICE] = "first"
    step = step_patch(kind, local, there, "first", {"head": 1, "big": 4})
    assert step is not None and groups(kind, step) == [{**GROUP, "replicas": 2, "maxReplicas": 9}], "it waits for more"
    step = step_patch(kind, local, there, "next", {"head": 1, "big": 10})
    assert step is not None and groups(kind, step) == [{**GROUP, "replicas": 5, "maxReplicas": 9}]
    assert step["metadata"] == {"resourceVersion": "7", "labels": {SLICE: "next"}}
    step = step_patch(kind, local, there, "next", {"head": 1, "big": 16})
    assert step is not None and groups(kind, step) == groups(kind, local), "as it is written"
    assert step_patch(kind, local, {**local, "metadata": there["metadata"]}, "first", {"big": 16}) is None
    assert step_patch(kind, local, there, "next", {}) is None, "the slice before has it still"
    made = remote_job(kind, local, "next", "here", counts={"head": 1, "big": 6})
    assert groups(kind, made) == [{**GROUP, "replicas": 3, "maxReplicas": 9}]


@pytest.mark.parametrize("kind", [RAY_CLUSTER, RAY_JOB, RAY_SERVICE], ids=lambda kind: kind.kind)
def test_a_job_that_rays_autoscaler_changes_has_its_size_from_there_and_its_slice_and_bounds_from_here(
    kind: JobKind,
) -> None:
    local = ray(kind, autoscaled=True, replicas=2, maxReplicas=9)
    there = ray(kind, autoscaled=True, replicas=3, maxReplicas=4)
    step = step_patch(kind, local, there, "next", {"head": 1, "big": 4})
    assert step is not None and groups(kind, step) == [{**GROUP, "replicas": 3, "maxReplicas": 9}]
    assert step["metadata"]["labels"] == {SLICE: "next"}
    cluster = ray(RAY_CLUSTER, autoscaled=True, replicas=3)
    taken = autoscaled_patch(kind, local, cluster)
    assert taken is not None and groups(kind, taken) == [{**GROUP, "replicas": 3, "maxReplicas": 9}]
    assert autoscaled_patch(kind, put(local, groups_at(kind), groups(kind, taken)), cluster) is None
    assert is_scaled_there(kind, local, there)
    stopped = put(local, tuple(kind.suspend.split(".")), True)
    assert not is_scaled_there(kind, local, stopped), "what a stopped one has was written by who stopped it"
    assert not is_scaled_there(kind, stopped, there), "it may not run here yet"
    assert not is_scaled_there(kind, ray(kind), ray(kind)), "its size is written here"


SLICE = "kueue.x-k8s.io/prebuilt-workload-name"
GROUP = {"groupName": "Big", "numOfHosts": 2}


def ray(kind: JobKind, *, autoscaled: bool = False, **group: Any) -> JsonObject:
    """An elastic job of Ray's that runs, with a group of workers of two hosts each."""
    at = CLUSTER_AT[kind.reader]
    notes = {"kueue.x-k8s.io/elastic-job": "true"}
    meta = {"name": "a", "namespace": "team", "resourceVersion": "7", "labels": {}, "annotations": notes}
    value: JsonObject = {"apiVersion": "ray.io/v1", "kind": kind.kind, "metadata": meta, "spec": {}}
    return put(value, at, {"enableInTreeAutoscaling": autoscaled, "workerGroupSpecs": [{**GROUP, **group}]})


def groups_at(kind: JobKind) -> Location:
    return (*CLUSTER_AT[kind.reader], "workerGroupSpecs")


def groups(kind: JobKind, job: JsonObject) -> Any:
    return get(job, groups_at(kind))


def test_a_job_there_gets_the_priority_class_of_the_one_here() -> None:
    local, there = job(), job()
    local["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    assert step_patch(JOB, local, there, "a", {}) == {
        "metadata": {"resourceVersion": "7", "labels": {"kueue.x-k8s.io/priority-class": "high"}}
    }
    there["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    assert step_patch(JOB, local, there, "a", {}) is None


def test_a_ray_service_serves_there_what_is_written_here_by_now_unless_the_gate_keeps_that_here() -> None:
    def served(what: str | None) -> dict[str, Any]:
        meta = {"name": "a", "namespace": "t", "resourceVersion": "7"}
        spec = {"rayClusterConfig": {"rayVersion": "2"}, **({"serveConfigV2": what} if what is not None else {})}
        return {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": meta, "spec": spec}

    local, there = served("two"), served("one")
    local["spec"]["rayClusterConfig"] = {"rayVersion": "3"}
    version = {"resourceVersion": "7", "labels": {}}
    told = {"metadata": version, "spec": {"serveConfigV2": "two"}}
    assert step_patch(RAY_SERVICE, local, there, "a", {}, serves=True) == told, "and nothing else of its specification"
    assert step_patch(RAY_SERVICE, served(None), there, "a", {}, serves=True) == {
        "metadata": version,
        "spec": {"serveConfigV2": None},
    }
    assert step_patch(RAY_SERVICE, local, there, "a", {}) is None
    assert step_patch(RAY_SERVICE, served("one"), there, "a", {}, serves=True) is None


def sized(count: int) -> dict[str, Any]:
    """A Job of so many pods at once."""
    found = job(suspend=False)
    return {**found, "spec": {**found["spec"], "parallelism": count}}


def test_the_first_slice_of_an_elastic_job_names_itself_there_so_that_kueue_lets_it_become_smaller() -> None:
    notes = {"kueue.x-k8s.io/elastic-job": "true"}
    local = {"apiVersion": "v", "kind": "Workload", "metadata": {"name": "a", "namespace": "t"}, "spec": {}}
    first = remote_workload({**local, "metadata": {**local["metadata"], "annotations": notes}}, "here")
    assert first["metadata"]["annotations"]["kueue.x-k8s.io/workload-slice-replacement-for"] == "t/a"
    notes = {**notes, "kueue.x-k8s.io/workload-slice-replacement-for": "t/before"}
    later = remote_workload({**local, "metadata": {**local["metadata"], "annotations": notes}}, "here")
    assert later["metadata"]["annotations"] == notes
