"""Where the pods of a workload are placed: all its pod sets, flavor by flavor, group by group.

Rule: docs/rules/topology.md#placement
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from events.amount import Requests
from events.device import PodPlacement
from projections.devices.placement.gang import Gang, largest_request
from projections.topology.domains.assigned_leaves import assignment_of
from projections.topology.domains.room import held_by, take
from projections.topology.placement.card_places import CardLedger, CardPlaces, in_order, place_group_with_cards
from projections.topology.placement.replacement import NodeLoss, replace_in_pod_set
from projections.topology.placement.resized import growth, resized
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest, PodSetPlacement
from projections.topology.search.group_placement import Group, Unplaced

NO_TOPOLOGY = "no TAS flavor assigned"
"""Why nothing is placed on a flavor that has no topology, or none any more (docs/rules/topology.md#tas-flavor)."""
_GROUP = 2
"""How many pod sets a group has: workers, and their leader."""


class _FlavorRequests(msgspec.Struct, frozen=True, kw_only=True):
    """The pod sets of one flavor, and what pods of the workload are assumed to hold on its leaves so far."""

    flavor: FlavorRoom
    requests: Sequence[PlacementRequest]
    assumed: dict[str, Requests]
    """Grows from group to group; the flavor's room looks at it."""


def place_pod_sets(
    flavors: Mapping[str, FlavorRoom],
    requests: Sequence[PlacementRequest],
    gates: TopologyGates,
    cards: CardPlaces | None = None,
) -> tuple[PodSetPlacement, ...]:
    """Places for the pod sets of a workload, in the order in which they are asked for.

    Pod sets behind the first that fails on a flavor have no result. With `cards` those that ask for some get them where they
    are placed.
    """
    placed = _without_topology(flavors, requests)
    for one_flavor in _by_flavor(flavors, requests, gates):
        for members in _groups(one_flavor.requests):
            results = _place(one_flavor, members, gates, cards)
            placed.update((one.pod_set, one) for one in results)
            if any(one.failure for one in results):
                break
    return tuple(placed[one.pod_set] for one in requests if one.pod_set in placed)


class UnplacedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group that finds no place, and what is free for it."""

    flavor: FlavorRoom
    """Less what pods of the workload hold that were placed before it."""
    group: Group
    """Of an elastic job the pods that come."""


def first_unplaced(
    flavors: Mapping[str, FlavorRoom],
    requests: Sequence[PlacementRequest],
    gates: TopologyGates,
    cards: CardPlaces | None,
) -> UnplacedGroup | None:
    """The first group of a workload that finds no place; those before it stay charged. None where all do, or none is well formed."""
    for one_flavor in _by_flavor(flavors, requests, gates):
        for members in _groups(one_flavor.requests):
            if not any(one.failure for one in _place(one_flavor, members, gates, cards)):
                continue
            if len(members) > _GROUP:
                return None
            group = _group(members)
            more = growth(one_flavor.flavor, group) if gates.elastic else None
            if more is None:
                return UnplacedGroup(flavor=one_flavor.flavor, group=group)
            return UnplacedGroup(flavor=more.flavor, group=more.group)
    return None


class PlacesWithCards(msgspec.Struct, frozen=True, kw_only=True):
    """Places for the pod sets of a workload, and the cards of those of their pods that ask for some."""

    pod_sets: tuple[PodSetPlacement, ...]
    cards: tuple[PodPlacement, ...] = ()


def place_with_cards(
    flavors: Mapping[str, FlavorRoom],
    requests: Sequence[PlacementRequest],
    gates: TopologyGates,
    ledger: CardLedger,
    gangs: Sequence[Gang],
    *,
    empty: bool = False,
) -> PlacesWithCards:
    """Places and cards as things stand, or as they would be if nobody had any cards; the ledger is as it was afterwards.

    Pod sets that take cards from one another are tried in another order and under another card policy, too; the first failure is told.
    """
    failed: PlacesWithCards | None = None
    for line, policies in _tries(requests, gangs):
        with ledger.trail.trial():
            if empty:
                ledger.cards.empty()
            cards = CardPlaces(ledger, gangs, policies, empty=empty)
            placed = {one.pod_set: one for one in place_pod_sets(flavors, line, gates, cards)}
            found = PlacesWithCards(
                pod_sets=tuple(placed[one.pod_set] for one in requests if one.pod_set in placed),
                cards=in_order(cards.placements, [one.pod_set for one in requests]),
            )
        if first_failure(found.pod_sets) is None:
            return found
        failed = failed or found
    return failed or PlacesWithCards(pod_sets=())


def _tries(
    requests: Sequence[PlacementRequest], gangs: Sequence[Gang]
) -> Iterator[tuple[Sequence[PlacementRequest], tuple[str, ...]]]:
    """In which order to place the pod sets, and under which card policies: as they are, then those with most to ask first."""
    yield requests, ()
    if len(gangs) > 1:
        size = {one.pod_set.name: largest_request(one) for one in gangs}
        by_size = sorted(requests, key=lambda one: size.get(one.pod_set, (0, 0, 0)), reverse=True)
        other = (gangs[0].other_card_policy, "")
        yield from ((by_size, ()), (requests, other), (by_size, other))


def replace_node(
    flavors: Mapping[str, FlavorRoom],
    requests: Sequence[PlacementRequest],
    lost: NodeLoss,
    gates: TopologyGates,
    cards: CardPlaces | None = None,
) -> tuple[PodSetPlacement, ...]:
    """New places for the pods of pod sets that lie on a failed node; the others keep theirs.

    `previous` of each request is where its pods are; pod sets without are left out.
    """
    placed = _without_topology(flavors, requests)
    for one_flavor in _by_flavor(flavors, requests, gates):
        leaves = one_flavor.flavor.room.tree.leaves
        for request in one_flavor.requests:
            if request.previous is None:
                continue
            result = replace_in_pod_set(one_flavor.flavor, request, lost, gates, cards)
            for leaf, pods in result.added.items():
                take(one_flavor.assumed, leaves[leaf].key, held_by(request.requests), pods)
            placed[request.pod_set] = result.placement
            if result.placement.failure:
                break
    return tuple(placed[one.pod_set] for one in requests if one.pod_set in placed)


def _place(
    one_flavor: _FlavorRequests, members: Sequence[PlacementRequest], gates: TopologyGates, cards: CardPlaces | None
) -> list[PodSetPlacement]:
    """Places for the pod sets of one group; what they hold of a leaf is added to what is assumed."""
    if len(members) > _GROUP:
        told = f"can only define groups of exactly {_GROUP} pod sets, got: {len(members)} pod set(s)"
        return [PodSetPlacement(pod_set=one.pod_set, failure=told) for one in members]
    flavor, group = one_flavor.flavor, _group(members)
    places = resized(flavor, group, gates, cards) if gates.elastic else None
    if isinstance(places, Unplaced):
        return [PodSetPlacement(pod_set=group.workers.pod_set, failure=places.failure)]
    if places is None:
        places = place_group_with_cards(flavor, group, gates, cards)
    if isinstance(places, Unplaced):
        return [PodSetPlacement(pod_set=one.pod_set, failure=places.failure) for one in members]
    tree = flavor.room.tree
    found: list[PodSetPlacement] = []
    for one in members:
        pods = places.leader if one is group.leader else places.workers
        for leaf, count in pods.items():
            take(one_flavor.assumed, tree.leaves[leaf].key, held_by(one.requests), count)
        found.append(PodSetPlacement(pod_set=one.pod_set, assignment=assignment_of(tree, pods)))
    return found


def _group(members: Sequence[PlacementRequest]) -> Group:
    """Who leads and who works: the leader is the one of fewer pods, of equals the second."""
    if len(members) == 1:
        return Group(workers=members[0])
    first, second = members
    return Group(workers=second, leader=first) if second.count > first.count else Group(workers=first, leader=second)


def _groups(requests: Iterable[PlacementRequest]) -> list[list[PlacementRequest]]:
    """Pod sets that are placed together, in the order in which the first of each is asked for."""
    found: dict[str, list[PlacementRequest]] = {}
    for one in requests:
        name = one.topology.pod_set_group
        found.setdefault(f"group {name}" if name else f"alone {one.pod_set}", []).append(one)
    return list(found.values())


def _without_topology(
    flavors: Mapping[str, FlavorRoom], requests: Iterable[PlacementRequest]
) -> dict[str, PodSetPlacement]:
    """The pod sets whose flavor has no topology, such as one that was taken from it since they were placed."""
    return {
        one.pod_set: PodSetPlacement(pod_set=one.pod_set, failure=NO_TOPOLOGY)
        for one in requests
        if one.flavor not in flavors
    }


def _by_flavor(
    flavors: Mapping[str, FlavorRoom], requests: Sequence[PlacementRequest], gates: TopologyGates
) -> list[_FlavorRequests]:
    """The flavors that are asked for, by name, each with what pods of the workload are assumed to hold on its leaves."""
    shared: dict[str, Requests] = {}
    found: list[_FlavorRequests] = []
    for name in sorted({one.flavor for one in requests} & flavors.keys()):
        flavor = flavors[name]
        assumed = shared if gates.shared_hosts and flavor.room.tree.by_host else {}
        room = msgspec.structs.replace(flavor.room, assumed=assumed)
        asked = [one for one in requests if one.flavor == name]
        found.append(
            _FlavorRequests(flavor=msgspec.structs.replace(flavor, room=room), requests=asked, assumed=assumed)
        )
    return found


def first_failure(placements: Iterable[PodSetPlacement]) -> PodSetPlacement | None:
    """The first pod set that found no place."""
    return next((one for one in placements if one.failure), None)
