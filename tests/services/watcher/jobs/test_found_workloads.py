"""What another manager has decided about a job before us comes along when the job is first told."""

from typing import Any

import pytest

from events.api.labels import DECISION
from events.application import DecisionApplied
from events.workload import (
    AdoptedStatus,
    CheckState,
    CheckStatus,
    Condition,
    ConditionStatus,
    DecidedElsewhere,
    EvictionCount,
    GateState,
    PodSetAssignment,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSubmitted,
)
from services.jobs.workload_name import workload_name
from services.watcher.view import View
from tests.services.watcher.test_view import KEY, job

ADMISSION = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 2, "flavors": {"cpu": "f"}}]}


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
            "podSets": [{"name": "main", "count": 2, "template": {"spec": {"containers": [{"name": "asked-for"}]}}}],
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


def test_all_of_its_status_that_counts_is_told_with_it() -> None:
    value, began, minute = found(admitted=True), 1_767_225_600_000, 60_000
    shown = {"name": "k", "state": "Ready", "message": "is there", "lastTransitionTime": "2026-01-01T00:01:00Z"}
    value["status"] |= {
        "admissionChecks": [{**shown, "requeueAfterSeconds": 5, "retryCount": 2}],
        "reclaimablePods": [{"name": "main", "count": 1}],
        "requeueState": {"count": 3, "requeueAt": "2026-01-01T00:02:00Z"},
        "accumulatedPastExecutionTimeSeconds": 7,
        "schedulingStats": {"evictions": [{"reason": "Preempted", "underlyingCause": "X", "count": 4}]},
        "preemptionGates": [{"name": "g", "position": "Open", "lastTransitionTime": "2026-01-01T00:03:00Z"}],
        "unhealthyNodes": [{"name": "n"}],
    }
    view = View()
    view.see("Workload", value)
    told, *_ = view.see("Job", running())
    assert isinstance(told, WorkloadSubmitted)
    reserved = Condition(
        type="QuotaReserved", status=ConditionStatus.TRUE, reason="QuotaReserved", message="", since=began
    )
    ready = CheckStatus(
        name="k",
        state=CheckState.READY,
        message="is there",
        since=began + minute,
        requeue_after=5000,
        retries=2,
    )
    assert told.adopted == AdoptedStatus(
        conditions=(reserved,),
        cluster_queue="cq",
        assignments=(PodSetAssignment(name="main", count=2, flavors={"cpu": "f"}, usage={}),),
        checks=(ready,),
        reclaimable={"main": 1},
        requeue_count=3,
        requeue_at=began + 2 * minute,
        past_execution=7000,
        evictions=(EvictionCount(reason="Preempted", cause="X", count=4),),
        gates=(GateState(name="g", open=True, since=began + 3 * minute),),
        unhealthy_nodes=("n",),
    )


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


def pod(name: str, *, group: str = "", kind: str = "", role: str = "4b0469f7") -> dict[str, Any]:
    """A pod that Kueue has let through."""
    labels = {"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/managed": "true"}
    notes = {"kueue.x-k8s.io/role-hash": role}
    owners: list[dict[str, Any]] = []
    if group:
        labels["kueue.x-k8s.io/pod-group-name"] = group
        notes["kueue.x-k8s.io/pod-group-total-count"] = "1"
    if kind:
        notes["kueue.x-k8s.io/pod-suspending-parent"] = kind.lower()
        owners = [{"apiVersion": "apps/v1", "kind": kind, "name": "s", "uid": "u-s", "controller": True}]
    meta = {"name": name, "namespace": "team", "uid": f"u-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "metadata": {**meta, "labels": labels, "annotations": notes, "ownerReferences": owners},
        "spec": {"nodeName": "n", "containers": [{"name": "injected"}]},
        "status": {"phase": "Running"},
    }


def left(name: str, pod_set: str, **meta: Any) -> dict[str, Any]:
    """The Workload that Kueue has admitted for it."""
    value = found(admitted=True)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-p"}
    about = {**value["metadata"], "name": name, "ownerReferences": [owner], **meta}
    (pods,) = value["spec"]["podSets"]
    given = {**ADMISSION, "podSetAssignments": [{"name": pod_set, "count": 1, "flavors": {"cpu": "f"}}]}
    return {
        "metadata": about,
        "spec": {**value["spec"], "podSets": [{**pods, "name": pod_set, "count": 1}]},
        "status": {**value["status"], "admission": given},
    }


