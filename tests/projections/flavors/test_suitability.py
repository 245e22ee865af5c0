"""Which flavors are for pods that ask for a topology, and which are for those that do not."""

import pytest

from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import ClusterQueueObserved, FlavorObserved, FlavorQuotas, Quota, ResourceGroup
from events.topology import SliceConstraint, TopologyObserved, TopologyRequest
from projections.flavors.suitability import FlavorSuitability, PlanRules

FLAVORS = {
    "plain": FlavorObserved(name="plain"),
    "placed": FlavorObserved(name="placed", topology="racks"),
    "lost": FlavorObserved(name="lost", topology="gone"),
}
RACKS = TopologyObserved(name="racks", levels=("zone", "rack"))
SHAPE = PodShape(containers=(ContainerShape(name="c", requests={"cpu": 1000}),))
ONLY = ("placed", "lost")
MIXED = ("plain", *ONLY)


def offering(flavor: str) -> FlavorQuotas:
    return FlavorQuotas(flavor=flavor, quotas=(Quota(resource="cpu", nominal=1), Quota(resource="units", nominal=1)))


def obstacle(
    flavor: str,
    request: TopologyRequest | None,
    names: tuple[str, ...] = MIXED,
    wanted: tuple[str, ...] = ("cpu",),
    *,
    covered: tuple[str, ...] = ("cpu", "units"),
    gate: bool = True,
) -> str:
    flavors = tuple(offering(name) for name in names)
    queue = ClusterQueueObserved(name="q", groups=(ResourceGroup(resources=covered, flavors=flavors),))
    pod_set = PodSet(name="main", count=1, shape=SHAPE, topology=request)
    rules = PlanRules(topology=gate, topologies={"racks": RACKS})
    return FlavorSuitability(FLAVORS, queue, [pod_set], wanted, covered, rules).obstacle(offering(flavor))


REQUIRED = TopologyRequest(required="rack")


def test_pods_that_ask_get_flavors_with_a_topology_and_others_get_those_without() -> None:
    assert obstacle("placed", REQUIRED) == ""
    assert obstacle("plain", REQUIRED) == 'Flavor "plain" does not support TopologyAwareScheduling'
    assert obstacle("placed", None) == 'Flavor "placed" supports only TopologyAwareScheduling'
    assert obstacle("plain", None) == ""
    assert obstacle("plain", TopologyRequest(pod_index_label="index")) == ""


def test_pods_that_do_not_ask_are_placed_all_the_same_where_every_flavor_has_a_topology() -> None:
    assert obstacle("placed", None, ONLY) == ""
    assert obstacle("lost", None, ONLY) == ""


def test_a_flavor_whose_topology_is_not_known_suits_nobody_who_asks() -> None:
    assert obstacle("lost", REQUIRED) == 'Flavor "lost" information missing in TAS cache'


@pytest.mark.parametrize(
    ("request_", "suits"),
    [
        (TopologyRequest(required="zone"), True),
        (TopologyRequest(required="host"), False),
        (TopologyRequest(preferred="host"), False),
        (TopologyRequest(preferred="rack"), True),
        (TopologyRequest(preferred="host", slices=(SliceConstraint(topology="rack", size=2),)), False),
        (TopologyRequest(slices=(SliceConstraint(topology="", size=2),)), False),
        (TopologyRequest(unconstrained=True), True),
        (TopologyRequest(unconstrained=False), False),
        (TopologyRequest(slices=(SliceConstraint(topology="rack", size=2),)), True),
        (TopologyRequest(slices=(SliceConstraint(topology="host", size=2),)), False),
        (TopologyRequest(required="zone", slices=(SliceConstraint(topology="host", size=2),)), False),
        (
            TopologyRequest(
                required="zone",
                slices=(SliceConstraint(topology="rack", size=4), SliceConstraint(topology="host", size=2)),
            ),
            False,
        ),
    ],
)
def test_every_level_that_is_asked_for_has_to_be_one_of_the_topology(request_: TopologyRequest, *, suits: bool) -> None:
    told = "" if suits else 'Flavor "placed" does not contain the requested level'
    assert obstacle("placed", request_) == told


def test_a_flavor_that_gives_only_what_pods_do_not_ask_for_themselves_needs_no_topology() -> None:
    assert obstacle("plain", REQUIRED, wanted=("units",), covered=("units",)) == ""


def test_a_flavor_that_gives_something_for_what_pods_ask_for_needs_a_topology_though_it_is_not_counted() -> None:
    """CPU may be replaced by units where it is counted: the pods ask for it all the same."""
    assert obstacle("plain", REQUIRED, wanted=("units",)) == 'Flavor "plain" does not support TopologyAwareScheduling'


def test_with_the_gate_off_every_flavor_counts_as_one_without_a_topology() -> None:
    assert obstacle("plain", REQUIRED, gate=False) == obstacle("placed", None, gate=False) == ""
