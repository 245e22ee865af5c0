"""Sharing of MetaX cards: which classes of workloads may share one (docs/rules/devices.md#vendor-checks)."""

from collections.abc import Iterable

from events.card import WHOLE_CARD, CardRequest, CardShare
from projections.devices.annotations.terms import CLASS, OFFLINE, ONLINE, QUALITY, Terms
from projections.devices.card_use import CardState
from projections.devices.fit import card_checks
from projections.devices.vendors.table import ZONE

QUALITY_OF_CARD = "QosPolicy"


def refuses_sharing(state: CardState, request: CardRequest, terms: Terms) -> str:
    """Why the work of a pod may not run beside what is on the card; empty if it may, and where nothing is."""
    if not state.use.slots:
        return ""
    if not _classes_agree(state, terms.tenant):
        return card_checks.OTHER_CLASS
    own = state.card.custom.get(QUALITY_OF_CARD, "") if state.quality is None else state.quality
    if terms.tenant == ONLINE or request.cores == WHOLE_CARD or own in ("", terms.quality):
        return ""
    return card_checks.OTHER_QUALITY


def marks_of(state: CardState, terms: Terms, cores: int) -> dict[str, int | str]:
    """What is to be known of who has a part of a card: a whole card leaves it to the next, and work that is online has no say."""
    if not terms.vendor.rules.classes:
        return {}
    marks: dict[str, int | str] = {CLASS: terms.tenant} if terms.tenant else {}
    if terms.tenant != ONLINE:
        marks[QUALITY] = "" if cores == WHOLE_CARD else terms.quality
    if terms.linked:
        marks[ZONE] = state.card.custom.get(ZONE, 0)
    return marks


def quality_after(known: str | None, shares: Iterable[CardShare]) -> str | None:
    """The quality of service of a card on which these shares are, the last of them with a say in it."""
    for share in shares:
        if QUALITY in share.custom:
            known = str(share.custom[QUALITY])
    return known


def _classes_agree(state: CardState, tenant: str) -> bool:
    """Work with a class and work without do not mix; what is offline does not join what is online, which suspends it."""
    classed = ONLINE in state.tenants or OFFLINE in state.tenants
    if classed != (tenant in (ONLINE, OFFLINE)):
        return False
    return not (ONLINE in state.tenants and tenant == OFFLINE)
