"""Whether cards that were proposed to one workload are shared with others as HAMi would never have it, though the amounts would do.

Who proposes looks at what he knows of: two partitions may give one card to two workloads at once. The amounts tell when that is too much;
of a card that one has for itself, and of pieces that lie on one another, they do not.

Rule: docs/rules/devices.md#two-proposals
"""

from collections.abc import Iterable

from events.card import WHOLE_CARD, CardShare
from events.device import PodPlacement
from projections.devices.annotations.allocated_cards import vendor_word
from projections.devices.fit.mig import overlaps, spans_of
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.vendors.table import BY_WORD

_ByCard = dict[str, list[CardShare]]


def clashes(cards: CardHoldings, workload: str, placements: Iterable[PodPlacement]) -> bool:
    """Whether any card of these placements is given to another workload that can't have it beside this one."""
    own = _by_card(placements)
    others: _ByCard = {}
    for owner in sorted({owner for uuid in own for owner in cards.stakes.get(uuid, ()) if owner != workload}):
        for holding in cards.attempts_of(owner):
            for uuid, shares in _by_card(holding.placements).items():
                others.setdefault(uuid, []).extend(shares)
    return any(_clash(cards, uuid, shares, others[uuid]) for uuid, shares in sorted(own.items()) if uuid in others)


def _by_card(placements: Iterable[PodPlacement]) -> _ByCard:
    found: _ByCard = {}
    for share in (share for one in placements for shares in one.containers for share in shares):
        found.setdefault(share.uuid, []).append(share)
    return found


def _clash(cards: CardHoldings, uuid: str, own: list[CardShare], others: list[CardShare]) -> bool:
    pieces = spans_of([share.instance for share in own if share.instance is not None])
    theirs = spans_of([share.instance for share in others if share.instance is not None])
    if any(overlaps(one, other) for one in pieces for other in theirs):
        return True
    card, vendor = cards.registered(uuid), BY_WORD.get(vendor_word(own[0]))
    if card is None or vendor is None or not vendor.rules.exclusive or card.cores != WHOLE_CARD:
        return False
    return any(share.cores == WHOLE_CARD for share in (*own, *others))
