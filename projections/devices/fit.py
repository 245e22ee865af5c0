"""Whether a pod fits the cards of one node, and which of them it gets (hami-semantics §5).

Checks are HAMi's, in HAMi's order, with its reason codes. Cards are tried from the emptiest (spread, the default) or
the fullest (binpack); every order is total.
"""

from collections.abc import Mapping, Sequence

import msgspec

from events.card import Card, CardRequest, CardShare
from projections.devices.annotations import CARD_POLICY, NO_USE_TYPE, NO_USE_UUID, USE_TYPE, USE_UUID, names_in
from projections.devices.requests import WHOLE

_SCALE = 10**6


class CardUse(msgspec.Struct, frozen=True):
    """What is taken of a card: slots, MiB, percent."""

    slots: int = 0
    memory: int = 0
    cores: int = 0

    def plus(self, other: "CardUse") -> "CardUse":
        """Both together."""
        return CardUse(self.slots + other.slots, self.memory + other.memory, self.cores + other.cores)

    def minus(self, other: "CardUse") -> "CardUse":
        """What is left when the other is given back."""
        return CardUse(self.slots - other.slots, self.memory - other.memory, self.cores - other.cores)


IDLE = CardUse()


class NodeCards(msgspec.Struct, frozen=True, kw_only=True):
    """The cards of one node, which are cordoned, and what is taken of each."""

    node: str
    cards: tuple[Card, ...]
    cordoned: frozenset[str]
    used: Mapping[str, CardUse]


class PodFit(msgspec.Struct, frozen=True, kw_only=True):
    """The shares that the containers would get, or the reason codes of the cards that refused, counted."""

    shares: tuple[tuple[CardShare, ...], ...] | None = None
    refusals: dict[str, int] = {}


def fit_pod(
    on: NodeCards, requests: Sequence[CardRequest | None], init: int, annotations: Mapping[str, str]
) -> PodFit:
    """Fit all containers of a pod: each init container on the node as it is, the others one after the other."""
    app = dict(on.used)
    shares: list[tuple[CardShare, ...]] = []
    for position, request in enumerate(requests):
        if request is None:
            shares.append(())
            continue
        used = dict(on.used) if position < init else app
        picked, refusals = _fit_container(on, used, request, annotations)
        if picked is None:
            return PodFit(refusals=refusals)
        shares.append(picked)
        if position >= init:
            for share in picked:
                app[share.uuid] = app.get(share.uuid, IDLE).plus(CardUse(1, share.memory, share.cores))
    return PodFit(shares=tuple(shares))


def effective_use(containers: Sequence[Sequence[CardShare]], init: int, *, init_done: bool = False) -> dict[str, CardUse]:
    """What a pod takes of each card: the larger of its init containers' peak and its other containers' sum (§5.5)."""
    peak: dict[str, CardUse] = {}
    total: dict[str, CardUse] = {}
    for position, shares in enumerate(containers):
        for share in shares:
            use = CardUse(1, share.memory, share.cores)
            if position >= init:
                total[share.uuid] = total.get(share.uuid, IDLE).plus(use)
            elif not init_done:
                peak[share.uuid] = _larger(peak.get(share.uuid, IDLE), use)
    return {uuid: _larger(peak.get(uuid, IDLE), total.get(uuid, IDLE)) for uuid in sorted({*peak, *total})}


def memory_asked(request: CardRequest, card: Card) -> int:
    """The MiB that a request takes of this card."""
    if request.memory or request.percent is None:
        return request.memory
    return card.memory * request.percent // 100


def _larger(left: CardUse, right: CardUse) -> CardUse:
    return CardUse(max(left.slots, right.slots), max(left.memory, right.memory), max(left.cores, right.cores))


def _fit_container(
    on: NodeCards, used: Mapping[str, CardUse], request: CardRequest, annotations: Mapping[str, str]
) -> tuple[tuple[CardShare, ...] | None, dict[str, int]]:
    if request.count > len(on.cards):
        return None, {"NodeInsufficientDevice": 1}
    refusals: dict[str, int] = {}
    picked: list[CardShare] = []
    for card in _in_order(on.cards, used, annotations.get(CARD_POLICY, "spread")):
        why = _refuses(on, card, used.get(card.uuid, IDLE), request, annotations)
        if why:
            refusals[why] = refusals.get(why, 0) + 1
            continue
        picked.append(
            CardShare(uuid=card.uuid, vendor=request.vendor, memory=memory_asked(request, card), cores=request.cores)
        )
        if len(picked) == request.count:
            return tuple(picked), {}
    if picked:
        refusals["AllocatedCardsInsufficientRequest"] = len(picked)
    return None, refusals


def _in_order(cards: Sequence[Card], used: Mapping[str, CardUse], policy: str) -> list[Card]:
    sign = -1 if "binpack" in policy else 1
    return sorted(cards, key=lambda card: (sign * fullness(card, used.get(card.uuid, IDLE)), card.numa, card.index, card.uuid))


def fullness(card: Card, use: CardUse) -> int:
    """How full a card is, in millionths per dimension summed over slots, cores and memory."""
    return sum(
        taken * _SCALE // whole
        for taken, whole in ((use.slots, card.slots), (use.cores, card.cores), (use.memory, card.memory))
        if whole
    )


def _refuses(  # noqa: C901 - HAMi's checks in HAMi's order
    on: NodeCards, card: Card, use: CardUse, request: CardRequest, annotations: Mapping[str, str]
) -> str:
    if not card.healthy:
        return "CardNotHealth"
    if card.uuid in on.cordoned:
        return "CardCordoned"
    if not _type_allowed(card, annotations):
        return "CardTypeMismatch"
    if not _uuid_allowed(card, annotations):
        return "CardUuidMismatch"
    if card.slots <= use.slots:
        return "CardTimeSlicingExhausted"
    if "mutex" in annotations.get(CARD_POLICY, "") and use.slots > 0:
        return "ExclusiveDeviceAllocateConflict"
    if card.memory - use.memory < memory_asked(request, card):
        return "CardInsufficientMemory"
    if card.cores - use.cores < request.cores:
        return "CardInsufficientCore"
    if card.cores == WHOLE and request.cores == WHOLE and use.slots > 0:
        return "ExclusiveDeviceAllocateConflict"
    if card.cores and use.cores == card.cores and request.cores == 0:
        return "CardComputeUnitsExhausted"
    return ""


def _type_allowed(card: Card, annotations: Mapping[str, str]) -> bool:
    model = card.model.lower()
    use, no_use = names_in(annotations.get(USE_TYPE, "")), names_in(annotations.get(NO_USE_TYPE, ""))
    return (not use or any(name.lower() in model for name in use)) and not any(name.lower() in model for name in no_use)


def _uuid_allowed(card: Card, annotations: Mapping[str, str]) -> bool:
    use, no_use = names_in(annotations.get(USE_UUID, "")), names_in(annotations.get(NO_USE_UUID, ""))
    return (not use or card.uuid in use) and card.uuid not in no_use
