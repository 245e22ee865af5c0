"""What holds of every placement, in any small data centre."""

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from projections.topology.requests.topology_request import PodSetPlacement
from tests.projections.topology.by_definition import (
    Asked,
    Centre,
    domains,
    fits,
    slices_beside_a_leader,
    slices_in,
    within,
)
from tests.projections.topology.makers import flavor_with, gates, placed, request

LEVELS = ["block", "rack", "host"]
GATES = st.sampled_from([(), ("balanced",)])


@st.composite
def centres(draw: st.DrawFn) -> dict[tuple[str, ...], int]:
    """Up to nine hosts in up to three racks in up to two blocks."""
    rack = st.lists(st.integers(0, 5), min_size=1, max_size=3)
    blocks = draw(st.lists(st.lists(rack, min_size=1, max_size=2), min_size=1, max_size=2))
    return {
        (f"b{block}", f"r{block}{rack}", f"h{block}{rack}{host}"): cpu
        for block, racks in enumerate(blocks)
        for rack, hosts in enumerate(racks)
        for host, cpu in enumerate(hosts)
    }


@st.composite
def layers(draw: st.DrawFn, level: int) -> list[tuple[int, int]]:
    """No slices, some at a level, or those in layers."""
    if draw(st.booleans()):
        return []
    outer = draw(st.integers(level, 2))
    if outer == 2 or draw(st.booleans()):
        return [(outer, draw(st.sampled_from([2, 3, 4])))]
    return [(outer, 4), (draw(st.integers(outer + 1, 2)), draw(st.sampled_from([1, 2, 4])))]


@st.composite
def requests(draw: st.DrawFn) -> Asked:
    level = draw(st.integers(0, 2))
    found = draw(layers(level))
    size = found[0][1] if found else 1
    leader = draw(st.none() | st.integers(1, 3))
    return Asked(count=draw(st.integers(size, 14)), level=level, layers=found, leader=leader)


def ask(asked: Asked, how: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "count": asked.count,
        "group": "g" if asked.leader is not None else "",
        "slices": [(LEVELS[level], size) for level, size in asked.layers],
    }
    return {**found, "unconstrained": True} if how == "unconstrained" else {**found, how: LEVELS[asked.level]}


def place(centre: Centre, asked: Asked, how: str, *on: str) -> list[PodSetPlacement]:
    """The workers' places and, where there is one, the leader's."""
    flavor = flavor_with(LEVELS, {"/".join(host): cpu for host, cpu in centre.items()})
    both = [request("workers", **ask(asked, how))]
    if asked.leader is not None:
        both.append(request("leader", **{**ask(asked, how), "count": 1}, requests={"cpu": asked.leader}))
    return list(placed(flavor, *both, with_gates=gates(*on)).values())


def pods_on(centre: Centre, found: PodSetPlacement) -> dict[tuple[str, ...], int]:
    homes = {host[-1]: host for host in centre}
    assert found.assignment is not None
    return {homes[domain.values[-1]]: domain.count for domain in found.assignment.domains}


@given(centres(), requests(), st.sampled_from(["required", "preferred", "unconstrained"]), GATES)
def test_all_slices_are_placed_whole_where_there_is_room_for_them(
    centre: Centre, asked: Asked, how: str, on: tuple[str, ...]
) -> None:
    found = place(centre, asked, how, *on)
    if found[0].failure:
        return
    size = asked.layers[0][1] if asked.layers else 1
    workers = pods_on(centre, found[0])
    leader = pods_on(centre, found[1]) if asked.leader is not None else {}
    assert sum(workers.values()) == asked.count // size * size
    assert sum(leader.values()) == (0 if asked.leader is None else 1)
    for host, cpu in centre.items():
        assert workers.get(host, 0) + leader.get(host, 0) * (asked.leader or 0) <= cpu
    for level, bundle in asked.layers:
        for domain in domains(workers, level):
            assert sum(within(workers, domain).values()) % bundle == 0
    if how == "required":
        assert len(domains({**workers, **leader}, asked.level)) == 1


@given(centres(), requests())
def test_pods_that_need_one_domain_find_one_exactly_where_there_is_one(centre: Centre, asked: Asked) -> None:
    room = any(fits(within(centre, domain), asked) for domain in domains(centre, asked.level))
    assert bool(place(centre, asked, "required")[0].failure) is not room


@given(centres(), requests(), st.sampled_from(["preferred", "unconstrained"]), GATES)
def test_pods_that_may_be_spread_find_places_wherever_there_are_enough(
    centre: Centre, asked: Asked, how: str, on: tuple[str, ...]
) -> None:
    assert bool(place(centre, asked, how, *on)[0].failure) is not fits(centre, asked)


@given(centres(), requests())
def test_of_the_domains_that_hold_all_the_tightest_is_taken(centre: Centre, asked: Asked) -> None:
    found = place(centre, asked, "required")
    assume(not found[0].failure and sum(pods_on(centre, found[0]).values()))
    room = {
        domain: slices_beside_a_leader(within(centre, domain), asked)
        for domain in domains(centre, asked.level)
        if fits(within(centre, domain), asked)
    }
    (taken,) = domains(pods_on(centre, found[0]), asked.level)
    assert room[taken] == min(one for one in room.values() if one is not None)


@given(centres(), requests())
def test_pods_stay_in_one_domain_of_the_lowest_level_that_has_one_for_all(centre: Centre, asked: Asked) -> None:
    found = place(centre, asked, "preferred")
    assume(not found[0].failure)
    places = {**pods_on(centre, found[0]), **(pods_on(centre, found[1]) if asked.leader is not None else {})}
    for level in range(asked.level, -1, -1):
        if any(fits(within(centre, domain), asked) for domain in domains(centre, level)):
            assert len(domains(places, level)) <= 1
            break


@given(centres(), requests(), st.sampled_from(["required", "preferred", "unconstrained"]), GATES, st.randoms())
def test_the_order_of_nodes_does_not_matter(
    centre: Centre, asked: Asked, how: str, on: tuple[str, ...], chance: Any
) -> None:
    order = list(centre.items())
    chance.shuffle(order)
    assert place(dict(order), asked, how, *on) == place(centre, asked, how, *on)


@given(centres(), st.integers(1, 14))
def test_what_is_told_to_fit_is_what_the_roomiest_domain_takes(centre: Centre, count: int) -> None:
    asked = Asked(count=count, level=1)
    found = place(centre, asked, "required")[0]
    assume(found.failure)
    most = max(slices_in(within(centre, domain), asked) for domain in domains(centre, 1))
    said = f"to fit only {most} out of {count} pod(s)" if most else f"to fit any of {count} pod(s)"
    assert said in found.failure
