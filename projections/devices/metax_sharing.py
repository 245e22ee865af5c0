"""Sharing of MetaX cards: which classes of workloads may share one (docs/rules/devices.md#vendor-checks)."""

from events.card import CardRequest
from projections.devices import checks
from projections.devices.terms import OFFLINE, ONLINE, Terms
from projections.devices.use import CardState

QUALITY_OF_CARD = "QosPolicy"
_WHOLE = 100


def refuses_sharing(state: CardState, request: CardRequest, terms: Terms) -> str:
    """Why the work of a pod may not run beside what is on the card; empty if it may, and where nothing is."""
    if not state.use.slots:
        return ""
    if not _classes_agree(state, terms.tenant):
        return checks.OTHER_CLASS
    own = state.card.custom.get(QUALITY_OF_CARD, "")
    if terms.tenant == ONLINE or request.cores == _WHOLE or own in ("", terms.quality):
        return ""
    return checks.OTHER_QUALITY


def _classes_agree(state: CardState, tenant: str) -> bool:
    """Work with a class and work without do not mix; what is offline does not join what is online, which suspends it."""
    classed = ONLINE in state.tenants or OFFLINE in state.tenants
    if classed != (tenant in (ONLINE, OFFLINE)):
        return False
    return not (ONLINE in state.tenants and tenant == OFFLINE)
