"""What the watcher reports of jobs that name the Workload that they are to run in."""

from typing import Any

import pytest

from events.catalogue import Fact
from events.control import ObjectMended, ObjectRefused, ObjectRemoved
from events.quota import PriorityClassObserved
from events.workload import (
    Owner,
    PriorityRef,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadSubmitted,
)
from services.watcher.view import View

NAME = "kueue.x-k8s.io/prebuilt-workload-name"
LIMIT = "kueue.x-k8s.io/max-exec-time-seconds"
OWNER = Owner(kind="Job", name="j", uid="u-1", api_version="batch/v1")
OWNED = WorkloadOwned(workload="team/made", owner=OWNER)


def pods(cpu: str = "2", **more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **more}}


def job(uid: str = "u-1", *, queue: str = "lq", name: str = "made", **found: Any) -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": queue, **({NAME: name} if name else {}), **found.get("labels", {})}
    meta = {"name": "j", "namespace": "team", "uid": uid, "labels": labels}
    spec = {"parallelism": 1, "suspend": True, "template": found.get("template", pods())}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def workload(owner: str = "", **spec: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": "made", "namespace": "team", "uid": "w-1"}
    if owner:
        one = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": owner, "controller": True}
        meta["ownerReferences"] = [one]
    sets = [{"name": "main", "count": 1, "template": pods()}]
    return {"metadata": meta, "spec": {"queueName": "lq", "podSets": sets, **spec}}


def names(facts: list[Fact]) -> list[str]:
    return [type(one).__name__ for one in facts]


def problem(facts: list[Fact]) -> tuple[str, str]:
    refused = next(one for one in facts if isinstance(one, ObjectRefused))
    return refused.problems[0].field, refused.problems[0].message


def test_a_workload_that_is_there_is_owned_by_the_job_that_names_it_and_nothing_is_submitted_anew() -> None:
    view = View()
    assert names(view.see("Workload", workload())) == ["WorkloadSubmitted"]
    assert view.see("Job", job()) == [OWNED]
    assert view.see("Job", job()) == []
    assert view.see("Workload", workload("u-1")) == []


def test_a_job_that_comes_first_waits_with_a_reason_until_its_workload_is_there() -> None:
    view = View()
    told = view.see("Job", job())
    assert problem(told) == (f"metadata.labels[{NAME}]", "Workload team/made doesn't exist")
    assert view.see("Job", job()) == []
    found = view.see("Workload", workload())
    assert names(found) == ["WorkloadSubmitted", "WorkloadOwned", "ObjectMended"]


def test_a_watcher_that_read_the_log_back_reports_nothing_twice() -> None:
    first, second = View(), View()
    for fact in (*first.see("Workload", workload()), *first.see("Job", job())):
        second.fold(fact)
    assert second.see("Workload", workload("u-1")) == []
    assert second.see("Job", job()) == []


def test_a_watcher_that_lags_behind_another_does_not_take_the_workload_from_its_job() -> None:
    view = View()
    view.see("Workload", workload())
    view.see("Job", job(queue="elsewhere", name=""))
    assert names(view.see("Job", job())) == ["WorkloadDeleted", "WorkloadOwned"]
    behind = View()
    behind.see("Workload", workload())
    behind.see("Job", job(labels={"other": "x"}))
    assert WorkloadDeleted(workload="team/made") not in behind.see("Workload", workload("u-1"))


def test_on_a_fresh_log_a_workload_that_its_job_owns_already_is_submitted_with_what_another_has_decided() -> None:
    view = View()
    admission = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}}]}
    found = workload("u-1")
    found["status"] = {"admission": admission}
    assert view.see("Workload", found) == []
    told = view.see("Job", job())
    assert names(told) == ["WorkloadSubmitted", "WorkloadOwned"]
    submitted = told[0]
    assert isinstance(submitted, WorkloadSubmitted) and submitted.adopted is not None
    assert (submitted.owner, submitted.adopted.cluster_queue) == (None, "cq")


@pytest.mark.parametrize("reported", [True, False], ids=["on the log", "in the cluster"])
def test_a_workload_that_another_job_owns_is_not_taken_from_it(*, reported: bool) -> None:
    view = View()
    view.see("Workload", workload() if reported else workload("u-1"))
    if reported:
        view.see("Job", job())
    other = job("u-2")
    other["metadata"]["name"] = "other"
    assert problem(view.see("Job", other))[1] == "Workload team/made belongs to Job/" + ("team/j" if reported else "j")


