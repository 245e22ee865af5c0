import pytest
from msgspec.structs import replace

from projections.topology.domains.room import LeafRoom
from projections.topology.placement.workload_placement import first_failure, place_pod_sets
from projections.topology.requests.topology_request import FlavorRoom, LeafLimit
from projections.topology.search import group_placement
from projections.topology.search.distribution import Portion
from tests.projections.topology.makers import flavor_with, gates, placed, request, told


def test_pods_of_another_flavor_on_the_same_hosts_count() -> None:
    hosts = flavor_with(["host"], {"a": 3, "b": 3})
    asked = [request("one", required="host", count=2), request("two", flavor="other", required="host", count=2)]
    shared = place_pod_sets({"tas": hosts, "other": hosts}, asked, gates())
    apart = place_pod_sets({"tas": hosts, "other": hosts}, asked, gates(off=["shared_hosts"]))
    assert [told(one) for one in shared] == [{"b": 2}, {"a": 2}]
    assert [told(one) for one in apart] == [{"a": 2}, {"a": 2}]


def test_wider_leaves_of_two_flavors_are_not_taken_for_the_same() -> None:
    racks = flavor_with(["rack"], {"r1": 3})
    asked = [request("one", required="rack", count=2), request("two", flavor="other", required="rack", count=2)]
    found = place_pod_sets({"tas": racks, "other": racks}, asked, gates())
    assert [told(one) for one in found] == [{"r1": 2}, {"r1": 2}]


def test_a_failure_on_one_flavor_does_not_stop_another() -> None:
    asked = [
        request("too-many", required="host", count=9),
        request("elsewhere", flavor="other", required="host"),
        request("behind", required="host"),
    ]
    found = place_pod_sets(
        {"tas": flavor_with(["host"], {"a": 3}), "other": flavor_with(["host"], {"b": 1})}, asked, gates()
    )
    assert [(one.pod_set, told(one)) for one in found] == [
        ("too-many", 'topology "t" allows to fit only 3 out of 9 pod(s)'),
        ("elsewhere", {"b": 1}),
    ]
    failed = first_failure(found)
    assert failed is not None and failed.pod_set == "too-many"
    assert first_failure(found[1:]) is None


def test_leaves_that_are_no_hosts_are_named_by_all_their_values() -> None:
    found = placed(flavor_with(["block", "rack"], {"b/r1": 2, "b/r2": 3}), request(required="rack", count=3))["main"]
    assert found.assignment is not None
    assert (found.assignment.levels, told(found)) == (("block", "rack"), {"b/r2": 3})


def test_a_leaf_takes_no_more_pods_than_it_may_whatever_is_free() -> None:
    flavor = flavor_with(["host"], {"a": 9, "b": 9, "full": 0})
    limit = LeafLimit(resource="nvidia.com/gpu", pods=[2, 0, 0])
    assert told(placed(flavor, replace(request(required="host", count=2), limit=limit))["main"]) == {"a": 2}
    assert told(placed(flavor, replace(request(required="host", count=3), limit=limit))["main"]) == (
        'topology "t" allows to fit only 2 out of 3 pod(s). '
        'Total nodes: 3; excluded: resource "cpu": 1, resource "nvidia.com/gpu": 1'
    )


def test_a_leader_lies_only_where_its_own_limit_lets_it() -> None:
    flavor = flavor_with(["rack", "host"], {"r/a": 3, "r/b": 3})
    only_b = LeafLimit(resource="nvidia.com/gpu", pods=[0, 1])
    workers = request("workers", required="rack", group="g", count=5)
    leader = replace(request("leader", required="rack", group="g"), limit=only_b)
    found = placed(flavor, workers, leader)
    assert (told(found["workers"]), told(found["leader"])) == ({"a": 3, "b": 2}, {"b": 1})


def test_nobody_is_placed_in_part_where_counts_have_promised_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(*_: object) -> list[Portion]:
        return [Portion(0, 2, 0)]

    monkeypatch.setattr(group_placement, "distribute", too_few)
    found = placed(flavor_with(["host"], {"a": 3}), request(required="host", count=3))
    assert told(found["main"]) == 'topology "t" allows to fit only 2 out of 3 pod(s)'


def test_what_is_assumed_for_one_workload_is_gone_with_the_attempt() -> None:
    flavor = flavor_with(["host"], {"a": 3})
    asked = request(required="host", count=3)
    assert told(placed(flavor, asked)["main"]) == told(placed(flavor, asked)["main"]) == {"a": 3}


def test_in_an_empty_cluster_only_pods_outside_of_the_topology_count() -> None:
    full = flavor_with(["host"], {"a": 3}, {"a": {"cpu": 3}})
    empty = FlavorRoom(room=LeafRoom(tree=full.room.tree, capacity=full.room.capacity))
    asked = request(required="host", count=3)
    assert told(placed(empty, asked)["main"]) == {"a": 3}
    assert "excluded" in str(told(placed(full, asked)["main"]))
