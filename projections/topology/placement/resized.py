"""Places for a workload that replaces another of more or fewer pods: what stays keeps its place.

Rule: docs/rules/topology.md#elastic
"""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from events.amount import Requests
from projections.topology.domains.assigned_leaves import leaves_of, merged
from projections.topology.domains.room import held_by, take
from projections.topology.domains.tree import TopologyTree
from projections.topology.placement.card_places import CardPlaces, place_group_with_cards
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest
from projections.topology.search.group_placement import Group, GroupPlaces, Unplaced


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """The pods that come to those that stay where they are."""

    flavor: FlavorRoom
    """Less what those that stay hold."""
    group: Group
    """The new ones alone."""
    kept: Mapping[int, int]
    """Where workers stay, by leaf."""
    led: Mapping[int, int] | None
    """Where the leader stays; None where it comes too, or there is none."""


def resized(
    flavor: FlavorRoom, group: Group, gates: TopologyGates, cards: CardPlaces | None = None
) -> GroupPlaces | Unplaced | None:
    """The places that pods had, with more or fewer of them; None where they can't be kept and all are placed anew.

    With `cards` those that come get some where they are placed.
    """
    workers, leader = group.workers, group.leader
    found = growth(flavor, group)
    if found is None:
        return None
    if found.group.workers.count <= 0:
        if leader is not None and found.led is None:
            return None
        return GroupPlaces(workers=_first(found.kept, workers.count), leader=dict(found.led or {}))
    added = place_group_with_cards(found.flavor, found.group, gates, cards)
    if isinstance(added, Unplaced):
        return added
    return GroupPlaces(
        workers=merged(found.kept, added.workers), leader=added.leader if found.led is None else dict(found.led)
    )


def growth(flavor: FlavorRoom, group: Group) -> Growth | None:
    """What of a group is to be placed beside what stays; None where nothing stays. Without new workers their count is 0 or less."""
    workers, leader = group.workers, group.leader
    tree = flavor.room.tree
    kept = _kept(tree, workers)
    led = None if leader is None else _kept(tree, leader)
    if kept is None or (leader is not None and led is None and leader.previous is not None):
        return None
    beside = {key: dict(held) for key, held in flavor.room.assumed.items()}
    _charge(tree, beside, workers, kept)
    if leader is not None and led is not None:
        _charge(tree, beside, leader, led)
    return Growth(
        flavor=replace(flavor, room=replace(flavor.room, assumed=beside)),
        group=Group(
            workers=replace(workers, count=workers.count - sum(kept.values())), leader=leader if led is None else None
        ),
        kept=kept,
        led=led,
    )


def _kept(tree: TopologyTree, request: PlacementRequest) -> dict[int, int] | None:
    """Where the pods are, by leaf; None if that is nowhere, or on a leaf that is gone."""
    if request.previous is None:
        return None
    found = leaves_of(tree, request.previous.domains)
    return found if isinstance(found, dict) else None


def _first(kept: Mapping[int, int], count: int) -> dict[int, int]:
    """The places of the first so many pods."""
    found: dict[int, int] = {}
    for leaf, pods in kept.items():
        found[leaf] = min(pods, count)
        count -= found[leaf]
    return found


def _charge(
    tree: TopologyTree, held: dict[str, Requests], request: PlacementRequest, leaves: Mapping[int, int]
) -> None:
    for leaf, pods in leaves.items():
        take(held, tree.leaves[leaf].key, held_by(request.requests), pods)
