from projections.topology.request import FlavorRoom
from projections.topology.room import LeafRoom
from projections.topology.workload_placement import first_failure, place_pod_sets
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
