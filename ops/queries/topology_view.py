"""The domains of every flavor with a topology: what is free and who stands there, each domain before those that lie in it."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from events.device import NodeObserved
from events.quota import FlavorObserved
from ops.production.cards_view import card_views
from projections.topology.domains.flavor_nodes import bears
from projections.topology.domains.room import PODS, LeafRoom
from projections.topology.domains.tree import TopologyTree
from projections.world import World


class DomainHolder(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that stands in a domain, and how many of its pods."""

    workload: str
    pods: int


class CardCell(msgspec.Struct, frozen=True, kw_only=True):
    """A card of a host. Memory in MiB."""

    index: int
    state: str
    memory: int
    memory_used: int


class DomainBox(msgspec.Struct, frozen=True, kw_only=True):
    """One domain. Amounts are in the units of their resource; below zero where more is held than there is."""

    values: tuple[str, ...]
    """Of its level and those above it."""
    leaf: bool
    offered: dict[str, int]
    """What its nodes offer, less what pods hold that are not placed by topology."""
    free: dict[str, int]
    holders: tuple[DomainHolder, ...]
    cards: tuple[CardCell, ...] = ()


class UnusableNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the flavor that takes no pods, and why."""

    node: str
    why: str


class FlavorDomains(msgspec.Struct, frozen=True, kw_only=True):
    """The domains of one flavor."""

    flavor: str
    topology: str
    levels: tuple[str, ...]
    domains: tuple[DomainBox, ...]
    unusable: tuple[UnusableNode, ...]


def flavor_domains(world: World) -> list[FlavorDomains]:
    """Every flavor whose topology is there, by name."""
    by_node: dict[str, list[CardCell]] = {}
    for card in card_views(world):
        cell = CardCell(index=card.index, state=card.state, memory=card.memory, memory_used=card.memory_used)
        by_node.setdefault(card.node, []).append(cell)
    return [
        _of_flavor(world, flavor, found.room, by_node)
        for name, flavor in sorted(world.flavors.items())
        if (found := world.domains.room(name)) is not None
    ]


class Stand(msgspec.Struct, frozen=True, kw_only=True):
    """A domain of the lowest level in which pods of a workload stand."""

    flavor: str
    values: tuple[str, ...]
    pods: int


def stands_of(world: World, workload: str) -> list[Stand]:
    """Where a workload stands that was placed by topology, by flavor and domain."""
    pods: dict[tuple[str, tuple[str, ...]], int] = {}
    for one in world.domains.held().get(workload, ()):
        found = world.domains.room(one.flavor)
        for domain in one.assignment.domains:
            leaf = found.room.tree.leaf_at(domain.values) if found is not None else None
            values = domain.values if found is None or leaf is None else found.room.tree.values[-1][leaf]
            pods[one.flavor, values] = pods.get((one.flavor, values), 0) + domain.count
    return [Stand(flavor=flavor, values=values, pods=count) for (flavor, values), count in sorted(pods.items())]


def _of_flavor(
    world: World, flavor: FlavorObserved, room: LeafRoom, cards: Mapping[str, Sequence[CardCell]]
) -> FlavorDomains:
    tree = room.tree
    resources = _resources(world, tree)
    columns = {name: (room.capacity.column(name) or [0] * len(tree.leaves), room.free(name)) for name in resources}
    holders = _holders(world, flavor.name, tree)
    cells: list[list[CardCell]] = [[] for _ in tree.leaves]
    for node, leaf in sorted(tree.leaf_by_node.items()):
        cells[leaf].extend(cards.get(node, ()))
    boxes: list[DomainBox] = []
    # Domains whose turn comes, the next one last: level, and place in it.
    left = [(0, place) for place in reversed(range(len(tree.values[0])))]
    while left:
        level, place = left.pop()
        leaves = tree.descendants(place, level, tree.lowest)
        boxes.append(
            DomainBox(
                values=tree.values[level][place],
                leaf=level == tree.lowest,
                offered={name: sum(offered[leaf] for leaf in leaves) for name, (offered, _) in columns.items()},
                free={name: sum(free[leaf] for leaf in leaves) for name, (_, free) in columns.items()},
                holders=_summed(holders[leaf] for leaf in leaves),
                cards=tuple(cells[place]) if level == tree.lowest else (),
            )
        )
        if level < tree.lowest:
            left += [(level + 1, child) for child in reversed(tree.children[level][place])]
    return FlavorDomains(
        flavor=flavor.name,
        topology=flavor.topology,
        levels=tree.levels,
        domains=tuple(boxes),
        unusable=tuple(_unusable(world, flavor, tree)),
    )


def _resources(world: World, tree: TopologyTree) -> list[str]:
    """What nodes of the tree offer, and places for pods."""
    named = {name for node in tree.leaf_by_node for name, amount in world.nodes[node].allocatable.items() if amount}
    return sorted(named - {PODS}) + ([PODS] if PODS in named else [])


def _holders(world: World, flavor: str, tree: TopologyTree) -> list[dict[str, int]]:
    """By leaf, the workloads that stand on it with their pods; those of other flavors too where a leaf is a host."""
    found: list[dict[str, int]] = [{} for _ in tree.leaves]
    for workload, placements in world.domains.held().items():
        for one in placements:
            if one.flavor != flavor and not tree.by_host:
                continue
            for domain in one.assignment.domains:
                leaf = tree.leaf_at(domain.values)
                if leaf is not None:
                    found[leaf][workload] = found[leaf].get(workload, 0) + domain.count
    return found


def _summed(holders: Iterable[Mapping[str, int]]) -> tuple[DomainHolder, ...]:
    pods: dict[str, int] = {}
    for one in holders:
        for workload, count in one.items():
            pods[workload] = pods.get(workload, 0) + count
    return tuple(DomainHolder(workload=workload, pods=count) for workload, count in sorted(pods.items()))


def _unusable(world: World, flavor: FlavorObserved, tree: TopologyTree) -> Iterable[UnusableNode]:
    for name, node in sorted(world.nodes.items()):
        if name not in tree.leaf_by_node and bears(node.labels, flavor.node_labels):
            yield UnusableNode(node=name, why=_why(node, tree.levels))


def _why(node: NodeObserved, levels: Sequence[str]) -> str:
    if not node.ready:
        return "it is not ready"
    if node.unschedulable:
        return "it is cordoned: kubectl uncordon lets pods onto it again"
    lacks = [level for level in levels if level not in node.labels]
    return f"it bears no label {', '.join(lacks)}"