def test_the_workload_says_what_is_asked_for_and_the_job_its_queue_and_its_class() -> None:
    view = View()
    view.fold(PriorityClassObserved(name="high", value=9, workload=True))
    view.see("Workload", workload(priority=5, maximumExecutionTimeSeconds=60))
    told = view.see("Job", job(queue="other", labels={"kueue.x-k8s.io/priority-class": "high", LIMIT: "60"}))
    assert names(told) == ["WorkloadOwned", "WorkloadChanged"]
    changed = told[1]
    assert isinstance(changed, WorkloadChanged)
    assert (changed.spec.queue, changed.spec.priority, changed.spec.max_execution) == ("other", 9, 60_000)
    assert changed.spec.priority_class == PriorityRef(name="high", workload=True)


@pytest.mark.parametrize(
    "other",
    [
        {"template": pods("3")},
        {"template": pods(initContainers=[{"name": "i", "resources": {"requests": {"cpu": "9"}}}])},
        {"labels": {LIMIT: "60"}},
    ],
    ids=["other requests", "another container", "a limit of time"],
)
def test_pods_that_are_not_those_of_the_workload_end_it(other: dict[str, Any]) -> None:
    view = View()
    view.see("Workload", workload())
    told = view.see("Job", job(**other))
    message = "The prebuilt workload is out of sync with its user job"
    assert told == [OWNED, WorkloadFinished(workload="team/made", reason="OutOfSync", message=message)]
    assert view.see("Job", job(**other)) == []


def test_how_long_it_may_run_is_what_its_workload_says_also_in_its_own_words() -> None:
    for labels, said in (({LIMIT: "60"}, ["WorkloadOwned"]), ({}, ["WorkloadOwned", "WorkloadFinished"])):
        view = View()
        view.see("Workload", workload(maximumExecutionTimeSeconds=60))
        assert names(view.see("Job", job(labels=labels))) == said


def test_a_job_that_is_made_anew_does_not_own_what_the_one_before_it_had() -> None:
    view = View()
    view.see("Workload", workload())
    view.see("Job", job())
    view.see("Workload", workload("u-1"))
    again = view.see("Job", job("u-2"))
    assert again[0] == WorkloadDeleted(workload="team/made")
    assert view.lose("Workload", "team", "made") == []
    assert names(view.see("Workload", workload())) == ["WorkloadSubmitted", "WorkloadOwned", "ObjectMended"]


def test_a_job_whose_workload_goes_waits_for_another_of_that_name_also_after_a_restart() -> None:
    view, restarted = View(), View()
    for fact in (*view.see("Workload", workload()), *view.see("Job", job())):
        restarted.fold(fact)
    assert names(view.lose("Workload", "team", "made")) == ["WorkloadDeleted", "ObjectRefused"]
    assert "Workload/team/made" in restarted.places("Workload")
    assert view.lose("Job", "team", "j") != []
    assert names(view.see("Workload", workload())) == ["WorkloadSubmitted"]


def test_of_a_workload_that_was_being_deleted_it_is_told_that_its_object_is_gone() -> None:
    view = View()
    view.see("Workload", workload())
    view.see("Job", job())
    deleted = workload("u-1")
    deleted["metadata"] |= {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
    }
    assert names(view.see("Workload", deleted)) == ["WorkloadTerminating"]
    told = view.lose("Workload", "team", "made")
    assert told[:2] == [
        WorkloadDeleted(workload="team/made"),
        ObjectRemoved(kind="Workload", namespace="team", name="made"),
    ]


def test_an_elastic_job_keeps_the_size_of_the_workload_that_it_names() -> None:
    view = View()
    view.see("Workload", workload())
    elastic = job()
    elastic["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true", "kuelog.io/decision": "LOG_0/1"}
    elastic["spec"]["suspend"] = False
    told = view.see("Job", elastic)
    assert names(told)[:2] == ["WorkloadOwned", "WorkloadChanged"]
    changed = told[1]
    assert isinstance(changed, WorkloadChanged) and changed.spec.elastic
    elastic["spec"]["parallelism"] = 3
    assert view.see("Job", elastic) == []


def test_a_job_that_names_no_workload_any_more_gets_one_of_its_own() -> None:
    view = View()
    assert names(view.see("Job", job())) == ["ObjectRefused"]
    told = view.see("Job", job(name=""))
    assert names(told) == ["WorkloadSubmitted"]
    assert not any(isinstance(one, ObjectMended) for one in told)


ELASTIC = "kueue.x-k8s.io/elastic-job"
SLICE, REPLACES = "kueue.x-k8s.io/workload-slice-name", "kueue.x-k8s.io/workload-slice-replacement-for"