def stateful_set(group: str = "statefulset-s") -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/pod-group-name": group} if group else {}
    meta = {"name": "s", "namespace": "team", "uid": "u-s", "creationTimestamp": "2026-01-01T00:00:00Z"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "asked-for"}]}}
    return {
        "apiVersion": "apps/v1",
        "metadata": {**meta, "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"replicas": 1, "template": template},
    }


OF_SET = workload_name("StatefulSet", "apps", "s", "u-s")
"""As Kueue 0.17 calls it, whose templates name no group."""


@pytest.mark.parametrize(
    ("workload", "pod_set", "objects"),
    [
        (workload_name("Pod", "", "p", "u-p"), "main", [("Pod", pod("p"))]),
        ("g", "4b0469f7", [("Pod", pod("p", group="g"))]),
        (
            "statefulset-s",
            "4b0469f7",
            [("StatefulSet", stateful_set()), ("Pod", pod("p", group="statefulset-s", kind="StatefulSet"))],
        ),
        (
            OF_SET,
            "main",
            [("StatefulSet", stateful_set("")), ("Pod", pod("p", group=OF_SET, kind="StatefulSet", role="main"))],
        ),
    ],
)
def test_pods_that_run_are_told_with_the_admission_that_kueue_gave_them(
    workload: str, pod_set: str, objects: list[tuple[str, dict[str, Any]]]
) -> None:
    view = View()
    view.see("Workload", left(workload, pod_set))
    for kind, value in objects:
        view.expect(kind, [value])
    told = [fact for kind, value in objects for fact in [*view.see(kind, value), *view.settle(kind)]]
    (submitted,) = [one for one in told if isinstance(one, WorkloadSubmitted)]
    assert submitted.adopted is not None and submitted.adopted.cluster_queue == "cq"
    assert [one.name for one in submitted.spec.pod_sets] == [pod_set]
    assert [(one.name, one.pod_set) for one in submitted.spec.members] == [("p", pod_set)]
    again = [fact for kind, value in objects for fact in [*view.see(kind, value), *view.settle(kind)]]
    assert not any(isinstance(one, WorkloadChanged | WorkloadDeleted) for one in [*told, *again])


@pytest.mark.parametrize("over", [{"deletionTimestamp": "2026-01-01T00:00:00Z"}, {}])
def test_pods_that_take_the_name_of_a_group_that_is_over_are_let_in_anew(over: dict[str, str]) -> None:
    view, old = View(), left("g", "4b0469f7", **over)
    if not over:
        old["status"]["conditions"][0] |= {"type": "Finished", "reason": "Succeeded"}
    view.see("Workload", old)
    (submitted,) = [one for one in view.see("Pod", pod("p", group="g")) if isinstance(one, WorkloadSubmitted)]
    assert submitted.adopted is None


def test_a_group_that_is_on_the_log_stays_when_what_serves_is_listed_before_pods_are() -> None:
    first, second = View(), View()
    for fact in first.see("Pod", pod("p", group="g")):
        second.fold(fact)
    second.expect("StatefulSet", [])
    assert second.settle("StatefulSet") == []
    second.expect("Pod", [pod("p", group="g")])
    assert not any(isinstance(one, WorkloadDeleted) for one in second.settle("Pod"))
    second.expect("Pod", [])
    assert WorkloadDeleted(workload="team/g") in second.settle("Pod")


def listed(view: View, *objects: dict[str, Any]) -> list[Any]:
    view.expect("Workload", objects)
    told = [fact for one in objects for fact in view.see("Workload", one)]
    return [*told, *view.settle("Workload")]


def written(version: int, value: dict[str, Any]) -> dict[str, Any]:
    return {**value, "metadata": {**value["metadata"], "resourceVersion": str(version)}}


def who_waits() -> View:
    """A view of a log that has told of the job, and of a decision about it that was applied."""
    view = View()
    view.see("Job", job())
    view.fold(DecisionApplied(workload=KEY, partition="LOG_0", sequence=1, version=7))
    return view


def test_what_kueue_has_decided_about_a_known_job_is_told_once_with_what_was_asked_for() -> None:
    view = who_waits()
    changed, told = listed(view, written(9, found(admitted=True)))
    assert isinstance(told, DecidedElsewhere) and (told.status.cluster_queue, told.version) == ("cq", 9)
    assert isinstance(changed, WorkloadChanged)
    assert [one.name for one in changed.spec.pod_sets[0].shape.containers] == ["asked-for"]
    assert listed(view, written(9, found(admitted=True))) == []
    assert not any(isinstance(one, WorkloadChanged) for one in view.see("Job", running())), "what was injected"


def test_what_its_object_is_marked_with_is_told_along() -> None:
    value = written(9, found(admitted=True))
    value["metadata"]["annotations"] = {DECISION: "LOG_0/5"}
    *_, told = [one for one in listed(who_waits(), value) if isinstance(one, DecidedElsewhere)]
    assert told.decision == "LOG_0/5"


@pytest.mark.parametrize("version", [6, 7])
def test_what_nobody_has_written_since_kuelog_did_is_not_told(version: int) -> None:
    assert listed(who_waits(), written(version, found(admitted=True))) == []


def test_a_write_that_is_seen_as_it_happens_is_not_compared() -> None:
    assert who_waits().see("Workload", written(9, found(admitted=True))) == []


def test_what_was_made_of_another_job_of_that_name_says_nothing_of_this_one() -> None:
    other = written(9, found(admitted=True))
    other["metadata"]["ownerReferences"] = [{**other["metadata"]["ownerReferences"][0], "uid": "u-0"}]
    assert listed(who_waits(), other) == []


def test_who_has_ended_under_kueue_is_told_as_finished() -> None:
    over = written(9, found(admitted=True))
    over["status"]["conditions"].append({**over["status"]["conditions"][0], "type": "Finished", "reason": "Succeeded"})
    view = who_waits()
    assert listed(view, over) == [WorkloadFinished(workload=KEY, reason="Succeeded", message="")]
    assert listed(view, over) == []


def test_the_user_of_what_serves_is_told_as_that_of_jobs_and_pods_is() -> None:
    value, user = stateful_set(), {"kuelog.io/user": "ann"}
    value["metadata"]["labels"] |= user
    view = View()
    one = pod("p", group="statefulset-s", kind="StatefulSet")
    one["metadata"]["labels"] |= user
    for kind, found_now in (("StatefulSet", value), ("Pod", one)):
        view.expect(kind, [found_now])
    told = [
        fact
        for kind, found_now in (("StatefulSet", value), ("Pod", one))
        for fact in [*view.see(kind, found_now), *view.settle(kind)]
    ]
    assert [fact.spec.user for fact in told if isinstance(fact, WorkloadSubmitted)] == ["ann"]


def slice_of_kueue(name: str, *, replaces: str = "", count: int, given: int = 0, over: str = "") -> dict[str, Any]:
    """A slice of the job as Kueue has made it, let in with so many pods (`given`)."""
    value = found(admitted=bool(given))
    notes = {"kueue.x-k8s.io/elastic-job": "true", "kueue.x-k8s.io/workload-slice-name": "job-j-first"}
    if replaces:
        notes["kueue.x-k8s.io/workload-slice-replacement-for"] = f"team/{replaces}"
    value["metadata"] |= {"name": name, "uid": f"w-{name}", "annotations": notes}
    value["spec"]["podSets"][0]["count"] = count
    if given:
        usage = {"name": "main", "count": given, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": str(given)}}
        value["status"]["admission"] = {"clusterQueue": "cq", "podSetAssignments": [usage]}
    if over:
        ended = {"type": "Finished", "status": "True", "reason": over, "message": ""}
        value["status"]["conditions"].append({**ended, "lastTransitionTime": "2026-01-01T00:00:00Z"})
    return value


def elastic(count: int, *, suspend: bool = False) -> dict[str, Any]:
    value = running()
    value["metadata"] = {**value["metadata"], "annotations": {"kueue.x-k8s.io/elastic-job": "true"}}
    value["spec"] = {**value["spec"], "parallelism": count, "suspend": suspend}
    value["spec"].pop("completions", None)
    return value


def test_an_elastic_job_goes_on_in_the_slice_that_kueue_has_let_in_whatever_that_is_called() -> None:
    view = View()
    assert view.see("Workload", slice_of_kueue("job-j-first", count=2, given=2)) == []
    told, *others = view.see("Job", elastic(2))
    assert isinstance(told, WorkloadSubmitted) and told.adopted is not None and others == []
    assert (told.workload, told.adopted.cluster_queue) == ("team/job-j-first", "cq")
    assert [one.name for one in told.spec.pod_sets[0].shape.containers] == ["asked-for"]
    assert view.see("Job", elastic(2)) == []
    (grown,) = view.see("Job", elastic(3))
    assert isinstance(grown, WorkloadChanged) and (grown.workload, grown.spec.pod_sets[0].count) == (told.workload, 3)


def test_one_that_has_grown_goes_on_in_its_last_slice_and_its_facts_name_the_first() -> None:
    first = slice_of_kueue("job-j-first", count=2, given=2, over="WorkloadSliceReplaced")
    second = slice_of_kueue("job-j-second", replaces="job-j-first", count=4, given=4)
    view, other = View(), View()
    assert view.see("Workload", first) == view.see("Workload", second) == []
    facts = view.see("Job", elastic(4))
    (told,) = facts
    assert isinstance(told, WorkloadSubmitted) and told.adopted is not None
    assert (told.workload, told.spec.slice_name, told.spec.replaces) == ("team/job-j-second", "job-j-first", "")
    for fact in facts:
        other.fold(fact)
    assert other.see("Workload", first) == other.see("Workload", second) == other.see("Job", elastic(4)) == []
    (smaller,) = other.see("Job", elastic(1))
    assert isinstance(smaller, WorkloadChanged) and smaller.workload == "team/job-j-first"
    assert other.lose("Job", "team", "j") == [WorkloadDeleted(workload="team/job-j-first")]


def test_one_that_waits_for_more_under_kueue_does_so_here_in_the_slice_that_waited() -> None:
    view = View()
    view.see("Workload", slice_of_kueue("job-j-first", count=2, given=2))
    view.see("Workload", slice_of_kueue("job-j-second", replaces="job-j-first", count=4))
    told = [one for one in view.see("Job", elastic(4)) if isinstance(one, WorkloadSubmitted)]
    assert [(one.workload, one.spec.pod_sets[0].count, one.spec.replaces) for one in told] == [
        ("team/job-j-first", 2, ""),
        ("team/job-j-second", 4, "team/job-j-first"),
    ]
    assert view.see("Job", elastic(4)) == []


def test_of_two_slices_the_one_that_is_to_be_replaced_comes_first_whatever_they_are_called() -> None:
    view = View()
    view.see("Workload", slice_of_kueue("job-j-a", replaces="job-j-first", count=4))
    view.see("Workload", slice_of_kueue("job-j-first", count=2, given=2))
    told = [one for one in view.see("Job", elastic(4)) if isinstance(one, WorkloadSubmitted)]
    assert [(one.workload, one.spec.replaces) for one in told] == [
        ("team/job-j-first", ""),
        ("team/job-j-a", "team/job-j-first"),
    ]
    later, grown = slice_of_kueue("job-j-a", count=2, given=2), slice_of_kueue("job-j-first", count=4, given=4)
    later["metadata"]["creationTimestamp"] = "2026-01-01T00:05:00Z"
    view = View()
    view.see("Workload", later)
    view.see("Workload", grown)
    told = [one for one in view.see("Job", elastic(4)) if isinstance(one, WorkloadSubmitted)]
    assert [one.workload for one in told] == ["team/job-j-first", "team/job-j-a"], "the older one"


def test_of_a_slice_that_has_become_smaller_under_kueue_what_is_left_is_taken_over() -> None:
    view = View()
    view.see("Workload", slice_of_kueue("job-j-first", count=1, given=3))
    told, *_ = view.see("Job", elastic(1))
    assert isinstance(told, WorkloadSubmitted) and told.adopted is not None
    (given,) = told.adopted.assignments
    assert (given.count, given.usage) == (1, {"cpu": 1000})


def test_an_elastic_job_that_has_ended_under_kueue_is_told_in_its_last_slice() -> None:
    view = View()
    view.see("Workload", slice_of_kueue("job-j-first", count=2, given=2, over="WorkloadSliceReplaced"))
    view.see("Workload", slice_of_kueue("job-j-second", replaces="job-j-first", count=4, given=4, over="Succeeded"))
    done = {"type": "Complete", "status": "True", "message": "it is done"}
    told, *_ = view.see("Job", {**elastic(4), "status": {"conditions": [done]}})
    assert isinstance(told, WorkloadSubmitted) and told.workload == "team/job-j-second"
