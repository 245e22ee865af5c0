"""What a Workload object says about its pod sets, as it is told on the log."""

import pytest

from events.json_object import JsonObject
from events.topology import SliceConstraint, TopologyRequest
from projections.flavors.suitability import asks_for_topology
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
