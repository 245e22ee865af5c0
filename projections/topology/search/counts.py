"""How many pods and slices each domain of a topology could take, as things are.

Rule: docs/rules/topology.md#counts
"""

from collections.abc import Mapping, Sequence

import msgspec

from projections.topology.domains.room import MOST_PODS, LeafRoom, held_by
from projections.topology.domains.tree import TopologyTree
from projections.topology.requests.level_parameters import SearchShape
from projections.topology.requests.node_filters import NodeFilters
from projections.topology.requests.topology_request import LeafLimit, PlacementRequest


class LevelCounts(msgspec.Struct, kw_only=True):
    """The domains of one level, each at its place.

    Where no leader is asked for, the counts with one are the same lists as those without.
    """

    pods: list[int]
    slices: list[int]
    pods_with_leader: list[int]
    """How many pods are left room for where the leader lies here too."""
    slices_with_leader: list[int]
    leaders: list[int]
    """1 where the leader could lie here."""
    affinity: list[int]
    """How much the nodes are preferred, all together."""
    opened: Sequence[int] | None = None
    """Of leaves, how many whole cards the pods break if it takes all that its cards do; None where it does not matter, and above."""


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod takes of its leaf, and what else matters of where it may lie."""

    filters: NodeFilters
    pod: Mapping[str, int]
    """With its place among the pods of a node."""
    leader: Mapping[str, int] | None = None
    limit: LeafLimit | None = None
    leader_limit: LeafLimit | None = None
    within: range | None = None
    """The only leaves that may be used, where a part of the pods has its places already."""


class LeafCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The lowest level, and what is kept of how it came about for whoever asks why nothing fits."""

    counts: LevelCounts
    excluded: dict[int, str]
    """Leaves that are ruled out whatever is free, and by what."""
    room: LeafRoom

    def free(self, resource: str) -> list[int]:
        """What was free of a resource on every leaf."""
        return self.room.free(resource)


def demand(filters: NodeFilters, pods: PlacementRequest, leader: PlacementRequest | None) -> Demand:
    """What one of the pods takes, and the leader."""
    return Demand(
        filters=filters,
        pod=held_by(pods.requests),
        leader=None if leader is None else held_by(leader.requests),
        limit=pods.limit,
        leader_limit=None if leader is None else leader.limit,
    )


def count_leaves(room: LeafRoom, shape: SearchShape, asked: Demand) -> LeafCounts:
    """How many pods would fit on each leaf, before leaves are added up to the domains above them."""
    tree = room.tree
    excluded = asked.filters.excluded(tree, asked.within)
    pods = room.fitting(asked.pod)
    leaders = [0] * len(pods)
    beside = pods
    if asked.leader is not None:
        leaders = room.fitting(asked.leader)
        leaders = _limited(leaders, asked.leader_limit.pods if asked.leader_limit is not None else None)
        leaders = [min(1, fit) for fit in leaders]
        free = {resource: room.free(resource) for resource in {**asked.pod, **asked.leader}}
        beside = _pods(len(pods), _less_leader(free, asked.leader, leaders), asked.pod)
    if asked.limit is not None:
        same, pods = beside is pods, _limited(pods, asked.limit.pods)
        beside = pods if same else _limited(beside, asked.limit.pods)
        if asked.limit.beside is not None:
            beside = [
                min(fit, most) if led else fit
                for fit, most, led in zip(beside, asked.limit.beside, leaders, strict=True)
            ]
    affinity = asked.filters.preferences(tree) if shape.by_affinity else [0] * len(pods)
    for leaf in excluded:
        pods[leaf] = leaders[leaf] = beside[leaf] = affinity[leaf] = 0
    level = LevelCounts(
        pods=pods, slices=pods, pods_with_leader=beside, slices_with_leader=beside, leaders=leaders, affinity=affinity
    )
    if asked.limit is not None and asked.limit.breaking is not None:
        level.opened = asked.limit.breaking.at_most
    if shape.slice_level == tree.lowest:
        fill_slices(level, shape.slice_size)
    else:
        level.slices = level.slices_with_leader = [0] * len(pods)
    return LeafCounts(counts=level, excluded=excluded, room=room)


