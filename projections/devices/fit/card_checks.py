"""Whether one card may serve one request, and if not, why: HAMi's checks in HAMi's order.

Rule: docs/rules/devices.md#card-checks
"""

from collections.abc import Mapping

from events.card import WHOLE_CARD, Card, CardRequest
from projections.devices.annotations.terms import ONLINE, Terms
from projections.devices.card_use import CardState
from projections.devices.vendors.vendor import Vendor

SOFT_SPLIT_NODE = "hami-vnpu-core"

NOT_HEALTHY = "CardNotHealth"
UNHEALTHY = "CardUnhealthy"
"""The same of MetaX's slices, in HAMi's words."""
CORDONED = "CardCordoned"
WRONG_MODEL = "CardTypeMismatch"
WRONG_UUID = "CardUuidMismatch"
WRONG_MODE = "ModeNotFit"
NO_SLOT = "CardTimeSlicingExhausted"
EXCLUSIVE = "ExclusiveDeviceAllocateConflict"
OVER_QUOTA = "ResourceQuotaNotFit"
NO_MEMORY = "CardInsufficientMemory"
NO_CORES = "CardInsufficientCore"
CORES_GONE = "CardComputeUnitsExhausted"
WRONG_NUMA = "NumaNotFit"
NO_PIECE = "CardMigTopologyInfeasible"
TOO_FEW = "AllocatedCardsInsufficientRequest"
TOO_FEW_ON_NODE = "NodeInsufficientDevice"
UNKNOWN_VENDOR = "device-type-not-found"
OTHER_CARD = "CardNotFoundCustomFilterRule"
OTHER_CLASS, OTHER_QUALITY = "CardAppClassMismatch", "CardQosPolicyMismatch"
BAD_WEIGHTS = "ScoringWeightsNotRead"


def memory_asked(request: CardRequest, card: Card, vendor: Vendor) -> int:
    """The MiB that a request takes of this card; none where cards are given whole by their slots."""
    if vendor.rules.whole:
        return 0
    if request.memory:
        return request.memory
    if vendor.whole_percent is None:
        return card.memory
    return card.memory * (request.percent or 0) // WHOLE_CARD


def cores_asked(request: CardRequest, state: CardState, terms: Terms) -> int:
    """The cores that a request takes of this card, in the card's unit; never more than all of them."""
    card, vendor = state.card, terms.vendor
    percent = min(request.cores, WHOLE_CARD)
    if vendor.rules.core_bits:
        return free_bits(card.cores & ~state.use.cores, request.cores)
    if terms.tenant == ONLINE and vendor.rules.classes:
        return 0
    if not vendor.rules.compute_units:
        return percent
    if percent <= 0:
        return card.cores
    return max(1, card.cores * percent // WHOLE_CARD)


def cores_counted(card: Card, vendor: Vendor, cores: int) -> int:
    """Cores of a card as the limit of a namespace counts them: percent of it, or their number where each is a bit.

    Rule: docs/rules/devices.md#namespace-quota
    """
    if vendor.rules.core_bits:
        return cores.bit_count()
    if vendor.rules.compute_units and card.cores:
        return -(-cores * WHOLE_CARD // card.cores)
    return cores


def free_bits(free: int, count: int) -> int:
    """The lowest `count` of these bits; nothing where there are not so many."""
    taken = 0
    for bit in range(free.bit_length()):
        if free >> bit & 1 and taken.bit_count() < count:
            taken |= 1 << bit
    return taken if taken.bit_count() == count else 0


def refuses_card(state: CardState, terms: Terms) -> str:
    """Why a card is out of the question whatever is free on it; empty if it is not."""
    card = state.card
    if not card.healthy:
        return NOT_HEALTHY
    if state.cordoned:
        return CORDONED
    if not terms.models.allows_model(card.model) or not terms.takes_mode(card.mode):
        return WRONG_MODEL
    return ""


def splits_by_software(vendor: Vendor, annotations: Mapping[str, str]) -> bool:
    """Whether a node splits chips by software: by what it says itself, else by HAMi's configuration."""
    told = annotations.get(SOFT_SPLIT_NODE)
    return vendor.soft_split_everywhere if told is None else told == "true"


def mode_differs(terms: Terms, *, soft_node: bool) -> bool:
    """Whether the pod wants a split by software where the node has none; one that says nothing follows the node."""
    return terms.soft_split and not soft_node


def refuses_now(state: CardState, terms: Terms) -> str:
    """Why a card is not to be shared as the pod asks; empty if it may be."""
    if not terms.uuids.allows_uuid(state.card.uuid):
        return WRONG_UUID
    if terms.vendor.rules.idle and state.use.slots > 0:
        return EXCLUSIVE
    if state.card.slots <= state.use.slots:
        return NO_SLOT
    if terms.mutex and state.use.slots > 0:
        return EXCLUSIVE
    return ""


def lacks(state: CardState, terms: Terms, memory: int, cores: int) -> str:
    """The reason code if the card lacks memory or cores for the request; empty if it does not."""
    card, use = state.card, state.use
    if terms.vendor.rules.whole:
        return ""
    if card.memory - use.memory < memory:
        return NO_MEMORY
    if terms.vendor.rules.core_bits:
        return "" if cores else NO_CORES
    if terms.tenant == ONLINE and terms.vendor.rules.classes:
        return ""
    whole = WHOLE_CARD if terms.soft_split else card.cores
    if whole - use.cores < cores:
        return NO_CORES
    if terms.vendor.rules.exclusive and whole == WHOLE_CARD and cores == WHOLE_CARD and use.slots > 0:
        return EXCLUSIVE
    if whole and use.cores == whole and cores == 0:
        return CORES_GONE
    return ""
