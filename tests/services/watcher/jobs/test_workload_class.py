"""Which WorkloadPriorityClass counts: who gets the one called default, and what that of a Workload without a job comes to."""

import pytest

from events.catalogue import Fact
from events.control import ObjectRemoved
from events.job_kind import JobKind
from events.json_object import JsonObject
from events.quota import PriorityClassObserved
from events.settings import SettingsObserved
from events.workload import PriorityRef, WorkloadChanged, WorkloadSubmitted
from services.watcher.view import View
from tests.services.watcher.test_view import job
from tests.stories.job_samples import SAMPLED, manifest

DEFAULT = PriorityRef(name="default", workload=True)


def named(value: int, name: str = "default") -> PriorityClassObserved:
    return PriorityClassObserved(name=name, value=value, workload=True)


def told(facts: list[Fact]) -> tuple[int, PriorityRef | None]:
    (fact,) = facts
    assert isinstance(fact, WorkloadSubmitted | WorkloadChanged)
    return fact.spec.priority, fact.spec.priority_class


def labelled(name: str) -> JsonObject:
    value = job()
    value["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = name
    return value


def of_pod_class(name: str) -> JsonObject:
    value = job()
    value["spec"]["template"]["spec"]["priorityClassName"] = name
    return value


def test_a_job_that_names_no_class_gets_the_one_called_default() -> None:
    view = View()
    view.fold(named(1000))
    assert told(view.see("Job", job())) == (1000, DEFAULT)
    view = View()
    for one in (named(1000), named(7, "high"), PriorityClassObserved(name="pods", value=3)):
        view.fold(one)
    assert told(view.see("Job", of_pod_class("pods"))) == (1000, DEFAULT), "whatever its pods have"
    assert told(view.see("Job", labelled("high")))[0] == 7
    off = View(settings=SettingsObserved(gates={"WorkloadPriorityClassDefaulting": False}))
    off.fold(named(1000))
    assert told(off.see("Job", job())) == (0, None)


@pytest.mark.parametrize("kind", [one for one in SAMPLED if one.reader != "train job"], ids=lambda one: one.kind)
def test_it_is_the_same_for_every_kind_of_job(kind: JobKind) -> None:
    view = View()
    view.fold(named(5))
    assert told(view.see(kind.place, manifest(kind, "a"))) == (5, DEFAULT)


def test_of_several_default_priority_classes_the_lowest_counts_and_who_has_another_keeps_it() -> None:
    def global_default(name: str, value: int) -> PriorityClassObserved:
        return PriorityClassObserved(name=name, value=value, default=True)

    view = View()
    view.fold(global_default("a-high", 1000))
    (before,) = view.see("Job", job())
    view.fold(global_default("b-low", 1))
    assert view.see("Job", job()) == [], "it has that class already"
    other = View()
    for one in (global_default("a-high", 1000), global_default("b-low", 1)):
        other.fold(one)
    (after,) = other.see("Job", job())
    assert isinstance(before, WorkloadSubmitted) and isinstance(after, WorkloadSubmitted)
    assert (before.spec.priority, after.spec.priority) == (1000, 1)


def test_a_default_priority_class_with_a_name_that_none_can_have_keeps_no_job_out() -> None:
    view = View()
    view.fold(PriorityClassObserved(name="nvidia.com/gpu", value=50, default=True))
    assert told(view.see("Job", job())) == (0, None)


def test_who_was_there_before_the_class_is_left_alone_and_who_has_it_keeps_it() -> None:
    view = View()
    assert told(view.see("Job", job())) == (0, None)
    view.fold(named(1000))
    assert view.see("Job", job()) == []
    view = View()
    view.fold(named(1000))
    view.see("Job", job())
    assert view.see("Job", job()) == []
    view.fold(named(2000))
    assert told(view.see("Job", job())) == (2000, DEFAULT)
    view.fold(ObjectRemoved(kind="WorkloadPriorityClass", namespace="", name="default"))
    assert view.see("Job", job()) == [], "as one whose label names a class that is gone"
    view.fold(named(7, "high"))
    assert told(view.see("Job", labelled("high"))) == (7, PriorityRef(name="high", workload=True))


def test_a_workload_without_a_job_has_what_its_class_comes_to_unless_another_cluster_has_made_it() -> None:
    def alone(**labels: str) -> JsonObject:
        reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
        meta = {"name": "w", "namespace": "team", "uid": "w", "labels": labels}
        return {
            "metadata": meta,
            "spec": {"queueName": "lq", "podSets": [], "priority": 3, "priorityClassRef": reference},
        }

    high = PriorityRef(name="high", workload=True)
    view = View()
    assert told(view.see("Workload", alone())) == (3, high), "there is no such class"
    view.fold(named(7, "high"))
    assert told(view.look_at("Workload", alone())) == (7, high)
    copy = View()
    copy.fold(named(7, "high"))
    assert told(copy.see("Workload", alone(**{"kueue.x-k8s.io/multikueue-origin": "elsewhere"}))) == (3, high)
