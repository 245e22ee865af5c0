"""Cards for pods that are placed by topology: how many a leaf's cards take, and which ones each pod gets where it lies.

Rule: docs/rules/topology.md#cards

The ledger of cards is charged as pods are placed, for the time of a trial that the caller holds; so pod sets behind one
another, and a leader and its workers, never count on the same card.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from events.device import NodeObserved, PodPlacement
from projections.devices.annotations.steering import SPREAD, least_first
from projections.devices.fit.fills import CardShape, PodShares
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.holdings.namespace_cards import emptied, limits_of, with_placements
from projections.devices.namespace_quota import Limits, lets_in
from projections.devices.placement.filling import Filling, next_pod, shape_of
from projections.devices.placement.gang import Gang, over_quota
from projections.devices.placement.suitability import NodeSuitability
from projections.topology.domains.tree import TopologyTree
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.topology_request import Breaking, FlavorRoom, LeafLimit, PlacementRequest
from projections.topology.search.group_placement import Group, GroupPlaces, Unplaced, place_group
from projections.trail import Trail

_NO_CARDS = Unplaced("its pods can't be given cards where there is room for them")


class CardLedger(msgspec.Struct, frozen=True, kw_only=True):
    """Where cards are, what is taken of them, and by which trail trials are taken back."""

    cards: CardHoldings
    nodes: Mapping[str, NodeObserved]
    trail: Trail


class TooMany(msgspec.Struct, frozen=True):
    """A leaf gave fewer pods their cards than it was counted for: it counts for less from now on."""


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A pod set that asks for cards."""

    gang: Gang
    shape: CardShape
    suitable: NodeSuitability
    limits: Limits

    @property
    def resource(self) -> str:
        """The resource by which it asks for cards."""
        first = next(one for each in self.shape.requests for one in each)
        names = self.gang.config.resources.get(first.vendor)
        return first.vendor if names is None else names.count


