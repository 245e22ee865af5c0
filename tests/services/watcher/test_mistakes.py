"""Mistakes that people make in manifests: each is told with its field, the last good version stands, others go on."""

from typing import Any

import pytest

from events.control import ObjectMended, ObjectRefused
from events.json_object import JsonObject
from events.quota import ClusterQueueObserved
from events.workload import PodsGone
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
