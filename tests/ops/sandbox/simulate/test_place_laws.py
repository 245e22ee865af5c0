"""The laws of places notice what breaks them: each decision here is one that nobody should make."""

import pytest
from msgspec.structs import replace

from events.admission import QuotaReserved, TopologyAssigned
from events.card import CardShare
from events.device import PodPlacement
from events.topology import (
    SliceConstraint,
    TopologyAssignment,
    TopologyDomain,
    TopologyPlacement,
    TopologyRequest,
)
from events.workload import PodSetAssignment
from ops.sandbox.simulate.place_laws import PlaceLaws
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.topology.domains.tree import HOSTNAME
from tests.services.admitter.test_topology_with_cards import host, racked
from tests.stories.small_world import job

RACK = TopologyRequest(required="rack")
PAIRS = TopologyRequest(preferred="rack", slices=(SliceConstraint(topology=HOSTNAME, size=2),))
ANYWHERE = TopologyRequest(unconstrained=True)


def assignment(hosts: dict[str, int], count: int) -> PodSetAssignment:
    domains = tuple(TopologyDomain(values=(name,), count=pods) for name, pods in sorted(hosts.items()))
    placed = TopologyPlacement(flavor="v100", assignment=TopologyAssignment(levels=(HOSTNAME,), domains=domains))
    return PodSetAssignment(name="main", count=count, topology=placed)


def broken_by(request: TopologyRequest, *hosts: dict[str, int], count: int = 2, cards_on: str = "") -> list[str]:
    """What is said of a reservation on the first hosts that is then moved to the others."""
    world = racked(host("a", "r1", pods=2), host("b", "r1", pods=2), host("c", "r2", pods=2)).world
    submitted = job("w", count=count)
    (pod_set,) = submitted.spec.pod_sets
    spec = replace(submitted.spec, pod_sets=(replace(pod_set, topology=request),))
    evolve(world, replace(submitted, spec=spec), LogPosition(partition="FACTS", sequence=99, at=9000))
    laws = PlaceLaws(world)
    card = CardShare(uuid=f"{cards_on}-0", vendor="NVIDIA", memory=1000, cores=10)
    cards = tuple(
        PodPlacement(pod_set="main", index=index, node=cards_on, containers=((card,),))
        for index in range(count if cards_on else 0)
    )
    for number, where in enumerate(hosts):
        given = (assignment(where, count),)
        event = (
            TopologyAssigned(workload="team/w", cluster_queue="cq", assignments=given)
            if number
            else QuotaReserved(workload="team/w", cluster_queue="cq", assignments=given, placements=cards)
        )
        position = LogPosition(partition="LOG_0", sequence=number + 1, at=10_000)
        evolve(world, event, position)
        laws.hear(event, position)
    return laws.broken


@pytest.mark.parametrize(
    ("request_", "hosts", "count", "said"),
    [
        (ANYWHERE, [{"a": 3}], 3, "than it has room for: {'pods': 1}"),
        (ANYWHERE, [{"a": 1}], 2, "places 1 of 2 pods"),
        (RACK, [{"a": 1, "c": 1}], 2, "in 2 domains of rack"),
        (PAIRS, [{"a": 1, "b": 1}], 2, "splits a slice of 2 pods"),
        (ANYWHERE, [{"a": 1, "b": 1}, {"c": 2}], 2, "that had a host"),
    ],
)
def test_each_law_is_noticed_where_it_is_broken(
    request_: TopologyRequest, hosts: list[dict[str, int]], count: int, said: str
) -> None:
    (first, *_) = broken_by(request_, *hosts, count=count)
    assert said in first


def test_cards_of_another_host_than_the_one_that_pods_are_sent_to_are_noticed() -> None:
    assert broken_by(RACK, {"a": 2}, cards_on="a") == []
    (said,) = broken_by(RACK, {"a": 2}, cards_on="b")
    assert "gives pods of team/w cards on {'b': 2} and sends them to {'a': 2}" in said


def test_what_is_as_it_has_to_be_breaks_nothing() -> None:
    assert broken_by(RACK, {"a": 1, "b": 1}) == []
    assert broken_by(PAIRS, {"a": 2, "c": 2}, count=4) == []
    assert broken_by(ANYWHERE, {"a": 1, "b": 1}, {"b": 1, "c": 1}) == []
