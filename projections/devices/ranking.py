"""Which node takes a pod: every node is tried, those that fit are scored as they were before, the best is taken.

Binpack takes the fullest, spread the emptiest, and of equals the first by name (hami-semantics §5.1, §5.4).
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from events.card import CardRequest, CardShare
from projections.devices.fit import Asking, PodFit, fit_asking, reason_text
from projections.devices.score import node_score
from projections.devices.steering import SPREAD
from projections.devices.use import IDLE, CardUse, NodeCards, effective_use, states_of
from projections.devices.vendors import NETWORK

_FULL_SCORE = 10


class NodeFit(msgspec.Struct, frozen=True, kw_only=True):
    """A node that takes the pod: its score before, the shares per container, and what its cards would hold then."""

    node: str
    score: Fraction
    shares: tuple[tuple[CardShare, ...], ...]
    after: dict[str, CardUse]


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that take the pod, and why the others do not."""

    fits: tuple[NodeFit, ...]
    failed: dict[str, str]

    def best(self, policy: str) -> NodeFit | None:
        """The node to take under a node policy; None if none fits."""
        sign = 1 if policy == SPREAD else -1
        return min(self.fits, key=lambda fit: (sign * fit.score, fit.node), default=None)


def rank(nodes: Iterable[NodeCards], requests: Sequence[Sequence[CardRequest]], init: int, pod: Asking) -> Ranking:
    """Try a pod on every node."""
    fits: list[NodeFit] = []
    failed: dict[str, str] = {}
    for on in nodes:
        found: PodFit = fit_asking(on, requests, init, pod)
        if found.shares is None:
            failed[on.node] = reason_text(found.refusals, found.cards)
            continue
        added = effective_use(found.shares, init)
        after = {card.uuid: on.used.get(card.uuid, IDLE).plus(added.get(card.uuid, IDLE)) for card in on.cards}
        score = node_score(states_of(on)) + network_score(found.shares)
        fits.append(NodeFit(node=on.node, score=score, shares=found.shares, after=after))
    return Ranking(fits=tuple(fits), failed=failed)


def network_score(containers: Iterable[Iterable[CardShare]]) -> Fraction:
    """How much of the chosen cards lies in one network, out of 10; 0 where cards tell of none."""
    networks = [share.custom[NETWORK] for container in containers for share in container if NETWORK in share.custom]
    if not networks:
        return Fraction(0)
    return Fraction(_FULL_SCORE * max(networks.count(network) for network in networks), len(networks))
