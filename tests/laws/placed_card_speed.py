"""How fast pods find hosts and cards together: `python -m tests.laws.placed_card_speed`, on 10,000 hosts with 8 cards in 4 levels.

Each workload that is placed keeps its cards, so that every try meets hosts that have changed.
"""

import gc
import time

from events.card import Card
from events.device import DevicesRegistered, NodeObserved
from events.quota import FlavorObserved
from events.topology import TopologyObserved, TopologyRequest
from ops.production.process.memory_tuning import tune_memory
from projections.devices.placement.gang import Gang
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.topology.domains.tree import HOSTNAME
from projections.topology.placement.workload_cards import ledger_of
from projections.topology.placement.workload_placement import PlacesWithCards, first_failure, place_with_cards
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.topology_request import PlacementRequest
from projections.world import World
from tests.projections.devices.makers import MODEL, container, gang

HOSTS, CARDS, TIMES = 10_000, 8, 100
SPOT = LogPosition(partition="FACTS", sequence=1, at=5)
LEVELS = ("zone", "block", "rack", HOSTNAME)


def filled() -> World:
    """A world with all hosts."""
    world = World()
    evolve(world, TopologyObserved(name="dc", levels=LEVELS), SPOT)
    evolve(world, FlavorObserved(name="f", topology="dc"), SPOT)
    for number in range(HOSTS):
        name = f"n{number:05}"
        values = (f"z{number // 2500}", f"b{number // 500:03}", f"r{number // 20:04}", name)
        cards = tuple(
            Card(uuid=f"{name}-{k}", index=k, slots=10, memory=32768, model=MODEL, numa=k // 4) for k in range(CARDS)
        )
        labels = dict(zip(LEVELS, values, strict=True))
        evolve(world, NodeObserved(name=name, labels=labels, allocatable={"cpu": 96_000, "pods": 110}), SPOT)
        evolve(world, DevicesRegistered(node=name, cards=cards), SPOT)
        world.settle()
    return world


def placed(world: World, one: Gang, level: str) -> PlacesWithCards:
    """Hosts and cards for a gang in one domain of a level."""
    room = world.domains.room("f")
    if room is None:
        raise LookupError("f")
    request = PlacementRequest(
        pod_set=one.pod_set.name,
        flavor="f",
        count=one.count,
        requests={"cpu": 4_000},
        topology=TopologyRequest(required=level),
    )
    return place_with_cards({"f": room}, [request], TopologyGates(), ledger_of(world), [one])


def main() -> None:
    tune_memory()
    world = filled()
    gc.collect()
    gc.freeze()
    part = container(gpu=1, mem=8000, cores=10)
    cases = {
        "a pod with a card, on a host": (gang(1, container(gpu=1)), HOSTNAME),
        "a pod with a part of a card, on a host": (gang(1, part), HOSTNAME),
        "16 pods with a card each, in a rack": (gang(16, container(gpu=1)), "rack"),
        "16 pods with parts of cards, in a rack": (gang(16, part), "rack"),
        "512 pods with a card each, in a block": (gang(512, container(gpu=1)), "block"),
        "512 pods with parts of cards, in a block": (gang(512, part), "block"),
    }
    for name, (one, level) in cases.items():
        taken: list[float] = []
        for number in range(TIMES + 1):
            begun = time.process_time()
            found = placed(world, one, level)
            taken.append(1000 * (time.process_time() - begun))
            if first_failure(found.pod_sets) is not None:
                break
            world.cards.propose(f"{name}-{number}", 1, found.cards)
            world.settle()
        first, rest = taken[0], sorted(taken[1:])
        print(
            f"{name:<44} p50 {rest[len(rest) // 2]:6.2f} ms  p99 {rest[len(rest) * 99 // 100]:6.2f} ms  first {first:7.2f} ms"
        )


if __name__ == "__main__":
    main()
