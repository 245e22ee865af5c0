"""Which node takes a pod: every node is tried, those that fit are scored as they were before, the best is taken.

Binpack takes the fullest, spread the emptiest, and of equals the first by name (docs/rules/devices.md#ranking).
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from events.card import CardRequest, CardShare
from projections.devices.annotations.allocated_cards import by_vendor
from projections.devices.annotations.steering import least_first
from projections.devices.card_use import IDLE, CardState, CardUse, NodeCards, charged_of, effective_use, states_of
from projections.devices.fit.node_scores import vendor_score, weighted
from projections.devices.fit.pod_fit import Asking, PodFit, fit_asking, reason_text
from projections.devices.fit.score import node_score
from projections.devices.vendors.table import BY_WORD


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
        return min(self.best_of_equals(policy), key=lambda fit: fit.node, default=None)

    def best_of_equals(self, policy: str) -> list[NodeFit]:
        """All nodes of the best score under a node policy."""
        best = min((least_first(policy, fit.score) for fit in self.fits), default=None)
        return [fit for fit in self.fits if least_first(policy, fit.score) == best]


def rank(
    nodes: Iterable[NodeCards],
    requests: Sequence[Sequence[CardRequest]],
    init: int,
    pod: Asking,
    policy: str = "",
    sidecars: Sequence[int] = (),
) -> Ranking:
    """Try a pod on every node; vendors' own scores look at the node policy."""
    fits: list[NodeFit] = []
    failed: dict[str, str] = {}
    for on in nodes:
        found: PodFit = fit_asking(on, requests, init, pod, sidecars)
        if found.shares is None:
            failed[on.node] = reason_text(found.refusals, found.cards)
            continue
        added = effective_use(found.shares, init, sidecars=sidecars, each=charged_of)
        after = {card.uuid: on.used.get(card.uuid, IDLE).plus(added.get(card.uuid, IDLE)) for card in on.cards}
        before = states_of(on)
        score = node_score(before) + vendor_scores(on, found.shares, before, pod, policy)
        fits.append(NodeFit(node=on.node, score=score, shares=found.shares, after=after))
    return Ranking(fits=tuple(fits), failed=failed)


def vendor_scores(
    on: NodeCards, shares: Sequence[Sequence[CardShare]], before: Sequence[CardState], pod: Asking, policy: str
) -> Fraction:
    """What the vendors of the chosen cards add to the node's score."""
    total = Fraction(0)
    for word, containers in by_vendor(shares).items():
        vendor = pod.terms[word].vendor if word in pod.terms else BY_WORD.get(word)
        if vendor is not None:
            own = vendor_score(vendor, containers, before, on.annotations, policy)
            total += weighted(vendor, own, policy)
    return total
