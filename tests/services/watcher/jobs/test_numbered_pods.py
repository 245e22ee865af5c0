"""Jobs of every kind are told with what they ask of topology, and with the labels in which their pods bear their ranks."""

from typing import Any

import msgspec

from events.control import ObjectRefused
from events.json_object import JsonObject
from events.settings import SettingsObserved
from events.topology import TopologyRequest
from events.workload import WorkloadChanged, WorkloadSubmitted
from services.watcher.view import View
from tests.services.watcher.test_view import job

REQUIRED = "kueue.x-k8s.io/podset-required-topology"
NUMBERED = TopologyRequest(pod_index_label="batch.kubernetes.io/job-completion-index")


def placed(level: str) -> dict[str, Any]:
    value = job()
    value["spec"]["template"]["metadata"] = {"annotations": {REQUIRED: level}}
    return value


def told(view: View, value: dict[str, Any], kind: str = "Job") -> WorkloadSubmitted:
    (fact,) = (one for one in view.see(kind, value) if isinstance(one, WorkloadSubmitted))
    return fact


def requests(fact: WorkloadSubmitted) -> list[TopologyRequest | None]:
    return [one.topology for one in fact.spec.pod_sets]


def test_a_job_is_told_with_its_ranks_and_with_what_its_template_asks() -> None:
    assert requests(told(View(), job())) == [NUMBERED]
    assert requests(told(View(), placed("rack"))) == [msgspec.structs.replace(NUMBERED, required="rack")]
    off = SettingsObserved(gates={"TopologyAwareScheduling": False})
    assert requests(told(View(settings=off), placed("rack"))) == [None]


def test_pods_are_told_with_the_label_of_their_group() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/managed": "true"}
    meta: JsonObject = {"name": "p", "namespace": "team", "uid": "u", "labels": labels}
    pod: JsonObject = {"metadata": {**meta, "annotations": {REQUIRED: "rack"}}, "spec": {"containers": []}}
    asked = TopologyRequest(required="rack", pod_index_label="kueue.x-k8s.io/pod-group-pod-index")
    assert requests(told(View(), pod, "Pod")) == [asked]


def test_a_serving_object_is_told_with_the_ranks_of_its_pods() -> None:
    meta: JsonObject = {"name": "s", "namespace": "team", "uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    value: JsonObject = {"metadata": meta, "spec": {"replicas": 2, "template": {"spec": {"containers": []}}}}
    view = View()
    view.expect("Pod", [])
    view.expect("StatefulSet", [value])
    assert requests(told(view, value, "StatefulSet")) == [
        TopologyRequest(pod_index_label="apps.kubernetes.io/pod-index")
    ]


def test_an_annotation_that_cannot_be_read_has_the_job_refused() -> None:
    value = job()
    value["spec"]["template"]["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-unconstrained-topology": "maybe"}}
    (refused,) = View().see("Job", value)
    assert isinstance(refused, ObjectRefused)
    (problem,) = refused.problems
    field = "spec.template.metadata.annotations[kueue.x-k8s.io/podset-unconstrained-topology]"
    assert (problem.field, problem.message) == (field, "must be a boolean value")


def as_told_before() -> View:
    """A view of a log on which no ranks are."""
    fact = told(View(), job())
    pod_sets = tuple(msgspec.structs.replace(one, topology=None) for one in fact.spec.pod_sets)
    view = View()
    view.fold(msgspec.structs.replace(fact, spec=msgspec.structs.replace(fact.spec, pod_sets=pod_sets)))
    return view


def test_a_job_that_was_told_before_its_ranks_were_known_is_not_told_anew() -> None:
    view = as_told_before()
    assert view.see("Job", job()) == []
    (changed,) = view.see("Job", job(limits={"cpu": "3"}))
    assert isinstance(changed, WorkloadChanged)
    assert [one.topology for one in changed.spec.pod_sets] == [NUMBERED]
    (asking,) = as_told_before().see("Job", placed("rack"))
    assert isinstance(asking, WorkloadChanged)
