"""Which of the MetaX cards that serve a request are taken: by who shares them, or by the zone in which they are linked.

Rule: docs/rules/devices.md#vendor-checks
"""

from collections.abc import Mapping, Sequence

from events.card import WHOLE_CARD, CardRequest, CardShare
from projections.devices.annotations.terms import OFFLINE, ONLINE, Terms
from projections.devices.card_use import CardState
from projections.devices.fit import card_checks
from projections.devices.fit.container_fit import ContainerFit
from projections.devices.vendors.table import ZONE


def pick_metax(
    shares: Sequence[CardShare],
    states: Sequence[CardState],
    request: CardRequest,
    terms: Terms,
    refusals: Mapping[str, int],
    cards: int,
) -> ContainerFit:
    """Of all cards that serve those that go best: with the fewest that are online, or of as few zones as possible."""
    if len(shares) < request.count:
        short = {**refusals, card_checks.TOO_FEW: len(shares)} if shares else refusals
        return ContainerFit(picked=(), complete=False, refusals=dict(short), cards=cards)
    best = tuple(shares)
    if len(shares) > request.count and terms.tenant == ONLINE:
        by_card = {state.card.uuid: state for state in states}
        best = tuple(sorted(shares, key=lambda share: _tenants_beside(by_card[share.uuid])))
    elif len(shares) > request.count and not terms.tenant and request.cores == WHOLE_CARD:
        best = _by_zone(shares, states, request.count)
    return ContainerFit(picked=best[: request.count], complete=True, cards=cards)


def _tenants_beside(state: CardState) -> tuple[bool, int, int]:
    online, offline = state.tenants.count(ONLINE), state.tenants.count(OFFLINE)
    alone = not online and offline > 0
    return (alone, offline, 0) if alone else (alone, online, offline)


def _by_zone(shares: Sequence[CardShare], states: Sequence[CardState], count: int) -> tuple[CardShare, ...]:
    """Those of the smallest zone that has enough; else zones from the smallest, and those without one last."""
    zones: dict[int | str, list[CardShare]] = {}
    for share, state in zip(shares, states, strict=True):
        zones.setdefault(state.card.custom.get(ZONE, 0), []).append(share)
    linked = sorted((zones[zone] for zone in zones if zone), key=lambda each: len(each))
    for each in linked:
        if len(each) >= count:
            return tuple(each)
    return tuple(share for each in (*linked, zones.get(0, [])) for share in each)
