"""What is written so that a cluster autoscaler is asked: which pod sets are one, and what their templates say."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.provisioning import MergePolicy, PodSetCount, ProvisioningOrdered
from services.applier.provisioning.provisioning_requests import (
    ProvisionedPodSet,
    Request,
    is_asked_already,
    pod_sets_of,
    request_objects,
    template_of,
    templates_of,
)
from services.jobs.pod_sets.pod_set import Injection, Original

FLAVOR = Injection(
    count=1,
    original=Original(name="main", count=1),
    labels={"kueue.x-k8s.io/podset": "main"},
    node_selector={"zone": "a"},
    tolerations=({"key": "card", "operator": "Exists"},),
)


def order(merge: MergePolicy | None) -> Request:
    counts = (PodSetCount(name="a", count=1), PodSetCount(name="b", count=2), PodSetCount(name="c", count=4))
    wanted = ProvisioningOrdered(
        workload="team/w",
        check="nodes",
        request="w-nodes-1",
        attempt=1,
        class_name="class",
        parameters={"Zone": "a", "Mode": "x"},
        own_parameters={"Zone": "b"},
        pod_sets=counts,
        merge=merge,
    )
    return Request(order=wanted, decision="LOG_0/7")


def pod(*, cpu: str = "1", image: str = "x", **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"image": image, "resources": {"requests": {"cpu": cpu}}}], **spec}}


@pytest.mark.parametrize(
    ("merge", "expected"),
    [
        (None, [("a", 1), ("b", 2), ("c", 4)]),
        (MergePolicy.IDENTICAL_TEMPLATES, [("a", 5), ("b", 2)]),
        (MergePolicy.IDENTICAL_REQUIREMENTS, [("a", 7)]),
    ],
)
def test_pod_sets_are_one_as_the_policy_has_it(merge: MergePolicy | None, expected: list[tuple[str, int]]) -> None:
    alike = {"a": pod(), "b": pod(image="y"), "c": pod()}
    assert [(one.name, one.count) for one in pod_sets_of(order(merge), alike)] == expected


@pytest.mark.parametrize("other", [pod(cpu="2"), pod(nodeSelector={"zone": "b"}), pod(tolerations=[{"key": "k"}])])
def test_what_needs_other_nodes_is_never_one_with_it(other: dict[str, Any]) -> None:
    found = pod_sets_of(order(MergePolicy.IDENTICAL_REQUIREMENTS), {"a": pod(), "b": other, "c": other})
    assert [(one.name, one.count) for one in found] == [("a", 1), ("b", 6)]


def test_a_template_has_its_flavor_and_nothing_of_an_earlier_start() -> None:
    template = {
        "metadata": {
            "labels": {"app": "x"},
            "annotations": {"autoscaling.x-k8s.io/consume-provisioning-request": "old", "note": "n"},
        },
        "spec": {
            "schedulingGates": [{"name": "g"}],
            "nodeSelector": {"disk": "ssd"},
            "containers": [
                {"name": "a", "image": "x", "resources": {"limits": {"cpu": "2", "gpu": 1}, "requests": {"cpu": "1"}}},
                {},
            ],
        },
    }
    assert template_of(template, FLAVOR) == {
        "metadata": {"labels": {"app": "x"}, "annotations": {"note": "n"}},
        "spec": {
            "nodeSelector": {"disk": "ssd", "zone": "a"},
            "tolerations": [{"key": "card", "operator": "Exists"}],
            "containers": [
                {
                    "name": "a",
                    "image": "x",
                    "resources": {"limits": {"cpu": "2", "gpu": 1}, "requests": {"cpu": "1", "gpu": 1}},
                },
                {"name": "c1", "image": "unspecified"},
            ],
        },
    }


def test_what_a_job_says_itself_wins_over_the_configuration() -> None:
    asked = order(None)
    objects = request_objects(asked, [ProvisionedPodSet("a", pod(), 7)], [{"uid": "u"}])
    request, parts = objects.request, objects.templates
    assert request["spec"] == {
        "provisioningClassName": "class",
        "podSets": [{"podTemplateRef": {"name": "ppt-w-nodes-1-a"}, "count": 7}],
        "parameters": {"Zone": "b", "Mode": "x"},
    }
    assert templates_of(request) == [one["metadata"]["name"] for one in parts] == ["ppt-w-nodes-1-a"]
    assert all(one["metadata"]["annotations"] == {"kuelog.io/decision": "LOG_0/7"} for one in (request, *parts))
    assert templates_of({"spec": {}}) == []


def theirs(**meta: Any) -> dict[str, Any]:
    head = {"uid": "r1", "labels": {"kueue.x-k8s.io/managed": "true"}, "ownerReferences": [{"uid": "w1"}]}
    spec = {"provisioningClassName": "class", "parameters": {"Zone": "b", "Mode": "x", "More": "y"}}
    return {"metadata": {**head, **meta}, "spec": spec}


def test_what_another_manager_has_asked_for_the_same_is_left_as_it_is() -> None:
    assert is_asked_already(order(None), theirs(), "w1")


@pytest.mark.parametrize(
    "meta",
    [
        {"uid": "known"},
        {"labels": {}},
        {"ownerReferences": [{"uid": "w2"}]},
        {"annotations": {"kuelog.io/decision": "LOG_0/3"}},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    ],
)
def test_what_is_of_an_earlier_attempt_or_of_somebody_else_is_made_anew(meta: dict[str, Any]) -> None:
    assert not is_asked_already(replace(order(None), before="known"), theirs(**meta), "w1")


def test_what_asks_in_another_way_is_made_anew() -> None:
    other = theirs()
    other["spec"]["parameters"]["Zone"] = "c"
    assert not is_asked_already(order(None), other, "w1")
    assert not is_asked_already(order(None), {**theirs(), "spec": {"provisioningClassName": "x"}}, "w1")
