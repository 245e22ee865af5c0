from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest
from tests.projections.topology.makers import flavor_with, gates, hosts, placed, request, told

LEVELS = ["rack", "host"]
RACKS = {"r1/a": 3, "r1/b": 3, "r2/c": 5, "r2/d": 1}


def places(flavor: FlavorRoom, *requests: PlacementRequest, on: bool = True) -> dict[str, dict[str, int] | str]:
    found = placed(flavor, *requests, with_gates=gates(*(["elastic"] if on else [])))
    return {name: told(one) for name, one in found.items()}


def test_more_pods_stay_where_they_are_and_only_the_new_ones_are_placed() -> None:
    asked = request(unconstrained=True, count=3, previous=hosts(a=1, b=1))
    assert places(flavor_with(LEVELS, RACKS), asked) == {"main": {"a": 1, "b": 1, "d": 1}}
    assert places(flavor_with(LEVELS, RACKS), asked, on=False) == {"main": {"a": 3}}


def test_places_that_pods_keep_are_not_given_twice() -> None:
    asked = request(unconstrained=True, count=4, previous=hosts(a=2))
    assert places(flavor_with(["host"], {"a": 3, "b": 9}), asked) == {"main": {"a": 2, "b": 2}}


def test_of_fewer_pods_the_first_stay_and_of_as_many_all() -> None:
    previous = hosts(a=2, b=1, c=2)
    fewer, same = (request(unconstrained=True, count=count, previous=previous) for count in (3, 5))
    assert places(flavor_with(LEVELS, RACKS), fewer) == {"main": {"a": 2, "b": 1}}
    assert places(flavor_with(LEVELS, RACKS), same) == {"main": {"a": 2, "b": 1, "c": 2}}


def test_where_a_place_is_gone_all_are_placed_anew() -> None:
    asked = request(unconstrained=True, count=2, previous=hosts(a=1, gone=1))
    assert places(flavor_with(LEVELS, RACKS), asked) == {"main": {"a": 2}}


def test_a_leader_keeps_its_place_while_workers_are_added() -> None:
    asked = [
        request("workers", required="rack", group="g", count=3, previous=hosts(a=2)),
        request("leader", required="rack", group="g", previous=hosts(b=1)),
    ]
    assert places(flavor_with(LEVELS, RACKS), *asked) == {"workers": {"a": 3}, "leader": {"b": 1}}


def test_a_leader_without_a_place_gets_one() -> None:
    workers = request("workers", required="rack", group="g", count=2, previous=hosts(a=2))
    leader = request("leader", required="rack", group="g")
    assert places(flavor_with(LEVELS, RACKS), workers, leader) == {"workers": {"a": 2}, "leader": {"a": 1}}


def test_a_leader_whose_place_is_gone_has_all_placed_anew() -> None:
    asked = [
        request("workers", required="rack", group="g", count=3, previous=hosts(c=2)),
        request("leader", required="rack", group="g", previous=hosts(gone=1)),
    ]
    assert places(flavor_with(LEVELS, RACKS), *asked) == {"workers": {"a": 2, "b": 1}, "leader": {"a": 1}}


def test_where_more_pods_find_no_place_the_workers_say_so() -> None:
    asked = [
        request("workers", required="rack", group="g", count=9, previous=hosts(a=2)),
        request("leader", required="rack", group="g", previous=hosts(b=1)),
    ]
    assert places(flavor_with(LEVELS, RACKS), *asked) == {
        "workers": 'topology "t" allows to fit only 6 out of 7 pod(s)'
    }


def test_the_place_that_a_leader_keeps_is_not_given_to_workers() -> None:
    asked = [
        request("workers", unconstrained=True, group="g", count=3, previous=hosts(a=1)),
        request("leader", unconstrained=True, group="g", previous=hosts(a=1)),
    ]
    assert places(flavor_with(["host"], {"a": 3, "b": 9}), *asked) == {"workers": {"a": 1, "b": 2}, "leader": {"a": 1}}