class CardPlaces:
    """The cards of one workload's pods, found as its pod sets are placed one after the other."""

    def __init__(
        self, ledger: CardLedger, gangs: Sequence[Gang], policies: tuple[str, ...] = (), *, empty: bool = False
    ) -> None:
        self._ledger = ledger
        self.placements: list[PodPlacement] = []
        """The cards of the pods placed so far, which the ledger is charged with."""
        self._asked: dict[str, _Asked] = {}
        self._lowered: dict[tuple[str, int], int] = {}
        """By pod set and leaf, how many pods it took in the end where it was counted for more."""
        for gang in gangs:
            limits = limits_of(ledger.cards, gang.namespace, gang.config.resources)
            self._asked[gang.pod_set.name] = _Asked(
                gang=gang,
                shape=shape_of(gang, policies),
                suitable=NodeSuitability(gang.pod_set.shape, gang.flavor),
                limits=emptied(limits) if empty else limits,
            )

    def limited(self, flavor: FlavorRoom, group: Group) -> Group:
        """The group with what the cards of each leaf allow for, as things stand."""
        tree = flavor.room.tree
        leader = None if group.leader is None else self._limited(tree, group.leader, None)
        return Group(workers=self._limited(tree, group.workers, leader), leader=leader)

    def take(self, flavor: FlavorRoom, group: Group, places: GroupPlaces) -> Unplaced | TooMany | None:
        """Give the pods of a group their cards where they lie, the leader first; None where all have got them."""
        tree = flavor.room.tree
        before = len(self.placements)
        with self._ledger.trail.trial() as trial:
            for request, pods in ((group.leader, places.leader), (group.workers, places.workers)):
                failed = None if request is None else self._take(tree, request, pods)
                if failed is not None:
                    del self.placements[before:]
                    return failed
            trial.keep()
        return None

    def _limited(
        self, tree: TopologyTree, request: PlacementRequest, leader: PlacementRequest | None
    ) -> PlacementRequest:
        asked = self._asked.get(request.pod_set)
        if asked is None:
            return request
        filling = self._filling(asked)
        pods = self._column(tree, request, asked, filling)
        led = None if leader is None else self._asked.get(leader.pod_set)
        beside = None if led is None or leader is None else self._beside(tree, request, asked, leader, led)
        limit = LeafLimit(
            resource=asked.resource,
            pods=self._below(request.pod_set, pods),
            beside=beside,
            breaking=self._breaking(tree, request, asked, filling) if asked.shape.in_parts else None,
        )
        return replace(request, limit=limit)

    def _below(self, pod_set: str, pods: Sequence[int]) -> Sequence[int]:
        lowered = {leaf: most for (name, leaf), most in self._lowered.items() if name == pod_set}
        if not lowered:
            return pods
        return [min(count, lowered.get(leaf, count)) for leaf, count in enumerate(pods)]

    def _filling(self, asked: _Asked, beside: CardShape | None = None) -> Filling:
        return Filling(self._ledger.cards, self._ledger.trail, asked.shape, beside)

    def _column(self, tree: TopologyTree, request: PlacementRequest, asked: _Asked, filling: Filling) -> Sequence[int]:
        if _each_leaf_is_one_host(tree) and _same_flavor(request, asked):
            return filling.column(tree.leaf_by_node, len(tree.leaves))
        return [
            sum(len(filling.of(node).fill.pods) for node in self._nodes(tree, leaf, asked))
            for leaf in range(len(tree.leaves))
        ]

    def _beside(
        self,
        tree: TopologyTree,
        request: PlacementRequest,
        asked: _Asked,
        leader: PlacementRequest,
        led: _Asked,
    ) -> Sequence[int]:
        """How many workers each leaf takes once the leader has its cards there, of the node that it would get them from."""
        filling = self._filling(asked, led.shape)
        if _each_leaf_is_one_host(tree) and _same_flavor(request, asked) and _same_flavor(leader, led):
            return filling.column(tree.leaf_by_node, len(tree.leaves))
        alone, first = self._filling(asked), self._filling(led)
        found: list[int] = []
        for leaf in range(len(tree.leaves)):
            home = self._best(self._nodes(tree, leaf, led), first, led)
            found.append(
                sum(
                    len((filling if node == home else alone).of(node).fill.pods)
                    for node in self._nodes(tree, leaf, asked)
                )
            )
        return found

    def _breaking(self, tree: TopologyTree, request: PlacementRequest, asked: _Asked, filling: Filling) -> Breaking:
        by = partial(self._opened, tree, filling, asked)
        if _each_leaf_is_one_host(tree) and _same_flavor(request, asked):
            at_most = filling.opened(tree.leaf_by_node, len(tree.leaves), request.count)
        else:
            at_most = [by(leaf, request.count) for leaf in range(len(tree.leaves))]
        return Breaking(at_most=at_most, by=by)

    def _opened(self, tree: TopologyTree, filling: Filling, asked: _Asked, leaf: int, count: int) -> int:
        total = 0
        for node in self._nodes(tree, leaf, asked):
            fill = filling.of(node).fill
            here = min(count, len(fill.pods))
            total += fill.opened[here]
            count -= here
        return total

    def _nodes(self, tree: TopologyTree, leaf: int, asked: _Asked) -> list[str]:
        """The nodes of a leaf whose cards the pods may have."""
        cards, nodes = self._ledger.cards.nodes, self._ledger.nodes
        found = [name for name in tree.nodes[leaf] if name in cards]
        if tree.by_host and asked.gang.flavor is None:
            return found
        return [name for name in found if asked.suitable.allows(nodes[name])]

    def _best(self, nodes: Sequence[str], filling: Filling, asked: _Asked) -> str | None:
        """The node of a leaf whose cards the next pod gets: by the policy for nodes, then by name."""
        open_nodes = [name for name in nodes if filling.of(name).fill.pods]
        return min(open_nodes, key=partial(self._order, asked.gang), default=None)

    def _order(self, gang: Gang, node: str) -> tuple[int, str]:
        return least_first(gang.node_policy, self._ledger.cards.summary_of(node).fullness), node

    def _take(
        self, tree: TopologyTree, request: PlacementRequest, pods: Mapping[int, int]
    ) -> Unplaced | TooMany | None:
        asked = self._asked.get(request.pod_set)
        if asked is None:
            return None
        index = sum(one.pod_set == request.pod_set for one in self.placements)
        for leaf in sorted(pods):
            nodes, taken = self._nodes(tree, leaf, asked), 0
            while taken < pods[leaf]:
                got = self._next(nodes, asked, pods[leaf] - taken, index)
                if isinstance(got, Unplaced):
                    return got
                if not got:
                    self._lowered[request.pod_set, leaf] = taken
                    return TooMany()
                self._ledger.cards.trial(got)
                self.placements.extend(got)
                taken += len(got)
                index += len(got)
        return None

    def _next(
        self, nodes: Sequence[str], asked: _Asked, missing: int, index: int
    ) -> tuple[PodPlacement, ...] | Unplaced:
        """The cards of the next pods of a leaf, as many as are found at once; none where it has no more."""
        if asked.limits:
            return self._next_within_limits(nodes, asked, index)
        filling = self._filling(asked)
        home = self._best(nodes, filling, asked) if len(nodes) > 1 else next(iter(nodes), None)
        if home is None:
            return ()
        found = filling.of(home)
        shares = found.shares(1 if asked.gang.node_policy == SPREAD and len(nodes) > 1 else missing)
        return tuple(_placement(asked, home, index + at, pod, found.fill.policy) for at, pod in enumerate(shares))

    def _next_within_limits(
        self, nodes: Sequence[str], asked: _Asked, index: int
    ) -> tuple[PodPlacement, ...] | Unplaced:
        gang, shape = asked.gang, asked.shape
        now = with_placements(self._ledger.cards, asked.limits, self.placements, gang.config.resources)
        if not lets_in(now, shape.requests, shape.init, gang.config.resources, shape.sidecars):
            return Unplaced(over_quota(gang, shape.requests, index))
        for node in sorted(nodes, key=partial(self._order, gang)):
            found = next_pod(self._ledger.cards, node, shape, now)
            if found.pods:
                return (_placement(asked, node, index, found.pods[0], found.policy),)
        return ()


