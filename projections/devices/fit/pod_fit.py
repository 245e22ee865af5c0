"""Whether a pod fits the cards of one node, and which of them it gets (docs/rules/devices.md#pod-fit).

Init containers that end are each tried on the node as sidecars have left it; the others follow one after the other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from events.card import CardRequest, CardShare
from projections.devices.annotations.allocated_cards import CARD_POLICY
from projections.devices.annotations.steering import EVEN, SCORING_WEIGHTS, BadWeights, Choice, Weights, parse_weights
from projections.devices.annotations.terms import Terms, terms_of
from projections.devices.card_use import IDLE, CardState, CardUse, NodeCards, charged_of, states_of
from projections.devices.fit import card_checks
from projections.devices.fit.container_fit import ContainerFit
from projections.devices.fit.metax_sharing import quality_after
from projections.devices.fit.pick import MIG_MODE, counted, pick_cards, settled
from projections.devices.fit.pod_count import NOT_COUNTED, NOTHING_TRIED, PodCount, TriedContainers
from projections.devices.fit.score import asked_of, card_order, fullness
from projections.devices.namespace_quota import NO_QUOTA, Limit, QuotaRoom, room
from projections.devices.vendors.table import BY_WORD
from projections.devices.vendors.vendor import Vendor, is_card_of


class PodFit(msgspec.Struct, frozen=True, kw_only=True):
    """The shares that the containers would get, or the reason codes of the cards that refused, counted."""

    shares: tuple[tuple[CardShare, ...], ...] | None = None
    refusals: dict[str, int] = {}
    cards: int = 0
    """Cards that were looked at when it failed."""


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that asks for cards, as far as all nodes see it alike; read once, then tried on many nodes."""

    annotations: Mapping[str, str] = {}
    default_policy: str = ""
    weights: Weights = EVEN
    terms: dict[str, Terms]
    """By vendor word, for every vendor that is asked."""
    unreadable: bool = False
    """Its scoring weights can't be read: no node takes it."""

    def policy(self) -> str:
        """The policy by which cards are sorted."""
        return self.annotations.get(CARD_POLICY, self.default_policy)

    def names_cards(self) -> bool:
        """Whether it names single cards, so that no two nodes are alike to it."""
        return any(terms.uuids != Choice() for terms in self.terms.values())


def asking(
    annotations: Mapping[str, str],
    requests: Iterable[CardRequest | None],
    *,
    default_policy: str = "",
    limits: Mapping[str, Limit] | None = None,
    vendors: Mapping[str, Vendor] = BY_WORD,
) -> Asking:
    """A pod's demands, read from its annotations and its namespace's limits."""
    limits = limits or {}
    weights = _weights(annotations)
    return Asking(
        annotations=annotations,
        default_policy=default_policy,
        weights=weights or EVEN,
        unreadable=weights is None,
        terms={
            word: terms_of(
                vendors[word], annotations, default_policy=default_policy, room=room(limits, vendors[word].resources)
            )
            for word in sorted({request.vendor for request in requests if request is not None})
            if word in vendors
        },
    )


def _weights(annotations: Mapping[str, str]) -> Weights | None:
    """The scoring weights of a pod; None if they can't be read."""
    if SCORING_WEIGHTS not in annotations:
        return EVEN
    try:
        return parse_weights(annotations[SCORING_WEIGHTS])
    except BadWeights:
        return None


def reason_text(refusals: Mapping[str, int], cards: int) -> str:
    """The reasons of a node in HAMi's words: `n/total Code`, sorted and joined; the codes alone if no card counted."""
    if not cards:
        return ", ".join(sorted(refusals))
    return ", ".join(sorted(f"{times}/{cards} {code}" for code, times in refusals.items()))


def sort_cards(
    states: Sequence[CardState],
    policy: str,
    requests: Sequence[CardRequest],
    *,
    numa_bind: bool,
    weights: Weights,
) -> list[CardState]:
    """The cards in the order from which they are tried back to front.

    The score of a card counts what is asked of it only where its model is the bare vendor word, as HAMi has it: on real
    cards it is what is taken already (docs/rules/devices.md#ranking), and another order would not be the one that HAMi
    chooses by.
    """
    key = card_order(policy, numa_bind=numa_bind)

    def order(state: CardState) -> tuple[int, ...]:
        card = state.card
        score = fullness(card, state.use.plus(asked_of(card, requests)), weights)
        return key(score, state.use.slots, card.numa, card.index)

    return sorted(states, key=order)


