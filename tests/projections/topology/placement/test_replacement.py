import pytest

from events.topology import TopologyAssignment
from projections.topology.placement.replacement import NodeLoss
from projections.topology.placement.workload_placement import replace_node
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest
from tests.projections.topology.makers import FLAVOR, flavor_with, gates, hosts, request, told

LEVELS = ["rack", "host"]
RACKS = {"r1/a": 2, "r1/b": 2, "r2/c": 2, "r2/d": 1, "r2/e": 1}


def replaced(
    flavor: FlavorRoom,
    *requests: PlacementRequest,
    lost: NodeLoss | None = None,
    with_gates: TopologyGates | None = None,
) -> dict[str, dict[str, int] | str]:
    found = replace_node({FLAVOR: flavor}, requests, lost or NodeLoss(host="x"), with_gates or TopologyGates())
    return {one.pod_set: told(one) for one in found}


def test_only_the_pods_of_the_failed_node_are_placed_anew_and_equal_domains_add_up() -> None:
    asked = request(unconstrained=True, count=4, previous=hosts(a=1, c=1, x=2))
    assert replaced(flavor_with(LEVELS, RACKS), asked) == {"main": {"a": 3, "c": 1}}


def test_what_is_required_holds_for_the_new_places_too() -> None:
    asked = request(required="rack", count=2, previous=hosts(c=1, x=1))
    full = flavor_with(LEVELS, RACKS, {host: {"cpu": 2} for host in "ced"})
    assert replaced(flavor_with(LEVELS, RACKS), asked) == {"main": {"c": 1, "d": 1}}
    assert replaced(full, asked) == {
        "main": 'topology "t" doesn\'t allow to fit any of 1 pod(s). Total nodes: 5; excluded: resource "cpu": 3, topologyDomain: 2'
    }


def test_pods_that_were_all_on_the_failed_node_may_go_to_any_domain() -> None:
    asked = request(required="rack", count=2, previous=hosts(x=2))
    assert replaced(flavor_with(LEVELS, RACKS), asked) == {"main": {"a": 2}}


def test_a_slice_that_has_lost_pods_gets_them_where_the_rest_of_it_lies() -> None:
    asked = request(slices=[["rack", 4]], count=8, previous=hosts(a=2, b=2, c=2, x=2))
    assert replaced(flavor_with(LEVELS, RACKS), asked) == {"main": {"a": 2, "b": 2, "c": 4}}


def test_the_rest_of_a_slice_may_lie_beside_whole_ones() -> None:
    asked = request(slices=[["rack", 4]], count=12, previous=hosts(a=2, b=2, c=6, x=2))
    assert replaced(flavor_with(LEVELS, RACKS), asked) == {"main": {"a": 2, "b": 2, "c": 8}}


def test_a_slice_gets_its_pods_back_in_its_own_rack_though_another_one_is_tighter() -> None:
    asked = request(slices=[["rack", 4]], count=8, previous=hosts(a=1, c=4, x=3))
    assert replaced(flavor_with(LEVELS, {"r1/a": 8, "r2/c": 3}), asked) == {"main": {"a": 4, "c": 4}}


def test_several_whole_slices_of_several_layers_are_placed_as_such() -> None:
    places = {"b/r1/a": 2, "b/r2/c": 2, "b/r3/d": 4, "b/r4/f": 6, "b/r5/p": 4}
    asked = request(required="block", slices=[["rack", 4], ["host", 2]], count=12, previous=hosts(p=4, x=8))
    full = flavor_with(["block", *LEVELS], places, {"p": {"cpu": 4}})
    assert replaced(full, asked) == {"main": {"d": 4, "f": 4, "p": 4}}


def test_whole_slices_of_several_layers_are_placed_as_such() -> None:
    places = {"b/r1/a": 2, "b/r2/c": 2, "b/r3/d": 2, "b/r3/e": 2, "b/r4/p": 4}
    asked = request(required="block", slices=[["rack", 4], ["host", 2]], count=8, previous=hosts(p=4, x=4))
    full = flavor_with(["block", *LEVELS], places, {"p": {"cpu": 4}})
    assert replaced(full, asked) == {"main": {"d": 2, "e": 2, "p": 4}}