def slice_(name: str, count: int, *, owner: str = "") -> dict[str, Any]:
    """A slice of an elastic job that somebody has made before the job names it; the first one is called `made`."""
    found = workload(owner)
    replaces = {REPLACES: "team/made"}
    found["metadata"] |= {"name": name, "uid": f"w-{name}", "annotations": {ELASTIC: "true", SLICE: "made", **replaces}}
    found["spec"]["podSets"][0]["count"] = count
    return found


def elastic(count: int, *, name: str = "made") -> dict[str, Any]:
    found = job(name=name)
    found["metadata"]["annotations"] = {ELASTIC: "true"}
    found["spec"]["parallelism"] = count
    return found


def grown() -> View:
    """An elastic job runs in its first slice."""
    view = View()
    view.see("Workload", slice_("made", 2))
    assert view.see("Job", elastic(2)) == [OWNED]
    return view


def test_the_next_slice_of_an_elastic_job_queues_by_itself_and_the_job_goes_on_in_it_when_it_names_it() -> None:
    view = grown()
    (told,) = view.see("Workload", slice_("next", 4))
    assert isinstance(told, WorkloadSubmitted)
    assert (told.workload, told.spec.replaces, told.spec.slice_name) == ("team/next", "team/made", "made")
    assert view.see("Job", elastic(4, name="next")) == [WorkloadOwned(workload="team/next", owner=OWNER)]
    assert view.see("Workload", slice_("next", 4, owner="u-1")) == []
    assert view.see("Workload", slice_("made", 2, owner="u-1")) == []
    assert view.lose("Job", "team", "j") == [WorkloadDeleted(workload="team/next")]
    assert view.lose("Workload", "team", "made") == [WorkloadDeleted(workload="team/made")]


def test_a_job_that_names_a_slice_of_another_job_leaves_its_own_workload() -> None:
    view = grown()
    other = slice_("next", 4)
    other["metadata"]["annotations"][SLICE] = "another"
    view.see("Workload", other)
    assert view.see("Job", elastic(4, name="next"))[0] == WorkloadDeleted(workload="team/made")


@pytest.mark.parametrize("plain", ["made", "next"])
def test_a_job_goes_on_in_another_workload_only_where_both_are_elastic(plain: str) -> None:
    """Both name the same first slice; a plain one by its own name."""
    view = View()
    found = {"made": slice_("made", 2), "next": slice_("next", 4)}
    del found[plain]["metadata"]["annotations"]
    if plain == "next":
        found = {"made": slice_("made", 2), "next": found["next"]}
        found["made"]["metadata"]["annotations"][SLICE] = "next"
    view.see("Workload", found["made"])
    first = job() if plain == "made" else elastic(2)
    first["spec"]["parallelism"] = 2
    assert OWNED in view.see("Job", first)
    view.see("Workload", found["next"])
    assert WorkloadDeleted(workload="team/made") in view.see("Job", elastic(4, name="next"))


def test_a_workload_of_a_job_that_is_not_elastic_keeps_its_size_whatever_its_object_asks_for() -> None:
    view = View()
    asked, larger = workload(), job()
    asked["spec"]["podSets"][0]["count"] = larger["spec"]["parallelism"] = 2
    view.see("Workload", asked)
    assert OWNED in view.see("Job", larger)
    assert view.see("Workload", workload("u-1")) == []


def test_a_slice_whose_object_asks_for_fewer_pods_becomes_smaller_and_none_becomes_larger() -> None:
    view = grown()
    (told,) = view.see("Workload", slice_("made", 1, owner="u-1"))
    assert isinstance(told, WorkloadChanged) and [one.count for one in told.spec.pod_sets] == [1]
    assert view.see("Job", elastic(1)) == []
    assert view.see("Workload", slice_("made", 3, owner="u-1")) == []


def test_a_workload_whose_object_gets_another_class_has_it_unless_its_job_names_one() -> None:
    view = View()
    for name, value in (("low", 1), ("high", 9)):
        view.fold(PriorityClassObserved(name=name, workload=True, value=value))
    low = {
        "priority": 1,
        "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "low"},
    }
    high = {**low, "priority": 9, "priorityClassRef": {**low["priorityClassRef"], "name": "high"}}
    view.see("Workload", workload(**low))
    view.see("Job", job())
    (told,) = view.see("Workload", workload("u-1", **high))
    assert isinstance(told, WorkloadChanged)
    assert (told.spec.priority, told.spec.priority_class) == (9, PriorityRef(name="high", workload=True))
    assert names(view.see("Job", job(labels={"kueue.x-k8s.io/priority-class": "low"}))) == ["WorkloadChanged"]
    assert view.see("Workload", workload("u-1", **high)) == []
