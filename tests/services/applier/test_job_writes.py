"""What is written to a job so that it runs, stands still, or is left alone."""

from typing import Any

from events.workload import Owner, WorkloadSpec
from projections.workloads.lifecycle import Workload
from services.applier.patches import is_another, job_write
from services.applier.plan import Application
from services.jobs.table import JOB

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


def test_a_job_that_came_later_under_the_same_name_is_another_one() -> None:
    found = job(suspend=True, status={})
    assert not is_another(found, application(run=True))
    assert is_another({**found, "metadata": {**found["metadata"], "uid": "later"}}, application(run=True))
