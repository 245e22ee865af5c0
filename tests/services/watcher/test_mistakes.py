"""Mistakes that people make in manifests: each is told with its field, the last good version stands, others go on."""

from typing import Any

import pytest

from events.codec import encode
from events.control import ObjectMended, ObjectRefused
from events.json_object import JsonObject
from events.quota import ClusterQueueObserved
from events.workload import PodsGone, WorkloadSubmitted
from services.watcher.fields.problems import LARGEST
from services.watcher.view import View
from tests.services.watcher.manifests import MANIFESTS
from tests.stories.small_world import Story, job, platform

OF = {(kind, value["metadata"]["name"]): value for kind, value in MANIFESTS}


def with_meta(kind: str, name: str, **meta: Any) -> JsonObject:
    value = OF[kind, name]
    return {**value, "metadata": {**value["metadata"], **meta}}


@pytest.mark.parametrize(
    ("kind", "value", "field"),
    [
        (
            "Pod",
            with_meta("Pod", "p1", annotations={"kueue.x-k8s.io/pod-group-total-count": 2}),
            "metadata.annotations",
        ),
        ("ClusterQueue", with_meta("ClusterQueue", "team", labels={"a": True}), "metadata.labels[a]"),
        ("ClusterQueue", with_meta("ClusterQueue", "team", labels=[]), "metadata.labels"),
        ("Job", with_meta("Job", "job", ownerReferences=[None]), "metadata.ownerReferences"),
        ("Job", with_meta("Job", "job", ownerReferences={"a": 1}), "metadata.ownerReferences"),
        ("Job", with_meta("Job", "job", creationTimestamp="yesterday"), "metadata.creationTimestamp"),
        ("Cohort", with_meta("Cohort", "pool", uid=7), "metadata.uid"),
        ("Job", {**OF["Job", "job"], "spec": None, "status": []}, "status"),
        ("Workload", {**OF["Workload", "direct"], "spec": "x"}, "spec"),
    ],
)
def test_the_field_is_named_and_the_last_good_version_stands(kind: str, value: JsonObject, field: str) -> None:
    view = View()
    good = OF[kind, value["metadata"]["name"]]
    for one in MANIFESTS:
        view.see(*one)
    before = dict(view.workloads), view.facts.get(f"ClusterQueue//{value['metadata']['name']}")
    (refused,) = view.see(kind, value)
    assert isinstance(refused, ObjectRefused)
    assert refused.problems[0].field.startswith(field) and refused.problems[0].message
    assert view.see(kind, value) == [], "it is told once"
    assert (dict(view.workloads), view.facts.get(f"ClusterQueue//{value['metadata']['name']}")) == before
    mended = view.see(kind, good)
    assert any(
        isinstance(one, ObjectMended | ClusterQueueObserved) or type(one).__name__.endswith("Observed")
        for one in mended
    )
    assert view.see(kind, good) == []


def test_a_name_that_is_a_number_and_one_that_is_missing_are_refused() -> None:
    for name in (7, None, "", []):
        (refused,) = View().see("ClusterQueue", {"metadata": {"name": name}, "spec": {}})
        assert isinstance(refused, ObjectRefused) and refused.problems[0].field == "metadata.name"
    (refused,) = View().see("ClusterQueue", {"spec": {}})
    assert isinstance(refused, ObjectRefused) and refused.problems[0].field == "metadata"


@pytest.mark.parametrize("text", ["LOG_0/²", "LOG_0/" + "9" * 5000, "²", "LOG_0/-1"])
def test_a_mark_that_is_no_sequence_harms_no_fold(text: str) -> None:
    told = Story().told(*platform()).told(job("a"))
    told.decided()
    told.told(PodsGone(workload="team/a", decision=text))
    told.told(job("b")).decided()
    assert told.world.workloads["team/b"].admitted


def test_labels_that_look_like_numbers_but_are_none_are_refused() -> None:
    for text in ("²", "٣", "1" * 30, "0", "-4"):
        value = with_meta("Job", "job")
        value["metadata"]["labels"] = {**value["metadata"]["labels"], "kueue.x-k8s.io/max-exec-time-seconds": text}
        view = View()
        for one in MANIFESTS:
            if one[0] != "Job":
                view.see(*one)
        (refused,) = view.see("Job", value)
        assert isinstance(refused, ObjectRefused) and "max-exec-time" in refused.problems[0].field


def nested(levels: int) -> JsonObject:
    value: JsonObject = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "value",
    [
        {"status": {"conditions": [{"type": ["Finished"], "status": "True"}]}},
        {"status": {"preemptionGates": [{"position": "Open"}]}},
    ],
    ids=["a type that is no text", "a gate without a name"],
)
def test_a_workload_object_that_can_not_be_read_is_refused_also_where_it_is_compared_with_the_last_look(
    value: JsonObject,
) -> None:
    view = View()
    for one in MANIFESTS:
        view.see(*one)
    (refused,) = view.see("Workload", {**OF["Workload", "direct"], **value})
    assert isinstance(refused, ObjectRefused) and refused.problems
    view.see("Workload", OF["Workload", "direct"])
    assert "Workload/default/direct#refused" not in view.facts


def test_a_workload_object_that_is_nested_too_deep_to_be_compared_is_read_as_any_other() -> None:
    spec = OF["Workload", "direct"]["spec"]
    (found,) = View().see("Workload", {**OF["Workload", "direct"], "spec": {**spec, "unknown": nested(5000)}})
    assert isinstance(found, WorkloadSubmitted)


def test_of_an_object_with_very_many_mistakes_the_first_are_told_and_how_many_more_there_are() -> None:
    labels = {f"k{number}": "-x" for number in range(50_000)}
    flavor = {**OF["ResourceFlavor", "v100"], "spec": {"nodeLabels": labels}}
    (refused,) = View().see("ResourceFlavor", flavor)
    assert isinstance(refused, ObjectRefused) and len(refused.problems) == 21
    assert refused.problems[0].field == "spec.nodeLabels"
    assert refused.problems[-1].message == "49980 more things are wrong with it"
    assert len(encode(refused)) < LARGEST // 100


def test_what_would_take_more_than_a_message_of_the_bus_is_refused() -> None:
    long = {**OF["Namespace", "default"], "metadata": {"name": "default", "labels": {"a": "x" * LARGEST}}}
    (refused,) = View().see("Namespace", long)
    assert isinstance(refused, ObjectRefused)
    assert refused.problems[0].message == "what it says takes 4096 KiB on the log, of 4096"
