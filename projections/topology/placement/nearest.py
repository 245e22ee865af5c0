"""Which domain of each level comes nearest to holding pods that find no place, and what is short there.

Rule: docs/rules/topology.md#nearest
"""

from collections.abc import Mapping, Sequence

import msgspec

from projections.devices.capacity.model_capacity import ModelCapacity, capacity
from projections.devices.placement.gang import Gang
from projections.devices.placement.refusal import asked_text
from projections.devices.requests.card_requests import pod_card_requests
from projections.topology.domains.tree import TopologyTree
from projections.topology.placement.card_places import CardLedger, CardPlaces
from projections.topology.placement.workload_placement import first_unplaced
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.level_parameters import BadRequest, SearchShape, search_shape
from projections.topology.requests.node_filters import NodeLabelConflict, node_filters
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest
from projections.topology.search.counts import LeafCounts, LevelCounts, count_domains, count_leaves, demand


class Short(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of which a domain has too little for all pods, looked at by itself."""

    resource: str
    pods: int
    """So many of them would find theirs."""
    missing: int
    """What the others ask for, in units of the resource."""
    free: int
    """What is free in the domain, in pieces that are too small for a pod as well."""


class CardsShort(msgspec.Struct, frozen=True, kw_only=True):
    """The cards of a domain where these suffice for some of the pods only."""

    resource: str
    pods: int
    """So many of them would find theirs."""
    asked: str
    """What one pod asks for, in words."""
    cards: int
    """Of so many cards the others want a slice each."""
    memory: int
    """What they ask for of them, in MiB; 0 where they say it as a part of a card."""
    models: tuple[ModelCapacity, ...]
    """What cards there are, and what is free of them."""


class NearDomain(msgspec.Struct, frozen=True, kw_only=True):
    """The domain of a level that takes most of the pods."""

    level: str
    values: tuple[str, ...]
    """From the highest level down to its own."""
    pods: int
    """So many of the pods fit, in whole slices where these are to stay together; at most as many as are asked for."""
    leader: bool = True
    """Whether the leader of the group, if it has one, would lie among them."""
    short: tuple[Short, ...] = ()
    """Nothing where all pods fit, and where what is free of each resource lies on different nodes."""
    cards: CardsShort | None = None
    ruled_out: Mapping[str, int] = {}
    """On how many leaves no pod may go whatever is free there, by what keeps it off."""


class NearestDomains(msgspec.Struct, frozen=True, kw_only=True):
    """For the first group of a workload's pods that finds no place, the nearest domain of each level, the widest first."""

    pod_sets: tuple[str, ...]
    flavor: str
    topology: str
    asked: str
    """The level of which one domain is to hold them all, or is preferred to."""
    count: int
    """Pods without the leader; of an elastic job those that come."""
    domains: tuple[NearDomain, ...]


class _Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of each leaf and domain for one group."""

    tree: TopologyTree
    shape: SearchShape
    pod: Mapping[str, int]
    leaves: LeafCounts
    levels: Sequence[LevelCounts]
    by_resource: Mapping[str, Sequence[int]]
    """By leaf, how many pods fit by each resource alone, that of the cards too."""
    card_resource: str


def nearest_domains(
    flavors: Mapping[str, FlavorRoom],
    requests: Sequence[PlacementRequest],
    gates: TopologyGates,
    ledger: CardLedger,
    gangs: Sequence[Gang],
) -> NearestDomains | None:
    """What comes nearest for the first of a workload's groups that finds no place beside those before it.

    None where all find one, and where the topology can't answer the request at all. The ledger is as it was afterwards.
    """
    with ledger.trail.trial():
        cards = CardPlaces(ledger, gangs)
        found = first_unplaced(flavors, requests, gates, cards)
        if found is None:
            return None
        flavor, group = found.flavor, cards.limited(found.flavor, found.group)
        filters = node_filters(group.workers, flavor)
        tree, workers = flavor.room.tree, group.workers
        shape = search_shape(tree, workers.topology, workers.count, 0 if group.leader is None else 1, gates)
        if isinstance(filters, NodeLabelConflict) or isinstance(shape, BadRequest) or not tree.leaves:
            return None
        asked = demand(filters, workers, group.leader)
        leaves = count_leaves(flavor.room, shape, asked)
        by_resource = {
            name: [max(free, 0) // amount for free in leaves.free(name)]
            for name, amount in asked.pod.items()
            if amount > 0
        }
        if asked.limit is not None:
            by_resource[asked.limit.resource] = list(asked.limit.pods)
        for column in by_resource.values():
            for leaf in leaves.excluded:
                column[leaf] = 0
        counted = _Counted(
            tree=tree,
            shape=shape,
            pod=asked.pod,
            leaves=leaves,
            levels=count_domains(tree, shape, leaves.counts),
            by_resource=by_resource,
            card_resource=asked.limit.resource if asked.limit is not None else "",
        )
        gang = next((one for one in gangs if one.pod_set.name == workers.pod_set), None)
        return NearestDomains(
            pod_sets=tuple(one.pod_set for one in (group.leader, workers) if one is not None),
            flavor=workers.flavor,
            topology=tree.name,
            asked=tree.levels[shape.level],
            count=workers.count,
            domains=tuple(_nearest(counted, level, ledger, gang) for level in range(len(tree.levels))),
        )


def _nearest(counted: _Counted, level: int, ledger: CardLedger, gang: Gang | None) -> NearDomain:
    tree, count = counted.tree, counted.shape.count
    within = [tree.descendants(one, level, tree.lowest) for one in range(len(tree.values[level]))]
    fits = [_fit(counted, level, one) for one in range(len(within))]
    lacks = [sum(max(count - _pods(column, leaves), 0) for column in counted.by_resource.values()) for leaves in within]
    best = max(range(len(within)), key=lambda one: (*fits[one], -lacks[one], -one))
    leader, pods = fits[best]
    found = NearDomain(
        level=tree.levels[level],
        values=tree.values[level][best],
        pods=pods,
        leader=leader,
        ruled_out=_ruled_out(counted, within[best]),
    )
    if pods >= count:
        return found
    return msgspec.structs.replace(
        found,
        short=tuple(_short(counted, within[best])),
        cards=None if gang is None else _cards(counted, within[best], ledger, gang),
    )


def _fit(counted: _Counted, level: int, domain: int) -> tuple[bool, int]:
    """Whether the leader fits into a domain, and how many of the others, beside it if it does."""
    counts, shape = counted.levels[level], counted.shape
    leader = not shape.leaders or bool(counts.leaders[domain])
    beside = bool(shape.leaders) and leader
    if level > shape.slice_level:
        pods = (counts.pods_with_leader if beside else counts.pods)[domain]
    else:
        pods = (counts.slices_with_leader if beside else counts.slices)[domain] * shape.slice_size
    return leader, min(pods, shape.count)


def _pods(column: Sequence[int], leaves: range) -> int:
    return sum(column[leaves.start : leaves.stop])


def _short(counted: _Counted, leaves: range) -> list[Short]:
    found: list[Short] = []
    for name, column in sorted(counted.by_resource.items()):
        pods = _pods(column, leaves)
        if name == counted.card_resource or pods >= counted.shape.count:
            continue
        free = counted.leaves.free(name)
        found.append(
            Short(
                resource=name,
                pods=pods,
                missing=(counted.shape.count - pods) * counted.pod[name],
                free=sum(max(free[leaf], 0) for leaf in leaves if leaf not in counted.leaves.excluded),
            )
        )
    return found


def _cards(counted: _Counted, leaves: range, ledger: CardLedger, gang: Gang) -> CardsShort | None:
    pods = _pods(counted.by_resource[counted.card_resource], leaves)
    if pods >= counted.shape.count:
        return None
    requests = pod_card_requests(gang.pod_set.shape, gang.config).containers
    each = [one for container in requests for one in container]
    missing, vendors = counted.shape.count - pods, {one.vendor for one in each}
    nodes = [
        name
        for leaf in leaves
        if leaf not in counted.leaves.excluded
        for name in counted.tree.nodes[leaf]
        if name in ledger.cards.nodes
    ]
    there = capacity(
        msgspec.structs.replace(on, cards=tuple(card for card in on.cards if card.vendor in vendors))
        for on in map(ledger.cards.cards_of, nodes)
    )
    return CardsShort(
        resource=counted.card_resource,
        pods=pods,
        asked=asked_text(requests),
        cards=missing * sum(one.count for one in each),
        memory=missing * sum(one.count * (one.memory or 0) for one in each),
        models=tuple(there.values()),
    )


def _ruled_out(counted: _Counted, leaves: range) -> dict[str, int]:
    found: dict[str, int] = {}
    for leaf in leaves:
        reason = counted.leaves.excluded.get(leaf)
        if reason is not None:
            found[reason] = found.get(reason, 0) + 1
    return dict(sorted(found.items()))
