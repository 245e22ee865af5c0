"""What is written to a job so that it runs, stands still, or is left alone."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.api.labels import DECISION, QUEUE_NAME, WORKLOAD
from events.pod_set import PodSet
from events.workload import Owner, WorkloadSpec
from projections.workloads.in_cluster import InCluster
from projections.workloads.lifecycle import Admission, Workload
from services.applier.patches import is_another, job_write
from services.applier.plan import Application
from services.jobs.defaulting import waiting
from services.jobs.kinds.table import JOB, TRAIN_JOB
from services.jobs.pod_sets.pod_set import Injection, Original
from services.jobs.start_stop import injected

NODE = PodSet(name="node", count=1)
ENDED = {"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Complete", "status": "True"}]}


def job(*, suspend: bool, status: dict[str, Any]) -> dict[str, Any]:
    meta = {"name": "j", "namespace": "team", "uid": "j", "resourceVersion": "7"}
    return {"metadata": meta, "spec": {"suspend": suspend, "template": {"spec": {}}}, "status": status}


def application(*, run: bool) -> Application:
    owner = Owner(kind="Job", name="j", uid="j", api_version="batch/v1")
    spec = WorkloadSpec(queue="lq", pod_sets=())
    workload = Workload(key="team/w", uid="u", owner=owner, created_at=0, generation=1, spec=spec)
    return Application(workload="team/w", partition="LOG_0", sequence=7, of=workload, job="j", kind=JOB, run=run)


def test_a_job_that_runs_without_leave_is_suspended() -> None:
    write = job_write(job(suspend=False, status={}), application(run=False))
    assert write is not None and write.patch["spec"]["suspend"] is True


def test_a_job_that_has_leave_is_started() -> None:
    write = job_write(job(suspend=True, status={}), application(run=True))
    assert write is not None and write.patch["spec"]["suspend"] is False


def test_a_job_that_has_ended_is_left_alone_whatever_was_decided() -> None:
    for suspend in (True, False):
        for run in (True, False):
            assert job_write(job(suspend=suspend, status=ENDED), application(run=run)) is None


def let_in(*, turned: int = 3) -> Application:
    """Its quota was reserved by the sixth decision; `turned` says when somebody let it run, if anybody did."""
    found = application(run=True)
    admission = Admission(cluster_queue="cq", assignments=(), reservation=6, reserved_at=0)
    spec = replace(found.of.spec, pod_sets=(PodSet(name="main", count=1),))
    of = replace(found.of, spec=spec, admission=admission, in_cluster=InCluster(job_turned=turned))
    gets = Injection(count=1, original=Original(name="main", count=1), node_selector={"pool": "a"})
    return replace(found, of=of, injections=(gets,))


def test_a_job_that_was_let_run_before_it_was_let_in_is_suspended_until_it_has_what_was_chosen_for_it() -> None:
    hasty = job(suspend=False, status={"active": 1})
    write = job_write(hasty, let_in())
    assert write is not None and write.last and write.patch["spec"] == {"suspend": True}
    assert write.patch["metadata"]["annotations"] == {DECISION: "LOG_0/7"}
    hasty["spec"]["suspend"], hasty["metadata"]["annotations"] = True, {DECISION: "LOG_0/7"}
    assert job_write(hasty, let_in()) is None, "its pods have yet to go"
    hasty["status"] = {}
    write = job_write(hasty, let_in())
    assert write is not None and write.patch["spec"]["suspend"] is False
    assert write.patch["spec"]["template"]["spec"] == {"nodeSelector": {"pool": "a"}}


def test_a_job_that_was_let_run_and_lacks_nothing_is_marked_alone() -> None:
    running = job(suspend=False, status={})
    running["metadata"]["annotations"] = {DECISION: "LOG_0/5"}
    write = job_write(running, replace(let_in(), injections=()))
    assert write is not None and "spec" not in write.patch
    assert write.patch["metadata"]["annotations"] == {DECISION: "LOG_0/7"}


@pytest.mark.parametrize(
    ("mark", "started", "application"),
    [
        ("LOG_0/6", False, let_in()),
        ("", False, let_in(turned=0)),
        ("LOG_0/5", False, replace(let_in(), sequence=5)),
        ("LOG_0/5", True, let_in()),
    ],
    ids=["started by this admission", "nobody let it run", "let in by another manager", "by the slice before"],
)
def test_what_runs_by_right_is_left_alone_whatever_it_lacks(mark: str, started: bool, application: Application) -> None:
    running = job(suspend=False, status={"active": 1})
    running["metadata"]["annotations"] = {DECISION: mark} if mark else {}
    if started:
        running["spec"]["template"]["metadata"] = {"annotations": {WORKLOAD: "w"}}
    assert job_write(running, application) is None


def test_a_template_is_put_back_when_no_pod_of_the_job_is_active_any_more() -> None:
    """Before that the API server refuses it, whether the job has a start time or not (1.36)."""
    found = job(suspend=True, status={"startTime": "2026-01-01T00:00:00Z", "active": 2})
    found["metadata"]["annotations"] = {DECISION: "LOG_0/7"}
    found["spec"]["template"] = {"metadata": {"annotations": {WORKLOAD: "w"}}, "spec": {"nodeSelector": {"pool": "a"}}}
    stopped = application(run=False)
    spec = replace(stopped.of.spec, pod_sets=(PodSet(name="main", count=1),))
    stopped = replace(stopped, of=replace(stopped.of, spec=spec))
    assert job_write(found, stopped) is None
    found["status"]["active"] = 0
    reset = job_write(found, stopped)
    assert reset is not None and reset.patch["status"] == {"startTime": None}
    found["status"] = {}
    write = job_write(found, stopped)
    assert write is not None and write.patch["spec"]["template"]["spec"] == {"nodeSelector": None}


def train_job(spec: dict[str, Any], status: dict[str, Any] | None = None) -> dict[str, Any]:
    meta = {"name": "j", "namespace": "team", "uid": "j", "resourceVersion": "7"}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "metadata": meta, "spec": spec, "status": status or {}}


def of_train_job(*, run: bool) -> Application:
    found = application(run=run)
    return replace(found, kind=TRAIN_JOB, of=replace(found.of, spec=replace(found.of.spec, pod_sets=(NODE,))))


def patch_of(spec: dict[str, Any]) -> dict[str, Any]:
    """What a spec says in the runtime patch that is ours."""
    return next(one for one in spec["runtimePatches"] if one["manager"] == "kueue.x-k8s.io/manager")


def test_a_train_job_gets_its_patch_while_it_is_suspended_and_starts_with_the_next_write() -> None:
    """The trainer's webhook takes runtime patches of suspended TrainJobs alone (2.2)."""
    asked = {"suspend": True, "runtimePatches": [{"manager": "a.io/b", "time": "t"}]}
    first = job_write(train_job(asked), of_train_job(run=True))
    assert first is not None and "suspend" not in first.patch["spec"] and "annotations" not in first.patch["metadata"]
    patches = first.patch["spec"]["runtimePatches"]
    assert [one["manager"] for one in patches] == ["a.io/b", "kueue.x-k8s.io/manager"]
    # The trainer's webhook says when it was written.
    then = {"suspend": True, "runtimePatches": [patches[0], {**patches[1], "time": "u"}]}
    second = job_write(train_job(then), of_train_job(run=True))
    assert second is not None and second.patch["spec"] == {"suspend": False}
    assert second.patch["metadata"]["annotations"] == {DECISION: "LOG_0/7"}


