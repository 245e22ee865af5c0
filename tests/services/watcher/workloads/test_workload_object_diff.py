"""What the Workload object of a job says: whether it is active, how its checks stand, that its job let it go."""

from typing import Any

from events.workload import (
    CheckReported,
    CheckState,
    PodsGone,
    PodsReady,
    PodsReclaimed,
    PreemptionGateReported,
    WorkloadDeleted,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from services.watcher.view import View
from tests.services.watcher.test_view import KEY, job


def companion(*, owned: bool = True, active: bool = True, state: str = "") -> dict[str, Any]:
    meta: dict[str, Any] = {
        "name": KEY.partition("/")[2],
        "namespace": "team",
        "uid": "w-1",
        "labels": {"kueue.x-k8s.io/job-uid": "u-1"},
    }
    if owned:
        meta["ownerReferences"] = [{"kind": "Job", "name": "j", "uid": "u-1", "controller": True}]
    status: dict[str, Any] = {"admissionChecks": [{"name": "budget", "state": state}]} if state else {}
    return {"metadata": meta, "spec": {"active": active, "queueName": "lq"}, "status": status}


def test_a_switch_is_told_when_it_is_turned_and_only_then() -> None:
    view = View()
    view.see("Job", job())
    assert view.see("Workload", companion()) == []
    assert view.see("Workload", companion(active=False)) == [WorkloadSwitched(workload=KEY, active=False)]
    assert view.see("Workload", companion(active=False)) == []
    assert view.see("Workload", companion()) == [WorkloadSwitched(workload=KEY, active=True)]


def test_the_state_of_a_check_is_told_each_time_it_changes() -> None:
    view = View()
    view.see("Job", job())
    for state in ("Pending", "Ready", "Retry"):
        (told,) = view.see("Workload", companion(state=state))
        assert isinstance(told, CheckReported) and told.check.state == CheckState(state)
        assert view.see("Workload", companion(state=state)) == []


def test_each_time_that_somebody_turns_a_preemption_gate_it_is_told_whatever_it_is_called() -> None:
    """Whoever bears one for concurrent admission has it opened by decisions."""
    view, names = View(), ("example.com/mine", "kueue.x-k8s.io/concurrent-admission")

    def shown(position: str = "", since: str = "") -> dict[str, Any]:
        gates = [{"name": one, "position": position, "lastTransitionTime": since} for one in names if position]
        spec = {"queueName": "lq", "podSets": [], "preemptionGates": [{"name": one} for one in names]}
        meta = {"name": "a", "namespace": "team", "uid": "a"}
        return {"metadata": meta, "spec": spec, "status": {"preemptionGates": gates}}

    assert len(view.see("Workload", shown())) == 1
    for position, since in (("Open", "2026-01-01T00:00:01Z"), ("Closed", "2026-01-01T00:00:02Z")):
        (told,) = view.see("Workload", shown(position, since))
        assert isinstance(told, PreemptionGateReported)
        assert (told.gate.name, told.gate.open) == ("example.com/mine", position == "Open")
        assert view.see("Workload", shown(position, since)) == []
    assert view.see("Workload", shown("Closed", "2026-01-01T00:00:03Z")) == [], "it was closed"


def test_the_object_of_a_job_that_was_never_told_says_nothing() -> None:
    assert View().see("Workload", companion(active=False, state="Ready")) == []


def test_an_object_that_its_job_let_go_is_told_as_orphaned_once_the_job_is_gone() -> None:
    view = View()
    view.see("Job", job())
    assert view.see("Workload", companion(owned=False)) == [], "the job is still there"
    deleted, orphan = view.lose("Job", "team", "j")
    assert deleted == WorkloadDeleted(workload=KEY)
    assert isinstance(orphan, WorkloadSubmitted) and orphan.spec.orphaned and orphan.owner is None
    assert view.lose("Workload", "team", KEY.partition("/")[2]) == [WorkloadDeleted(workload=KEY)]


def test_pods_that_are_done_are_told_of_a_workload_that_no_job_says_it_of() -> None:
    view = View()

    def alone(name: str, *done: int) -> dict[str, Any]:
        status = {"reclaimablePods": [{"name": "main", "count": count} for count in done]}
        meta = {"name": name, "namespace": "team", "uid": name}
        return {"metadata": meta, "spec": {"queueName": "lq", "podSets": []}, "status": status}

    assert len(view.see("Workload", alone("a"))) == 1
    assert view.see("Workload", alone("a", 2)) == [PodsReclaimed(workload="team/a", counts={"main": 2})]
    assert view.see("Workload", alone("a", 2)) == []
    (submission,) = view.see("Workload", alone("b", 1))
    assert isinstance(submission, WorkloadSubmitted) and submission.adopted is not None
    assert submission.adopted.reclaimable == {"main": 1}, "with what it is seen with first this is told, and not again"
    assert view.see("Workload", alone("b", 1)) == []


def test_that_a_workload_without_a_job_stopped_is_told_of_each_eviction_once_its_quota_was_taken_from_it() -> None:
    view = View()

    def alone(evicted: str, reserved: str, count: int) -> dict[str, Any]:
        shown = [
            {
                "type": kind,
                "status": status,
                "reason": "Said",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for kind, status in (("Evicted", evicted), ("QuotaReserved", reserved))
        ]
        counted = {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": count}] if count else []}
        meta = {"name": "a", "namespace": "team", "uid": "a"}
        status = {"conditions": shown, "schedulingStats": counted}
        return {"metadata": meta, "spec": {"queueName": "lq", "podSets": []}, "status": status}

    view.see("Workload", alone("False", "False", 0))
    assert view.see("Workload", alone("False", "True", 0)) == []
    assert view.see("Workload", alone("True", "True", 1)) == [], "it may still run"
    assert view.see("Workload", alone("True", "False", 1)) == [PodsGone(workload="team/a", decision="1")]
    assert view.see("Workload", alone("True", "False", 1)) == []
    assert view.see("Workload", alone("False", "True", 1)) == []
    assert view.see("Workload", alone("True", "True", 2)) == []
    assert view.see("Workload", alone("True", "False", 2)) == [PodsGone(workload="team/a", decision="2")]


def test_whether_pods_are_ready_is_told_of_a_workload_that_no_job_says_it_of_and_of_the_attempt_that_runs() -> None:
    view = View()

    def alone(name: str, *shown: tuple[str, str, int]) -> dict[str, Any]:
        conditions = [
            {
                "type": kind,
                "status": status,
                "reason": "Said",
                "message": "",
                "lastTransitionTime": f"2026-01-01T00:00:{at:02}Z",
            }
            for kind, status, at in shown
        ]
        meta = {"name": name, "namespace": "team", "uid": name}
        return {"metadata": meta, "spec": {"queueName": "lq", "podSets": []}, "status": {"conditions": conditions}}

    first, second = ("Admitted", "True", 10), ("Admitted", "True", 40)
    assert len(view.see("Workload", alone("a"))) == 1
    assert view.see("Workload", alone("a", first)) == []
    assert view.see("Workload", alone("a", first, ("PodsReady", "True", 10))) == [
        PodsReady(workload="team/a", ready=True)
    ]
    assert view.see("Workload", alone("a", first, ("PodsReady", "True", 10))) == []
    assert view.see("Workload", alone("a", first, ("PodsReady", "False", 20))) == [
        PodsReady(workload="team/a", ready=False)
    ]
    assert view.see("Workload", alone("a", first, ("PodsReady", "True", 21))) == [
        PodsReady(workload="team/a", ready=True)
    ]
    assert view.see("Workload", alone("a", ("Admitted", "False", 30), ("PodsReady", "True", 21))) == []
    assert view.see("Workload", alone("a", second, ("PodsReady", "True", 21))) == [
        PodsReady(workload="team/a", ready=False)
    ], "it is what the pods of the attempt before were"
    assert view.see("Workload", alone("a", second, ("PodsReady", "True", 41))) == [
        PodsReady(workload="team/a", ready=True)
    ]
    assert len(view.see("Workload", alone("b", first, ("PodsReady", "True", 10)))) == 1
    assert view.see("Workload", alone("b", first, ("PodsReady", "True", 10))) == [], "told with what it was found with"


def to_be_stopped(
    version: str, *, owned: bool = True, active: bool = True, message: str = "Preempted"
) -> dict[str, Any]:
    found = companion(owned=owned, active=active)
    target = {"type": "DeactivationTarget", "status": "True", "reason": "EvictedOnManagerCluster", "message": message}
    meta = {**found["metadata"], "resourceVersion": version}
    return {**found, "metadata": meta, "status": {"conditions": [target] if message else []}}


def test_a_copy_that_its_manager_wants_stopped_and_has_not_set_inactive_is_told_once() -> None:
    """Kueue's manager says so on the copy, and leaves it to the worker to set it inactive."""
    view = View()
    view.see("Job", job())
    view.see("Workload", companion())
    told = WorkloadSwitched(workload=KEY, active=True, cause="EvictedOnManagerCluster", message="Preempted")
    assert view.see("Workload", to_be_stopped("5")) == [told]
    assert view.see("Workload", to_be_stopped("6")) == []
    inactive = WorkloadSwitched(workload=KEY, active=False, cause="EvictedOnManagerCluster", message="Preempted")
    assert view.see("Workload", to_be_stopped("7", active=False)) == [inactive]
    assert view.see("Workload", to_be_stopped("8", message="")) == [WorkloadSwitched(workload=KEY, active=True)]
    assert view.see("Workload", to_be_stopped("9")) == [told], "it is to stop again"


def test_what_a_rule_of_this_cluster_is_about_to_deactivate_is_not_told() -> None:
    view = View()
    view.see("Job", job())
    value = to_be_stopped("5")
    value["status"]["conditions"][0]["reason"] = "MaximumExecutionTimeExceeded"
    assert view.see("Workload", value) == []


def test_a_copy_without_a_job_that_its_manager_wants_stopped_is_told() -> None:
    view = View()
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}

    def alone(value: dict[str, Any]) -> dict[str, Any]:
        return {**value, "spec": {**value["spec"], "podSets": [pods]}}

    (submitted,) = view.see("Workload", alone(companion(owned=False)))
    assert isinstance(submitted, WorkloadSubmitted)
    told = view.see("Workload", alone(to_be_stopped("5", owned=False)))
    cause = "EvictedOnManagerCluster"
    assert told == [WorkloadSwitched(workload=submitted.workload, active=True, cause=cause, message="Preempted")]
    assert view.see("Workload", alone(to_be_stopped("6", owned=False))) == []
