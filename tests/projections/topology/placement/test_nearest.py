from collections.abc import Sequence

from projections.devices.holdings.card_holdings import CardHoldings
from projections.topology.domains.tree import HOSTNAME
from projections.topology.placement.card_places import CardLedger
from projections.topology.placement.nearest import NearDomain, NearestDomains, Short, nearest_domains
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest
from projections.trail import Trail
from projections.world import World
from tests.projections.topology.makers import FLAVOR, flavor_with, gates, request

LEVELS = ["block", "rack", "host"]


def nearest(flavor: FlavorRoom, *asked: PlacementRequest) -> NearestDomains | None:
    cards: CardHoldings = World().cards
    ledger = CardLedger(cards=cards, nodes={}, trail=Trail())
    return nearest_domains({FLAVOR: flavor}, asked, gates(), ledger, ())


def found(flavor: FlavorRoom, *asked: PlacementRequest) -> Sequence[NearDomain]:
    told = nearest(flavor, *asked)
    assert told is not None
    return told.domains


def test_each_level_names_the_domain_that_takes_most_and_what_is_short_there() -> None:
    flavor = flavor_with(LEVELS, {"b1/r1/a": 3, "b1/r1/b": 1, "b1/r2/c": 3, "b2/r3/d": 2})
    told = nearest(flavor, request(required="rack", count=5))
    assert told is not None
    assert (told.topology, told.flavor, told.asked, told.count, told.pod_sets) == ("t", FLAVOR, "rack", 5, ("main",))
    assert told.domains == (
        NearDomain(level="block", values=("b1",), pods=5),
        NearDomain(
            level="rack",
            values=("b1", "r1"),
            pods=4,
            short=(Short(resource="cpu", pods=4, missing=1, free=4),),
        ),
        NearDomain(
            level=HOSTNAME,
            values=("b1", "r1", "a"),
            pods=3,
            short=(Short(resource="cpu", pods=3, missing=2, free=3),),
        ),
    )


def test_what_is_free_in_pieces_too_small_for_a_pod_counts_as_free_and_for_no_pod() -> None:
    flavor = flavor_with(["rack", "host"], {"r1/a": 3, "r1/b": 3})
    rack, _ = found(flavor, request(required="rack", count=4, requests={"cpu": 2}))
    assert rack.short == (Short(resource="cpu", pods=2, missing=4, free=6),)


def test_nothing_is_short_by_itself_where_each_resource_is_free_on_another_node() -> None:
    flavor = flavor_with(["rack", "host"], {"r1/a": {"cpu": 9, "memory": 0}, "r1/b": {"cpu": 0, "memory": 9}})
    rack, host = found(flavor, request(required="rack", requests={"cpu": 1, "memory": 1}))
    assert (rack.pods, rack.short) == (0, ())
    assert [one.resource for one in host.short] == ["memory"], "of a; b has none of the other"


def test_of_domains_that_take_as_many_the_one_that_lacks_least_is_nearest() -> None:
    flavor = flavor_with(["rack", "host"], {"r1/a": {"cpu": 1, "memory": 0}, "r2/b": {"cpu": 9, "memory": 0}})
    rack, _ = found(flavor, request(required="rack", count=3, requests={"cpu": 1, "memory": 1}))
    assert rack.values == ("r2",)
    assert [one.resource for one in rack.short] == ["memory"]


def test_nodes_that_pods_may_not_use_are_counted_with_what_keeps_them_off() -> None:
    flavor = flavor_with(["rack", "host"], {"r1/a": {"cpu": 9, "taint": "gone"}, "r1/b": 1, "r1/c": {"cpu": 9}})
    rack, _ = found(flavor, request(required="rack", count=3, selector={HOSTNAME: "b"}))
    assert rack.ruled_out == {'taint "gone=yes:NoSchedule"': 1, "nodeSelector": 1}
    assert rack.short[0] == Short(resource="cpu", pods=1, missing=2, free=1)


def test_pods_count_in_whole_slices_where_these_stay_together() -> None:
    flavor = flavor_with(LEVELS, {"b1/r1/a": 3, "b1/r2/b": 3})
    block, rack, host = found(flavor, request(required="block", count=6, slices=[["rack", 2]]))
    assert [(one.level, one.pods) for one in (block, rack, host)] == [("block", 4), ("rack", 2), (HOSTNAME, 3)]


def test_a_domain_without_room_for_the_leader_says_so() -> None:
    flavor = flavor_with(["rack", "host"], {"r1/a": 2, "r1/b": 2})
    workers = request("workers", required="rack", group="one", count=3)
    leader = request("leader", required="rack", group="one", requests={"cpu": 3})
    told = nearest(flavor, leader, workers)
    assert told is not None and told.pod_sets == ("leader", "workers")
    assert [(one.pods, one.leader) for one in told.domains] == [(3, False), (2, False)]


def test_what_pod_sets_before_it_take_is_not_free_for_a_later_one() -> None:
    flavor = flavor_with(["rack", "host"], {"r1/a": 4})
    told = nearest(flavor, request("one", required="rack", count=3), request("two", required="rack", count=3))
    assert told is not None and told.pod_sets == ("two",)
    assert told.domains[0].short == (Short(resource="cpu", pods=1, missing=2, free=1),)


def test_where_all_find_places_and_where_no_level_is_meant_nothing_is_nearest() -> None:
    flavor = flavor_with(["rack", "host"], {"r1/a": 4})
    assert nearest(flavor, request(required="rack", count=3)) is None
    assert nearest(flavor, request(required="row", count=3)) is None
