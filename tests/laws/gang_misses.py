"""How often the gang heuristic finds no place where a search over every placement finds one.

    python -m tests.laws.gang_misses --clusters 3000

Random clusters of up to 3 nodes with up to 4 cards each, partly taken, and random gangs.
"""

import argparse
from collections.abc import Sequence
from random import Random

from events.card import CardShare
from events.device import PodPlacement
from events.pod_set import ContainerShape
from projections.devices.placement.gang import Gang, place
from tests.laws.search import Cluster, Left, Pod, Want, placeable
from tests.projections.devices.makers import Fleet, card, container, gang

MEMORY, SLOTS = 32, 4


def cluster(chance: Random) -> Cluster:
    """Nodes whose cards are partly taken."""
    return tuple(tuple(_left(chance) for _ in range(chance.randint(1, 4))) for _ in range(chance.randint(1, 3)))


def _left(chance: Random) -> Left:
    if chance.random() < 0.4:
        return Left(SLOTS, MEMORY, 100, True)
    memory, cores = chance.randrange(4, MEMORY, 4), chance.randrange(0, 100, 10)
    return Left(SLOTS - chance.randint(1, SLOTS - 1), MEMORY - memory, 100 - cores, False)


def pods(chance: Random, containers: int) -> Pod:
    """What one pod asks for."""
    return tuple(
        Want(
            chance.choice((1, 1, 1, 2)), chance.randrange(4, MEMORY + 1, 4), chance.choice((0, 10, 20, 30, 50, 60, 100))
        )
        for _ in range(chance.randint(1, containers))
    )


def fleet_of(nodes: Cluster) -> Fleet:
    """The same cluster in the ledger."""
    fleet = Fleet(
        **{
            f"n{i}": [card(f"n{i}-{j}", memory=MEMORY, slots=SLOTS) for j in range(len(node))]
            for i, node in enumerate(nodes)
        }
    )
    taken: list[PodPlacement] = []
    for i, node in enumerate(nodes):
        for j, left in enumerate(node):
            if not left.idle:
                share = CardShare(
                    uuid=f"n{i}-{j}",
                    vendor="NVIDIA",
                    memory=MEMORY - left.memory,
                    cores=100 - left.cores,
                    slots=SLOTS - left.slots,
                )
                taken.append(PodPlacement(pod_set="x", index=0, node=f"n{i}", containers=((share,),)))
    fleet.cards.propose("others", 1, tuple(taken))
    return fleet


def gangs_of(sets: Sequence[tuple[Pod, int]]) -> list[Gang]:
    """The same pods as the heuristic takes them."""
    return [
        gang(count, *(_container(index, want) for index, want in enumerate(pod)), name=f"set-{number}")
        for number, (pod, count) in enumerate(sets)
    ]


def _container(index: int, want: Want) -> ContainerShape:
    return container(f"c{index}", gpu=want.count, mem=want.memory, cores=want.cores)


def finds(nodes: Cluster, sets: Sequence[tuple[Pod, int]]) -> bool:
    """Whether the heuristic places all of them."""
    fleet = fleet_of(nodes)
    return bool(place(fleet.cards, fleet.nodes, gangs_of(sets), fleet.trail).placements)


KINDS = {
    "one pod, one container": (1, 1, 1),
    "one pod, up to three containers": (1, 1, 3),
    "one set of up to 5 pods, one container": (1, 5, 1),
    "one set of up to 5 pods, up to two containers": (1, 5, 2),
    "two sets of up to 3 pods, up to two containers": (2, 3, 2),
}


def measure(kind: tuple[int, int, int], clusters: int, seed: int) -> tuple[int, int]:
    """How many gangs a search places, and how many of those the heuristic misses."""
    sets, count, containers = kind
    chance, placed, missed = Random(seed), 0, 0
    for _ in range(clusters):
        nodes = cluster(chance)
        wanted = [(pods(chance, containers), chance.randint(1, count)) for _ in range(sets)]
        if placeable(nodes, [pod for pod, times in wanted for _ in range(times)]):
            placed += 1
            missed += not finds(nodes, wanted)
        else:
            assert not finds(nodes, wanted), "the heuristic places what cannot be placed"
    return placed, missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for name, kind in KINDS.items():
        placed, missed = measure(kind, asked.clusters, asked.seed)
        print(f"{name:<48} {missed:>4} of {placed:>5} missed ({100 * missed / max(placed, 1):.2f} %)")


if __name__ == "__main__":
    main()
