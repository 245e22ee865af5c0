"""The cards of a workload whose pods have their places already.

Rule: docs/rules/topology.md#card-reservation
"""

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from events.amount import Requests
from events.device import PodPlacement
from events.topology import TopologyAssignment
from events.workload import PodSetAssignment
from projections.devices.placement.gang import WAITING_FOR_CARDS, Placed, place
from projections.devices.placement.pod_cards import living_assignments
from projections.devices.placement.slice_cards import holds_too_many, key_of
from projections.devices.placement.workload_gangs import gangs_of
from projections.topology.domains.assigned_leaves import assignment_of, leaves_of
from projections.topology.domains.room import held_by, take
from projections.topology.domains.tree import TopologyTree
from projections.topology.placement.card_places import CardLedger, CardPlaces, TooMany, in_order
from projections.topology.placement.cards_left import in_their_places
from projections.topology.placement.replacement import NodeLoss
from projections.topology.placement.workload_placement import PlacesWithCards, replace_node
from projections.topology.requests.gates import topology_gates
from projections.topology.requests.topology_request import PlacementRequest
from projections.topology.search.group_placement import Group, GroupPlaces, Unplaced
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Workload


def ledger_of(world: TopologyState) -> CardLedger:
    """The cards of the world, to place pods on."""
    return CardLedger(cards=world.cards, nodes=world.nodes, trail=world.trail)


def cards_where_placed(world: TopologyState, workload: Workload, kept: Sequence[PodPlacement]) -> Placed:
    """Cards for all pods of a workload with quota: for those that are placed by topology where they lie, for the others anywhere.

    Those in domains come first, of them the smaller pod sets, which lead; the reason says for which there are none. Pods that keep
    the placements that they have are left out.
    """
    gangs = gangs_of(world, workload, kept)
    assignments = workload.admission.assignments if workload.admission is not None else ()
    placed = {one.name: one for one in assignments if one.topology is not None}
    bound = [one for one in gangs if one.pod_set.name in placed]
    with world.trial():
        cards = CardPlaces(ledger_of(world), bound)
        for gang in sorted(bound, key=lambda one: one.count):
            failed = _take(world, cards, placed[gang.pod_set.name], kept)
            if failed:
                return Placed(pod_set=gang.pod_set.name, reason=WAITING_FOR_CARDS, message=failed)
        rest = [one for one in gangs if one.pod_set.name not in placed]
        others = place(world.cards, world.nodes, rest, world.trail) if rest else Placed()
    if others.reason:
        return others
    return Placed(placements=in_order((*cards.placements, *others.placements), [one.pod_set.name for one in gangs]))


def places_instead(
    world: TopologyState, workload: Workload, requests: Sequence[PlacementRequest], lost: NodeLoss
) -> PlacesWithCards:
    """Where the pods are without a node that has failed, and the cards of all pods of the workload then.

    A pod that moves keeps its index and gets other cards; the others keep theirs. Cards of pods that are gone, on hosts where none is to lie,
    are for those that move as well. Rule: docs/rules/topology.md#card-replacement
    """
    gates, names = topology_gates(world.settings), {one.pod_set for one in requests}
    flavors = world.domains.rooms({one.flavor for one in requests})
    gangs = [one for one in gangs_of(world, workload) if one.pod_set.name in names]
    if not gangs or workload.devices is None:
        return PlacesWithCards(pod_sets=replace_node(flavors, requests, lost, gates))
    with world.trial():
        cards = CardPlaces(ledger_of(world), gangs)
        pod_sets = replace_node(flavors, requests, lost, gates, cards)
    fresh = {name: [one for one in cards.placements if one.pod_set == name] for name in names}
    alive = living_assignments(world, workload)
    living_first = sorted(workload.devices.placements, key=lambda one: key_of(one) not in alive)
    stay = in_their_places(world, workload, living_first, lost=lost.host)
    kept: list[PodPlacement] = []
    for one in workload.devices.placements:
        moves = one.pod_set in names and key_of(one) not in stay and bool(fresh[one.pod_set])
        kept.append(replace(fresh[one.pod_set].pop(0), index=one.index) if moves else one)
    return PlacesWithCards(pod_sets=pod_sets, cards=tuple(kept))


def where_cards_stay(
    world: TopologyState, old: Workload, request: PlacementRequest, beside: dict[str, Requests]
) -> TopologyAssignment | None:
    """Where the pods of a set of a slice lie that another one replaces: on the leaves where they have their cards.

    Of one that has become smaller these are also pods too many, where so many are wanted again and there is room for them; `beside` says by leaf what
    such of other pod sets take, and grows. None while some are still to end, or to move, or have cards on no leaf.
    """
    given = (
        next((one for one in old.admission.assignments if one.name == request.pod_set), None) if old.admission else None
    )
    room = world.domains.room(given.topology.flavor) if given is not None and given.topology is not None else None
    if given is None or given.topology is None or room is None or old.devices is None:
        return None
    tree, placements = room.room.tree, [one for one in old.devices.placements if one.pod_set == given.name]
    placed, held = leaves_of(tree, given.topology.assignment.domains), _on_leaves(tree, given.name, placements)
    if max(given.count, len(placements)) > request.count or sum(held.values()) < len(placements):
        return None
    if placed == held:
        return given.topology.assignment
    if not (old.resizing.shrunk or holds_too_many(old)) or len(placements) < given.count:
        return None
    charged = Counter[int]()
    for domain in given.topology.assignment.domains:
        if (leaf := tree.leaf_at(domain.values)) is not None:
            charged[leaf] += domain.count
    fitting = replace(room.room, assumed=beside).fitting(held_by(request.requests))
    more = {leaf: pods - charged[leaf] for leaf, pods in held.items() if pods > charged[leaf]}
    if any(pods > fitting[leaf] for leaf, pods in more.items()):
        return None
    for leaf, pods in more.items():
        take(beside, tree.leaves[leaf].key, held_by(request.requests), pods)
    return assignment_of(tree, held)


def _on_leaves(tree: TopologyTree, pod_set: str, placements: Sequence[PodPlacement]) -> dict[int, int]:
    """How many pods of a set have cards on each leaf."""
    found: dict[int, int] = {}
    for one in placements:
        leaf = tree.leaf_by_node.get(one.node) if one.pod_set == pod_set else None
        if leaf is not None:
            found[leaf] = found.get(leaf, 0) + 1
    return found


def _take(world: TopologyState, cards: CardPlaces, given: PodSetAssignment, kept: Sequence[PodPlacement]) -> str:
    """Take the cards of a pod set where its pods lie, but for those that keep theirs; why there are none, or nothing."""
    if given.topology is None:
        return ""
    where = ", ".join("/".join(one.values) for one in given.topology.assignment.domains)
    refused = f"pods of pod set {given.name} find no cards where they are placed: {where}"
    flavor = world.domains.room(given.topology.flavor)
    leaves = None if flavor is None else leaves_of(flavor.room.tree, given.topology.assignment.domains)
    if flavor is None or not isinstance(leaves, dict):
        return refused
    there = _on_leaves(flavor.room.tree, given.name, kept)
    leaves = {leaf: pods - there.get(leaf, 0) for leaf, pods in leaves.items() if pods > there.get(leaf, 0)}
    count = given.count - sum(there.values())
    asked = PlacementRequest(pod_set=given.name, flavor=given.topology.flavor, count=count, requests={})
    taken = cards.take(flavor, Group(workers=asked), GroupPlaces(workers=leaves, leader={}))
    match taken:
        case None:
            return ""
        case Unplaced():
            return taken.failure
        case TooMany():
            return refused
