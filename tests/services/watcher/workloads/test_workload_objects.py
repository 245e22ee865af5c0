"""What a Workload object says about its pod sets, as it is told on the log."""

from typing import Any

import pytest

from events.control import ObjectRefused
from events.json_object import JsonObject
from events.topology import SliceConstraint, TopologyRequest
from events.workload import WorkloadDeleted, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from projections.flavors.suitability import asks_for_topology
from services.watcher.view import View
from services.watcher.workloads.workload_objects import workload_state

RACK, HOST = "example.com/rack", "kubernetes.io/hostname"


def requested(**asked: object) -> TopologyRequest | None:
    pod_set: JsonObject = {"name": "main", "count": 8, "topologyRequest": asked}
    value = {"metadata": {"name": "w", "namespace": "team"}, "spec": {"queueName": "q", "podSets": [pod_set]}}
    return workload_state(value).spec.pod_sets[0].topology


def test_every_field_of_a_topology_request_is_told() -> None:
    assert requested(
        required=RACK,
        podIndexLabel="index",
        subGroupIndexLabel="job",
        subGroupCount=2,
        podSetGroupName="both",
        podSetSliceRequiredTopology=HOST,
        podSetSliceSize=4,
    ) == TopologyRequest(
        required=RACK,
        pod_set_group="both",
        slices=(SliceConstraint(topology=HOST, size=4),),
        pod_index_label="index",
        sub_group_index_label="job",
        sub_group_count=2,
    )


@pytest.mark.parametrize(
    ("asked", "asks"),
    [
        ({}, False),
        ({"podIndexLabel": "index", "subGroupIndexLabel": "job", "subGroupCount": 2}, False),
        ({"podSetGroupName": "both"}, False),
        ({"required": RACK}, True),
        ({"preferred": RACK}, True),
        ({"unconstrained": True}, True),
        ({"unconstrained": False}, True),
        ({"podSetSliceRequiredTopology": HOST}, True),
        ({"podSetSliceSize": 4}, True),
        ({"podsetSliceRequiredTopologyConstraints": [{"topology": HOST, "size": 4}]}, True),
    ],
)
def test_a_pod_set_asks_for_topology_when_it_says_where_its_pods_are_to_lie(asked: JsonObject, *, asks: bool) -> None:
    assert asks_for_topology(requested(**asked)) is asks


def test_a_size_of_slices_alone_names_no_level_and_leaves_alone_what_does() -> None:
    assert requested(podSetSliceSize=4) == TopologyRequest(unconstrained=False)
    assert requested(podSetSliceSize=4, unconstrained=True) == TopologyRequest(unconstrained=True)
    assert requested(podSetSliceSize=4, required=RACK) == TopologyRequest(required=RACK)


def test_layers_of_slices_come_from_the_list_or_from_the_two_fields_for_one() -> None:
    layers = [{"topology": RACK, "size": 8}, {"topology": HOST, "size": 4}]
    both = requested(podsetSliceRequiredTopologyConstraints=layers, podSetSliceRequiredTopology=HOST, podSetSliceSize=2)
    assert both is not None
    assert both.slices == (SliceConstraint(topology=RACK, size=8), SliceConstraint(topology=HOST, size=4))
    without_size = requested(podSetSliceRequiredTopology=HOST)
    assert without_size is not None and without_size.slices == (SliceConstraint(topology=HOST, size=0),)


def test_a_workload_that_names_the_one_that_it_replaces_is_a_slice_without_any_other_annotation() -> None:
    meta = {"name": "w2", "namespace": "team"}
    notes = {"kueue.x-k8s.io/workload-slice-replacement-for": "team/w"}
    spec = workload_state({"metadata": {**meta, "annotations": notes}, "spec": {"queueName": "q"}}).spec
    assert (spec.elastic, spec.replaces) == (True, "team/w")
    assert not workload_state({"metadata": meta, "spec": {"queueName": "q"}}).spec.elastic


def workload(*sets: JsonObject, **fields: Any) -> JsonObject:
    spec = {"queueName": "q", "podSets": list(sets), **fields.pop("spec", {})}
    return {"metadata": {"name": "w", "namespace": "team", "uid": "u"}, "spec": spec, **fields}


IMPOSSIBLE = [
    workload({"count": -5}),
    workload({"count": 3, "minCount": 0}),
    workload({"count": 3, "minCount": -3}),
    workload({}, spec={"maximumExecutionTimeSeconds": 0}),
    workload({"name": "a"}, {"name": "a"}),
    workload(*({"name": f"p{index}"} for index in range(19))),
]


@pytest.mark.parametrize("value", IMPOSSIBLE)
def test_a_workload_that_asks_for_what_can_not_be_is_refused_and_never_queues(value: JsonObject) -> None:
    view = View()
    (refused,) = view.see("Workload", value)
    assert isinstance(refused, ObjectRefused) and refused.problems[0].field.startswith("spec.")
    assert view.see("Workload", value) == [], "the same refusal is told once"
    assert [type(one) for one in view.see("Workload", workload({"count": 1}))] == [WorkloadSubmitted]


@pytest.mark.parametrize("value", IMPOSSIBLE)
def test_one_that_was_queued_before_that_was_refused_goes_on_and_its_end_is_told(value: JsonObject) -> None:
    view = View()
    spec = WorkloadSpec(queue="q", pod_sets=())
    view.fold(WorkloadSubmitted(workload="team/w", uid="u", owner=None, created_at=0, spec=spec))
    assert [type(one) for one in view.see("Workload", value)] == [ObjectRefused]
    done = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "done"}
    ended = {**value, "status": {"conditions": [done]}}
    assert view.see("Workload", ended) == [WorkloadFinished(workload="team/w", reason="Succeeded", message="done")]
    assert view.see("Workload", ended) == []
    assert WorkloadDeleted(workload="team/w") in view.lose("Workload", "team", "w")


def test_fewer_pods_than_none_are_never_given_back() -> None:
    value = workload({"count": 3}, status={"reclaimablePods": [{"name": "main", "count": -2}]})
    state = workload_state(value)
    assert state.reclaimed == {"main": 0}
    assert state.adopted is not None and state.adopted.reclaimable == {"main": 0}


@pytest.mark.parametrize(
    ("text", "boost"),
    [
        ("7", 7),
        ("+7", 7),
        ("-7", -7),
        ("-2147483648", -(2**31)),
        ("2147483648", 0),
        ("9" * 4000, 0),
        ("1_000", 0),
        ("٣", 0),
        ("--7", 0),
        ("-", 0),
        ("", 0),
    ],
)
def test_a_boost_is_a_number_of_32_bits_or_none(text: str, boost: int) -> None:
    metadata = {"name": "w", "namespace": "team", "annotations": {"kueue.x-k8s.io/priority-boost": text}}
    value: JsonObject = {"metadata": metadata, "spec": {"queueName": "q", "podSets": [{"name": "main"}]}}
    assert workload_state(value).spec.priority_boost == boost