def count_domains(tree: TopologyTree, shape: SearchShape, leaves: LevelCounts) -> list[LevelCounts]:
    """All levels, the widest first: each domain by what its children take."""
    levels = [leaves]
    for level in range(tree.lowest - 1, -1, -1):
        parents = count_parents(tree.children[level], levels[-1], shape.inner[level + 1], leaders=shape.leaders)
        if level == shape.slice_level:
            fill_slices(parents, shape.slice_size)
        levels.append(parents)
    levels.reverse()
    return levels


def count_parents(ranges: Sequence[range], children: LevelCounts, bundle: int, *, leaders: int) -> LevelCounts:
    """Domains by what their children take, of each child only whole bundles where it is filled in bundles."""
    pods, beside = children.pods, children.pods_with_leader
    if bundle > 1:
        same = beside is pods
        pods = [count - count % bundle for count in pods]
        beside = pods if same else [count - count % bundle for count in beside]
    bounds = [(one.start, one.stop) for one in ranges]
    total = [sum(pods[start:stop]) for start, stop in bounds]
    slices = [sum(children.slices[start:stop]) for start, stop in bounds]
    affinity = [sum(children.affinity[start:stop]) for start, stop in bounds]
    counts = LevelCounts(
        pods=total,
        slices=slices,
        pods_with_leader=total,
        slices_with_leader=slices,
        leaders=[0] * len(total),
        affinity=affinity,
    )
    if leaders:
        counts.leaders = [max(children.leaders[start:stop]) for start, stop in bounds]
        counts.pods_with_leader = _beside_leader(ranges, total, pods, beside, children.leaders)
        counts.slices_with_leader = _beside_leader(
            ranges, slices, children.slices, children.slices_with_leader, children.leaders
        )
    return counts


def _beside_leader(
    ranges: Sequence[range],
    totals: Sequence[int],
    without: Sequence[int],
    beside: Sequence[int],
    leaders: Sequence[int],
) -> list[int]:
    """What is left of each total where the leader lies in the child that loses least by it; 0 where it fits in none."""
    found: list[int] = []
    for one, total in zip(ranges, totals, strict=True):
        lost = [without[child] - beside[child] for child in one if leaders[child]]
        found.append(total - min(lost) if lost else 0)
    return found


def _limited(counts: list[int], most: Sequence[int] | None) -> list[int]:
    """Counts of leaves held below a limit."""
    return counts if most is None else [one if one < other else other for one, other in zip(counts, most, strict=True)]


def _less_leader(
    free: Mapping[str, list[int]], leader: Mapping[str, int], leaders: Sequence[int]
) -> dict[str, list[int]]:
    """What is free once the leader lies on each leaf where it can."""
    left = dict(free)
    for resource, amount in leader.items():
        left[resource] = [have - amount * here for have, here in zip(free[resource], leaders, strict=True)]
    return left


def fill_slices(level: LevelCounts, size: int) -> None:
    """Count slices by the pods of this very level."""
    same = level.pods_with_leader is level.pods
    level.slices = level.pods if size == 1 else [count // size for count in level.pods]
    if same:
        level.slices_with_leader = level.slices
    elif size == 1:
        level.slices_with_leader = level.pods_with_leader
    else:
        level.slices_with_leader = [count // size for count in level.pods_with_leader]


def _pods(leaves: int, free: Mapping[str, Sequence[int]], requests: Mapping[str, int]) -> list[int]:
    """How many pods fit on each leaf by what is free there."""
    found = [MOST_PODS] * leaves
    for resource, amount in requests.items():
        if amount > 0:
            found = [
                fit if fit < most else most
                for fit, most in zip([have // amount for have in free[resource]], found, strict=True)
            ]
    return [fit if fit > 0 else 0 for fit in found]