def test_the_patch_of_a_train_job_is_emptied_and_stays_when_no_pod_is_active_any_more() -> None:
    """With active ones the trainer refuses it (2.2)."""
    asked = train_job({}, {"jobsStatus": [{"name": "node", "active": 1}]})
    asked["metadata"] |= {"labels": {QUEUE_NAME: "lq"}, "annotations": {DECISION: "LOG_0/7"}}
    job = waiting(asked, "TrainJob")
    empty = patch_of(job["spec"])
    assert empty["trainingRuntimeSpec"]["template"] == {"metadata": {"labels": {QUEUE_NAME: "lq"}}, "spec": {}}
    gets = Injection(count=1, original=Original(name="node", count=1), node_selector={"pool": "a"})
    found = injected(TRAIN_JOB, job, [gets])
    (got,) = patch_of(found["spec"])["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert got == {"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {"pool": "a"}}}}}}
    assert job_write(found, of_train_job(run=False)) is None
    found["status"]["jobsStatus"][0]["active"] = 0
    write = job_write(found, of_train_job(run=False))
    assert write is not None and patch_of(write.patch["spec"]) == empty


def test_a_job_that_came_later_under_the_same_name_is_another_one() -> None:
    found = job(suspend=True, status={})
    assert not is_another(found, application(run=True))
    assert is_another({**found, "metadata": {**found["metadata"], "uid": "later"}}, application(run=True))