def place_group_with_cards(
    flavor: FlavorRoom, group: Group, gates: TopologyGates, cards: CardPlaces | None, within: range | None = None
) -> GroupPlaces | Unplaced:
    """Places where all pods of a group have got their cards, on the leaves of a range where one is given.

    A leaf that was counted for more pods than got cards there counts for those from then on, and the pods are placed again; at
    most once for each leaf.
    """
    if cards is None:
        return place_group(flavor, group, gates, within)
    for _ in range(len(flavor.room.tree.leaves) + 1):
        places = place_group(flavor, cards.limited(flavor, group), gates, within)
        if isinstance(places, Unplaced):
            return places
        taken = cards.take(flavor, group, places)
        if not isinstance(taken, TooMany):
            return taken or places
    return _NO_CARDS


def in_order(placements: Sequence[PodPlacement], pod_sets: Sequence[str]) -> tuple[PodPlacement, ...]:
    """Placements in the order of the pod sets, and of their pods."""
    order: Mapping[str, int] = {name: number for number, name in enumerate(pod_sets)}
    return tuple(sorted(placements, key=lambda one: (order[one.pod_set], one.index)))


def _placement(asked: _Asked, node: str, index: int, shares: PodShares, policy: str) -> PodPlacement:
    return PodPlacement(
        pod_set=asked.gang.pod_set.name,
        index=index,
        node=node,
        containers=shares,
        init=asked.shape.init,
        sidecars=asked.shape.sidecars,
        policy=policy,
    )


def _each_leaf_is_one_host(tree: TopologyTree) -> bool:
    return tree.by_host and len(tree.leaf_by_node) == len(tree.leaves)


def _same_flavor(request: PlacementRequest, asked: _Asked) -> bool:
    """Whether its cards are those of the nodes that it is placed on, which are chosen by the topology alone."""
    return asked.gang.flavor is None or asked.gang.flavor.name == request.flavor
