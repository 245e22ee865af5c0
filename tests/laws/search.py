"""A search over every placement of a gang, by the definition of a free card, to hold the heuristic against.

It knows nothing of the code it judges: cards are tuples of what is left, and every choice of different cards is tried.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple


class Left(NamedTuple):
    """What is left on one card, and what it has."""

    slots: int
    memory: int
    cores: int
    idle: bool
    all_cores: int = 100


class Want(NamedTuple):
    """What a container asks of each of `count` cards."""

    count: int
    memory: int
    cores: int


Node = tuple[Left, ...]
Cluster = tuple[Node, ...]
Pod = tuple[Want, ...]


def placeable(cluster: Cluster, pods: Sequence[Pod]) -> bool:
    """Whether all pods find cards together, each on one node."""
    return _place(cluster, tuple(pods), set())


def _place(cluster: Cluster, pods: tuple[Pod, ...], dead: set[tuple[Cluster, int]]) -> bool:
    if not pods:
        return True
    # Nodes and cards that are alike are told apart by nothing, so states are compared sorted.
    key = (tuple(sorted(tuple(sorted(node)) for node in cluster)), len(pods))
    if key in dead:
        return False
    for index, node in enumerate(cluster):
        for after in after_pod(node, pods[0]):
            if _place((*cluster[:index], after, *cluster[index + 1 :]), pods[1:], dead):
                return True
    dead.add(key)
    return False


def after_pod(node: Node, pod: Pod) -> Iterator[Node]:
    """Every state in which a node may be after taking a pod."""
    if not pod:
        yield node
        return
    for chosen in combinations(range(len(node)), pod[0].count):
        if all(serves(node[place], pod[0]) for place in chosen):
            taken = tuple(_taken(card, pod[0]) if place in chosen else card for place, card in enumerate(node))
            yield from after_pod(taken, pod[1:])


def serves(card: Left, want: Want) -> bool:
    """Whether a card may serve a request: slots, memory, cores, alone if it wants all cores, some cores if it wants none."""
    if card.slots < 1 or card.memory < want.memory or card.cores < want.cores:
        return False
    if want.cores == card.all_cores == 100 and not card.idle:
        return False
    return not (want.cores == 0 and card.cores == 0)


def _taken(card: Left, want: Want) -> Left:
    return card._replace(
        slots=card.slots - 1, memory=card.memory - want.memory, cores=card.cores - want.cores, idle=False
    )
