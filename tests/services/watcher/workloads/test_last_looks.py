"""What kuelog has written itself is not read again; whatever else changes about a Workload object is."""

from events.json_object import JsonObject
from events.quota import PriorityClassObserved
from events.workload import (
    CheckReported,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from services.watcher.view import View
from tests.services.watcher.test_view import KEY, job
from tests.services.watcher.workloads.test_workload_object_diff import companion

UNREADABLE: JsonObject = {"clusterQueue": 5}
"""An admission that can't be understood: whoever reads it is refused."""


def workload(**spec: object) -> JsonObject:
    meta = {"name": "w", "namespace": "team", "uid": "u", "resourceVersion": "1"}
    return {"metadata": meta, "spec": {"queueName": "lq", "podSets": [], **spec}}


def decided(value: JsonObject, **status: object) -> JsonObject:
    """The object after its status was written."""
    meta = {**value["metadata"], "resourceVersion": "2", "managedFields": [{"manager": "kueue-admission"}]}
    there = value.get("status") or {}
    return {**value, "metadata": meta, "status": {**there, "admission": UNREADABLE, **status}}


def test_a_decision_that_comes_back_is_not_read_whether_a_job_or_nobody_owns_the_object() -> None:
    view = View()
    view.see("Job", job())
    view.see("Workload", companion())
    assert view.see("Workload", decided(companion())) == []
    assert [type(one) for one in view.see("Workload", workload())] == [WorkloadSubmitted]
    conditions = [{"type": "QuotaReserved", "status": "True"}]
    assert view.see("Workload", decided(workload(), conditions=conditions)) == []


def test_an_end_a_check_and_a_switch_are_read_of_it_all_the_same() -> None:
    view = View()
    view.see("Workload", workload())
    finished = [{"type": "Finished", "status": "True", "reason": "Done", "message": "well"}]
    told = view.see("Workload", {**workload(), "status": {"conditions": finished}})
    assert told == [WorkloadFinished(workload="team/w", reason="Done", message="well")]
    assert [type(one) for one in view.see("Workload", workload(priority=5))] == [WorkloadChanged]
    view.see("Job", job())
    view.see("Workload", companion())
    assert [type(one) for one in view.see("Workload", companion(state="Ready"))] == [CheckReported]
    assert [type(one) for one in view.see("Workload", companion(active=False))] == [WorkloadSwitched]


def test_an_end_is_told_once_and_of_a_job_by_the_job() -> None:
    view = View()
    view.see("Workload", workload())
    finished = [{"type": "Finished", "status": "True", "reason": "Done", "message": "well"}]
    (told,) = view.see("Workload", decided(workload(), conditions=finished))
    assert told == WorkloadFinished(workload="team/w", reason="Done", message="well"), "and the admission was not read"
    assert view.see("Workload", decided(workload(), conditions=[*finished, {"type": "Admitted"}])) == []
    view.see("Job", job())
    view.see("Workload", companion())
    assert view.see("Workload", decided(companion(), conditions=finished)) == []


def test_who_hears_of_others_reads_it_again() -> None:
    view = View()
    view.see("Job", job())
    view.see("Workload", companion())
    view.fold(WorkloadSwitched(workload=KEY, active=False))
    assert view.see("Workload", companion()) == [WorkloadSwitched(workload=KEY, active=True)]


def test_an_object_that_is_gone_and_comes_again_as_it_was_is_told_again() -> None:
    view = View()
    view.see("Workload", workload())
    assert view.lose("Workload", "team", "w") == [WorkloadDeleted(workload="team/w")]
    assert [type(one) for one in view.see("Workload", workload())] == [WorkloadSubmitted]


def test_it_is_read_again_when_what_it_is_understood_by_has_changed() -> None:
    view = View()
    view.see("Workload", workload())
    view.fold(PriorityClassObserved(name="high", value=5))
    told = view.see("Workload", decided(workload()))
    assert [type(one).__name__ for one in told] == ["ObjectRefused"], "it was read"


def test_a_list_is_held_against_the_log_whatever_was_seen_before() -> None:
    view = View()
    view.see("Workload", workload())
    view.expect("Workload", [])
    told = view.see("Workload", decided(workload()))
    assert [type(one).__name__ for one in told] == ["ObjectRefused"], "it was read"
