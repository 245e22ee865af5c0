"""Filling a node: pods of one shape are given its cards one after the other, as HAMi does it, until it takes no more.

Rule: docs/rules/topology.md#cards

How many a node takes and which cards each of them gets come of the same walk, so that counts promise nothing that can't be
given. The ledger is as it was afterwards; what is known of nodes that have not changed is not found out again.
"""

from collections.abc import Mapping, Sequence

import msgspec

from events.card import WHOLE_CARD
from events.device import PodPlacement
from projections.devices.annotations.allocated_cards import CARD_POLICY
from projections.devices.card_use import IDLE, NodeCards
from projections.devices.fit.fills import CardShape, Fill, FillColumn, NodeFill, PodShares, kind_of
from projections.devices.fit.node_summary import may_hold
from projections.devices.fit.pod_fit import Asking, asking, fit_asking
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.namespace_quota import Limits
from projections.devices.placement.gang import Gang
from projections.devices.requests.card_requests import pod_card_requests
from projections.trail import Trail

_NONE = Fill()
_MOST_COUNTS = 16
_NEVER = -1
"""The version of a node that was never looked at."""


class Filling:
    """Asks the ledger of cards how many pods of a shape its nodes take, each question tried and taken back.

    With `beside` the nodes have taken one pod of that shape before: the leader of a group.
    """

    __slots__ = ("_asking", "_beside", "_cards", "_known", "_trail", "shape")

    def __init__(self, cards: CardHoldings, trail: Trail, shape: CardShape, beside: CardShape | None = None) -> None:
        self._cards, self._trail, self.shape, self._beside = cards, trail, shape, beside
        self._known = cards.fills.of(shape, beside)
        self._asking = {policy: _asked(shape, policy, {}) for policy in shape.policies}

    def of(self, node: str) -> NodeFill:
        """The fill of a node as things are. Raises `KeyError` for one without cards."""
        version = self._cards.version(node)
        found = self._known.by_node.get(node)
        if found is not None and found.version == version:
            return found
        on = self._cards.summary_of(node).on
        by_card = self.shape.by_card or (self._beside is not None and self._beside.by_card)
        kind = (node, kind_of(on)) if by_card else kind_of(on)
        fill = self._known.by_kind.get(kind)
        if fill is None:
            fill = self._filled(node)
            self._known.keep(kind, fill)
        found = self._known.by_node[node] = NodeFill(version, fill, tuple(card.uuid for card in on.cards))
        return found

    def column(self, homes: Mapping[str, int], leaves: int) -> Sequence[int]:
        """How many pods the cards of each leaf take, by the leaf of each node; not to be changed.

        Of homes that were asked for before only nodes that have changed are looked at again.
        """
        return self._column(homes, leaves).pods

    def opened(self, homes: Mapping[str, int], leaves: int, count: int) -> Sequence[int]:
        """Of how many cards so many pods would take the first part on each leaf; not to be changed."""
        column = self._column(homes, leaves)
        found = column.opened.get(count)
        if found is None:
            if len(column.opened) >= _MOST_COUNTS:
                column.opened.clear()
            found = column.opened[count] = [0] * leaves
            for node, fill in column.fills.items():
                found[homes[node]] += fill.opened_by(count)
        return found

    def _column(self, homes: Mapping[str, int], leaves: int) -> FillColumn:
        column = self._known.column
        if column is None or column.homes is not homes:
            column = self._known.column = FillColumn(homes=homes, nodes=[*homes], pods=[0] * leaves)
        versions = self._cards.versions_of(column.nodes)
        if versions != column.versions:
            seen, column.pods = column.versions or [_NEVER] * len(versions), list(column.pods)
            for node, now, before in zip(column.nodes, versions, seen, strict=True):
                if now != before:
                    self._refill(column, node, homes[node])
            column.versions = versions
        return column

    def _refill(self, column: FillColumn, node: str, leaf: int) -> None:
        before = column.fills.get(node, _NONE)
        fill = column.fills[node] = self.of(node).fill if node in self._cards.nodes else _NONE
        column.pods[leaf] += len(fill.pods) - len(before.pods)
        for count, opened in column.opened.items():
            opened[leaf] += fill.opened_by(count) - before.opened_by(count)

    def _filled(self, node: str) -> Fill:
        with self._trail.trial():
            if self._beside is not None:
                first = Filling(self._cards, self._trail, self._beside).of(node)
                if not first.fill.pods:
                    return _NONE
                self._cards.trial((_placed(node, first.shares(1)[0], self._beside),))
            if not may_hold(self._cards.summary_of(node), self.shape.requests):
                return _NONE
            fills = [self._under(node, policy) for policy in self.shape.policies]
            return max(fills, key=lambda fill: len(fill.pods))

    def _under(self, node: str, policy: str) -> Fill:
        pods: list[PodShares] = []
        opened = [0]
        with self._trail.trial():
            on = before = self._cards.cards_of(node)
            while True:
                fit = fit_asking(on, self.shape.requests, self.shape.init, self._asking[policy], self.shape.sidecars)
                if fit.shares is None:
                    break
                pods.append(fit.shares)
                self._cards.trial((_placed(node, fit.shares, self.shape),))
                on = self._cards.cards_of(node)
                opened.append(_opened(before, on))
        uuids = tuple(card.uuid for card in before.cards)
        return Fill(pods=tuple(pods), policy=policy, uuids=uuids, opened=tuple(opened))


def next_pod(cards: CardHoldings, node: str, shape: CardShape, limits: Limits) -> Fill:
    """The next pod of a shape on a node, where limits of its namespace have a say; nothing is remembered of it."""
    on = cards.summary_of(node).on
    for policy in shape.policies:
        fit = fit_asking(on, shape.requests, shape.init, _asked(shape, policy, limits), shape.sidecars)
        if fit.shares is not None:
            return Fill(pods=(fit.shares,), policy=policy)
    return _NONE


def shape_of(gang: Gang, policies: tuple[str, ...] = ()) -> CardShape:
    """What one pod of a gang asks of cards; under these policies where it leaves the choice open, else under its own first."""
    shape, config = gang.pod_set.shape, gang.config
    found = pod_card_requests(shape, config)
    asked = CardShape(
        requests=found.containers,
        init=found.init,
        sidecars=found.sidecars,
        annotations=tuple(sorted(shape.device_annotations.items())),
        policies=gang.left_open(policies or gang.tried_alone(found.containers)),
        config=config,
        by_card=False,
        in_parts=any(
            one.cores < WHOLE_CARD and (one.memory or one.percent not in (None, WHOLE_CARD))
            for each in found.containers
            for one in each
        ),
    )
    return msgspec.structs.replace(asked, by_card=_asked(asked, "", {}).names_cards())


def _asked(shape: CardShape, policy: str, limits: Limits) -> Asking:
    own = dict(shape.annotations)
    return asking(
        {**own, CARD_POLICY: policy} if policy else own,
        [request for each in shape.requests for request in each],
        default_policy=shape.config.card_policy,
        limits=limits,
        vendors=shape.config.by_word,
    )


def _placed(node: str, shares: PodShares, shape: CardShape) -> PodPlacement:
    return PodPlacement(pod_set="", index=0, node=node, containers=shares, init=shape.init, sidecars=shape.sidecars)


def _opened(before: NodeCards, after: NodeCards) -> int:
    """How many cards of which nobody had a part are in use now."""
    return sum(
        before.used.get(card.uuid, IDLE) == IDLE and after.used.get(card.uuid, IDLE) != IDLE for card in before.cards
    )