def test_of_several_layers_the_innermost_that_is_broken_says_where_and_those_that_fit_say_how() -> None:
    asked = request(required="rack", slices=[["rack", 4], ["host", 2]], count=8, previous=hosts(a=2, b=2, c=2, x=2))
    full = flavor_with(LEVELS, RACKS, {"c": {"cpu": 1}})
    assert replaced(flavor_with(LEVELS, RACKS), asked) == {"main": {"a": 2, "b": 2, "c": 4}}
    assert replaced(full, asked) == {
        "main": 'topology "t" doesn\'t allow to fit any of 1 slice(s). Total nodes: 5; excluded: topologyDomain: 2'
    }


def test_half_a_slice_is_placed_in_bundles_of_the_innermost_layer_alone() -> None:
    asked = request(slices=[["block", 8], ["rack", 4], ["host", 2]], count=8, previous=hosts(a=4, x=4))
    places = {"b/r1/a": 4, "b/r2/c": 3, "b/r3/d": 2, "other/r4/p": 4}
    full = flavor_with(["block", *LEVELS], places, {"a": {"cpu": 4}})
    assert replaced(full, asked) == {"main": {"a": 4, "c": 2, "d": 2}}


def test_a_bundle_that_has_lost_a_pod_gets_one_where_the_rest_of_it_lies() -> None:
    asked = request(slices=[["rack", 4], ["host", 2]], count=4, previous=hosts(a=2, b=1, x=1))
    assert replaced(flavor_with(LEVELS, RACKS), asked) == {"main": {"a": 2, "b": 2}}


def test_a_whole_slice_may_go_anywhere() -> None:
    asked = request(slices=[["rack", 2]], count=4, previous=hosts(c=2, x=2))
    assert replaced(flavor_with(LEVELS, RACKS), asked) == {"main": {"a": 2, "c": 2}}


def test_another_domain_that_is_gone_makes_the_assignment_invalid() -> None:
    asked = request(required="rack", count=2, previous=hosts(gone=1, x=1))
    assert replaced(flavor_with(LEVELS, RACKS), asked) == {
        "main": "Cannot replace the node, because the existing topologyAssignment is invalid, "
        "as it contains the stale domain gone"
    }


def test_pods_that_make_up_no_slice_are_not_replaced() -> None:
    asked = request(required="rack", slices=[["host", 2]], count=2, previous=hosts(x=1))
    assert replaced(flavor_with(LEVELS, RACKS), asked) == {
        "main": "cannot find replacement assignment for unhealthy node: x"
    }


@pytest.mark.parametrize(("keeps", "then"), [(True, {"x": 1}), (False, {"d": 1})])
def test_what_belongs_to_a_single_pod_keeps_its_place(keeps: bool, then: dict[str, int]) -> None:
    asked = request(unconstrained=True, previous=hosts(x=1))
    with_gates = gates() if keeps else gates(off=["keep_pod_owned"])
    lost = NodeLoss(host="x", pod_owned=True)
    assert replaced(flavor_with(LEVELS, RACKS), asked, lost=lost, with_gates=with_gates) == {"main": then}


def test_pod_sets_are_replaced_one_after_the_other_and_those_elsewhere_stay() -> None:
    requests = [
        request("one", unconstrained=True, count=2, previous=hosts(x=2)),
        request("two", unconstrained=True, count=2, previous=hosts(x=2)),
        request("three", unconstrained=True, count=1, previous=hosts(a=1)),
        request("nowhere", unconstrained=True),
    ]
    assert replaced(flavor_with(LEVELS, RACKS), *requests) == {"one": {"a": 2}, "two": {"b": 2}, "three": {"a": 1}}


def test_behind_a_pod_set_that_finds_no_place_nothing_is_replaced() -> None:
    requests = [
        request("one", required="host", count=9, previous=hosts(x=9)),
        request("two", unconstrained=True, previous=hosts(x=1)),
    ]
    assert replaced(flavor_with(LEVELS, RACKS), *requests) == {
        "one": 'topology "t" allows to fit only 2 out of 9 pod(s)'
    }


def test_an_assignment_without_the_node_stays_as_it_is() -> None:
    kept: TopologyAssignment = hosts(gone=1, a=1)
    assert replaced(flavor_with(LEVELS, RACKS), request(unconstrained=True, count=2, previous=kept)) == {
        "main": {"gone": 1, "a": 1}
    }
