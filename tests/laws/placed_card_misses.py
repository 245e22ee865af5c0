"""How often pods that want cards in one rack find none where a search over every placement finds some.

    python -m tests.laws.placed_card_misses --clusters 3000

Random racks of up to 2 hosts with up to 4 cards each, partly taken, and random pod sets. Places that are found are held against what
is left of each card; who finds none is looked for in every way there is.
"""

import argparse
from collections.abc import Sequence
from random import Random

import msgspec

from events.device import NodeObserved
from events.topology import TopologyRequest
from projections.topology.domains.room import LeafRoom, capacity_of
from projections.topology.domains.tree import HOSTNAME, tree_of
from projections.topology.placement.card_places import CardLedger
from projections.topology.placement.workload_placement import PlacesWithCards, first_failure, place_with_cards
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest
from tests.laws.gang_misses import cluster, fleet_of, gangs_of, pods
from tests.laws.search import Cluster, Pod, placeable
from tests.projections.devices.makers import Fleet

RACK = "rack"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one try."""

    places: PlacesWithCards
    fleet: Fleet

    @property
    def placed(self) -> bool:
        """Whether all pods have found hosts and cards."""
        return first_failure(self.places.pod_sets) is None

    def problems(self) -> list[str]:
        """What is wrong with places that were found: a pod off its host, two racks, a card over what it has."""
        hosts = {
            (one.pod_set, domain.values[-1]): domain.count
            for one in self.places.pod_sets
            for domain in (one.assignment.domains if one.assignment is not None else ())
        }
        given: dict[tuple[str, str], int] = {}
        for one in self.places.cards:
            given[one.pod_set, one.node] = given.get((one.pod_set, one.node), 0) + 1
        found = [] if given == hosts else [f"pods lie on {hosts}, and have cards on {given}"]
        for name in {one.pod_set for one in self.places.pod_sets}:
            if len({_rack(host) for pod_set, host in hosts if pod_set == name}) != 1:
                found.append(f"{name} lies in several racks")
        with self.fleet.trail.trial():
            self.fleet.cards.trial(self.places.cards)
            if self.fleet.cards.overfull(self.fleet.nodes):
                found.append("a card has more than it can hold")
        return found


def _rack(host: str) -> str:
    return f"r{int(host[1:]) // 2}"


def tried(nodes: Cluster, sets: Sequence[tuple[Pod, int]]) -> Found:
    """Each pod set in one rack, of two hosts each."""
    fleet = fleet_of(nodes)
    for name in list(fleet.nodes):
        fleet.nodes[name] = NodeObserved(
            name=name, labels={RACK: _rack(name), HOSTNAME: name}, allocatable={"pods": 110}
        )
    tree = tree_of("dc", (RACK, HOSTNAME), {}, fleet.nodes.values())
    flavor = FlavorRoom(room=LeafRoom(tree=tree, capacity=capacity_of(tree, fleet.nodes.values())))
    gangs = gangs_of(sets)
    requests = [
        PlacementRequest(
            pod_set=one.pod_set.name, flavor="f", count=one.count, requests={}, topology=TopologyRequest(required=RACK)
        )
        for one in gangs
    ]
    ledger = CardLedger(cards=fleet.cards, nodes=fleet.nodes, trail=fleet.trail)
    return Found(places=place_with_cards({"f": flavor}, requests, TopologyGates(), ledger, gangs), fleet=fleet)


def there_is_one(nodes: Cluster, sets: Sequence[tuple[Pod, int]]) -> bool:
    """Whether there is any way: the racks for each pod set in turn, and every placement within them."""
    racks = [nodes[start : start + 2] for start in range(0, len(nodes), 2)]
    split = [[pod] * count for pod, count in sets]
    together = [pod for each in split for pod in each]
    if any(placeable(rack, together) for rack in racks):
        return True
    return len(split) > 1 and any(
        placeable(one, split[0]) and placeable(other, split[1]) for one in racks for other in racks if one is not other
    )


def sample(chance: Random, *, several: bool) -> tuple[Cluster, list[tuple[Pod, int]]]:
    """Hosts, and pod sets that want cards there."""
    nodes = (*cluster(chance), *cluster(chance))[:4]
    count = 2 if several else 1
    return nodes, [(pods(chance, 2 if several else 1), chance.randint(1, 3)) for _ in range(count)]


def misses(clusters: int, *, several: bool, seed: int = 1) -> tuple[int, int]:
    """How many samples could be placed, and how many of these were not."""
    chance, possible, missed = Random(seed), 0, 0
    for _ in range(clusters):
        nodes, sets = sample(chance, several=several)
        found = tried(nodes, sets)
        if found.placed:
            possible += 1
            if found.problems():
                raise AssertionError((nodes, sets, found.problems()))
        elif there_is_one(nodes, sets):
            possible += 1
            missed += 1
    return possible, missed


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--clusters", type=int, default=3000)
    clusters = asked.parse_args().clusters
    for several, name in ((False, "one pod set, one container"), (True, "two pod sets, up to two containers")):
        possible, missed = misses(clusters, several=several)
        print(f"{name}: {missed} of {possible} that could be placed were not")


if __name__ == "__main__":
    main()