def fit_asking(
    on: NodeCards, requests: Sequence[Sequence[CardRequest]], init: int, pod: Asking, sidecars: Sequence[int] = ()
) -> PodFit:
    """Fit all containers, each with its requests by vendor, for a pod whose demands have been read already.

    Of the first `init`, which are init containers, those at `sidecars` run on beside all that come after them.
    """
    if pod.unreadable:
        return PodFit(refusals={card_checks.BAD_WEIGHTS: 1})
    now = states_of(on)
    tried = TriedContainers(init=init, sidecars=sidecars)
    for position, asked in enumerate(requests):
        trial = fit_container(now, asked, pod, on=on, tried=tried)
        if not trial.fit.complete:
            return PodFit(refusals=trial.fit.refusals, cards=trial.fit.cards)
        if not tried.ends(position):
            now = trial.after
        tried = msgspec.structs.replace(tried, shares=(*tried.shares, trial.fit.picked))
    return PodFit(shares=tried.shares)


class ContainerTrial(msgspec.Struct, frozen=True):
    """The outcome of trying one container on the cards of a node."""

    fit: ContainerFit
    """The shares as they are charged."""
    after: list[CardState]
    """The cards as they would be then, in the order in which they were tried; unchanged where it does not fit."""


def fit_container(
    states: list[CardState],
    requests: Sequence[CardRequest],
    pod: Asking,
    *,
    on: NodeCards,
    tried: TriedContainers = NOTHING_TRIED,
) -> ContainerTrial:
    """Fit the requests of one container on cards as they are, after those of its pod that were tried before it."""
    if not requests:
        return ContainerTrial(ContainerFit(picked=(), complete=True), states)
    terms = [pod.terms.get(request.vendor) for request in requests]
    numa_bind = any(each is not None and each.numa_bind for each in terms)
    after = sort_cards(states, pod.policy(), requests, numa_bind=numa_bind, weights=pod.weights)
    picked: tuple[CardShare, ...] = ()
    for request, own in zip(requests, terms, strict=True):
        fit = _fit_own(after, request, own, on, tried)
        if not fit.complete:
            return ContainerTrial(fit, states)
        picked += fit.picked
        after = charge(after, fit.picked)
    return ContainerTrial(ContainerFit(picked=picked, complete=True), after)


def _fit_own(
    states: Sequence[CardState], request: CardRequest, terms: Terms | None, on: NodeCards, tried: TriedContainers
) -> ContainerFit:
    """Fit one request on the cards of its vendor."""
    if terms is None:
        return ContainerFit(picked=(), complete=False, refusals={card_checks.UNKNOWN_VENDOR: 1})
    vendor = terms.vendor
    own = [state for state in states if is_card_of(vendor, state.card)]
    if request.count > len(own) and not (terms.takes_mode(MIG_MODE) and any(s.card.mode == MIG_MODE for s in own)):
        return ContainerFit(picked=(), complete=False, refusals={card_checks.TOO_FEW_ON_NODE: 1})
    by_uuid = {state.card.uuid: state for state in own}

    def counts(share: CardShare) -> CardUse:
        return counted(share, by_uuid[share.uuid].card, vendor) if share.uuid in by_uuid else IDLE

    before = NOT_COUNTED if terms.room == NO_QUOTA else tried.count(counts)
    fit = pick_cards(
        own,
        request,
        terms,
        before=before,
        held=frozenset(share.uuid for share in tried.seen() if share.vendor == request.vendor),
        pair_scores=on.pair_scores,
        soft_node=card_checks.splits_by_software(vendor, on.annotations),
    )
    if not fit.complete:
        return fit
    if not _held_by(terms.room, before, fit.picked, counts):
        return ContainerFit(picked=(), complete=False, refusals={card_checks.OVER_QUOTA: len(own)}, cards=len(own))
    picked = tuple(settled(by_uuid[share.uuid], share) for share in fit.picked)
    return ContainerFit(picked=picked, complete=True, cards=fit.cards)


def _held_by(
    room: QuotaRoom, before: PodCount, picked: Sequence[CardShare], counts: Callable[[CardShare], CardUse]
) -> bool:
    """Whether the limits of a namespace hold all that was picked together, where cards were chosen among more than are asked for."""
    if room == NO_QUOTA:
        return True
    for share in picked:
        before = before.plus(share.uuid, counts(share))
    return room.holds(before.total.memory, before.total.cores)


def charge(states: Sequence[CardState], shares: Sequence[CardShare]) -> list[CardState]:
    """The cards after these shares were taken of them; the order stays."""
    taken: dict[str, CardUse] = {}
    for share in shares:
        taken[share.uuid] = taken.get(share.uuid, IDLE).plus(charged_of(share))
    return [
        msgspec.structs.replace(
            state.holding(taken[state.card.uuid]),
            quality=quality_after(state.quality, [share for share in shares if share.uuid == state.card.uuid]),
        )
        if state.card.uuid in taken
        else state
        for state in states
    ]
