"""What another manager has decided about a job before us comes along when the job is first told."""

from typing import Any

from events.workload import WorkloadSubmitted
from services.watcher.view import View
from tests.services.watcher.test_view import KEY, job

ADMISSION = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 1, "flavors": {"cpu": "f"}}]}


def found(*, admitted: bool) -> dict[str, Any]:
    return {
        "metadata": {
            "name": KEY.partition("/")[2],
            "namespace": "team",
            "uid": "w-1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"kueue.x-k8s.io/job-uid": "u-1"},
            "ownerReferences": [{"kind": "Job", "name": "j", "uid": "u-1", "controller": True}],
        },
        "spec": {
            "queueName": "lq",
            "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "asked-for"}]}}}],
        },
        "status": {
            "conditions": [
                {
                    "type": "QuotaReserved",
                    "status": "True" if admitted else "False",
                    "reason": "QuotaReserved" if admitted else "Pending",
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
            **({"admission": ADMISSION} if admitted else {}),
        },
    }


def running() -> dict[str, Any]:
    value = job()
    return {**value, "spec": {**value["spec"], "suspend": False}}


def test_a_running_job_is_told_with_its_admission_and_with_what_was_asked_for_before_anything_was_injected() -> None:
    view = View()
    assert view.see("Workload", found(admitted=True)) == []
    told, *_ = view.see("Job", running())
    assert isinstance(told, WorkloadSubmitted) and told.adopted is not None
    assert told.adopted.cluster_queue == "cq"
    assert [one.name for one in told.spec.pod_sets[0].shape.containers] == ["asked-for"]
    assert view.see("Job", running()) == [], "what was injected by others is no change of what is asked for"


def test_a_waiting_job_keeps_its_conditions_and_speaks_for_itself() -> None:
    view = View()
    view.see("Workload", found(admitted=False))
    told, *_ = view.see("Job", job())
    assert isinstance(told, WorkloadSubmitted) and told.adopted is not None
    assert not told.adopted.cluster_queue
    assert [one.name for one in told.spec.pod_sets[0].shape.containers] != ["asked-for"]


def test_a_watcher_that_reads_the_log_back_tells_nothing_twice() -> None:
    first, second = View(), View()
    first.see("Workload", found(admitted=True))
    for fact in first.see("Job", running()):
        second.fold(fact)
    assert second.see("Workload", found(admitted=True)) == []
    assert second.see("Job", running()) == []
