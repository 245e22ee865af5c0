"""The largest job that still fits into one domain of each level, and the cards of the domain that has most of them left.

Rule: docs/rules/devices.md#domains
"""

from collections.abc import Mapping, Sequence

import msgspec

from events.device import NodeObserved
from projections.devices.capacity.model_capacity import ModelRoom, capacity
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.placement.gang import Gang
from projections.topology.domains.tree import TopologyTree
from projections.topology.placement.card_places import CardLedger, CardPlaces
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.level_parameters import BadRequest, search_shape
from projections.topology.requests.node_filters import NodeLabelConflict, node_filters
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest
from projections.topology.search.counts import count_domains, count_leaves, demand
from projections.topology.search.group_placement import Group


class LargestJob(msgspec.Struct, frozen=True, kw_only=True):
    """The most pods of one shape that a single domain of a level takes as things stand."""

    level: str
    values: tuple[str, ...]
    """Of the domain that takes them, from the highest level down; of several the first."""
    pods: int


class DomainCards(msgspec.Struct, frozen=True, kw_only=True):
    """Of the domains of a level the one with most idle cards, then with most free memory."""

    flavor: str
    level: str
    values: tuple[str, ...]
    domains: int
    """So many domains the level has."""
    registered: ModelRoom
    free: ModelRoom
    """On sound cards that nobody cordoned; its `cards` are those that are idle: the largest job for whole cards of their own."""


def largest_jobs(
    flavor: FlavorRoom, request: PlacementRequest, gates: TopologyGates, ledger: CardLedger, gang: Gang
) -> tuple[LargestJob, ...]:
    """The largest job of such pods for each level, the widest first; none where the topology can't answer the request."""
    tree = flavor.room.tree
    filters = node_filters(request, flavor)
    shape = search_shape(tree, request.topology, request.count, 0, gates)
    if isinstance(filters, NodeLabelConflict) or isinstance(shape, BadRequest) or not tree.leaves:
        return ()
    with ledger.trail.trial():
        limited = CardPlaces(ledger, [gang]).limited(flavor, Group(workers=request)).workers
        leaves = count_leaves(flavor.room, shape, demand(filters, limited, None))
    levels = count_domains(tree, shape, leaves.counts)
    found: list[LargestJob] = []
    for level, counts in enumerate(levels):
        whole = [count * shape.slice_size for count in counts.slices] if level <= shape.slice_level else counts.pods
        best = max(range(len(whole)), key=lambda one, whole=whole: (whole[one], -one))
        found.append(LargestJob(level=tree.levels[level], values=tree.values[level][best], pods=whole[best]))
    return tuple(found)


def domain_cards(
    name: str, tree: TopologyTree, cards: CardHoldings, nodes: Mapping[str, NodeObserved]
) -> list[DomainCards]:
    """The roomiest domain of each level of a flavor, the widest level first; nothing where no node of it has cards."""
    by_leaf = [
        _cards_on([node for node in found if node in cards.nodes and node in nodes], cards) for found in tree.nodes
    ]
    if not any(registered.cards for registered, _ in by_leaf):
        return []
    found: list[DomainCards] = []
    for level, values in enumerate(tree.values):
        sums = [_sum(by_leaf, tree.descendants(one, level, tree.lowest)) for one in range(len(values))]
        best = max(range(len(values)), key=lambda one, sums=sums: (sums[one][1].cards, sums[one][1].memory, -one))
        registered, free = sums[best]
        found.append(
            DomainCards(
                flavor=name,
                level=tree.levels[level],
                values=values[best],
                domains=len(values),
                registered=registered,
                free=free,
            )
        )
    return found


def _cards_on(nodes: Sequence[str], cards: CardHoldings) -> tuple[ModelRoom, ModelRoom]:
    models = capacity(map(cards.cards_of, nodes)).values()
    return _total([one.registered for one in models]), _total([one.free for one in models])


def _sum(by_leaf: Sequence[tuple[ModelRoom, ModelRoom]], leaves: range) -> tuple[ModelRoom, ModelRoom]:
    part = by_leaf[leaves.start : leaves.stop]
    return _total([registered for registered, _ in part]), _total([free for _, free in part])


def _total(rooms: Sequence[ModelRoom]) -> ModelRoom:
    total = ModelRoom()
    for one in rooms:
        total = total.plus(one.cards, one.slots, one.memory, one.cores)
    return total
