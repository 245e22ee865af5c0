"""Taking cards of Kunlunxin: idle ones, or parts of those cut into the same size.

Rule: docs/rules/devices.md#vendor-checks
"""

from collections.abc import Sequence

from events.card import CardRequest, CardShare
from projections.devices.annotations.terms import Terms
from projections.devices.card_use import CardState
from projections.devices.fit import card_checks
from projections.devices.fit.container_fit import ContainerFit
from projections.devices.fit.kunlun_boards import together


def pick_kunlun(states: Sequence[CardState], request: CardRequest, terms: Terms) -> ContainerFit:
    """The cards that go together best among those that serve; those that the pod keeps off are counted by reason."""
    refusals: dict[str, int] = {}
    open_cards: list[CardState] = []
    for state in states:
        why = _refuses(state, terms)
        if why:
            refusals[why] = refusals.get(why, 0) + 1
        else:
            open_cards.append(state)
    by_index = {state.card.index: state for state in open_cards if _serves(state, request, terms)}
    taken = together(by_index.keys(), request.count)
    if taken:
        picked = tuple(_share(by_index[index], request, terms) for index in taken)
        return ContainerFit(picked=picked, complete=True, cards=len(states))
    if open_cards or not states:
        refusals[card_checks.WRONG_NUMA] = refusals.get(card_checks.WRONG_NUMA, 0) + 1
    return ContainerFit(picked=(), complete=False, refusals=refusals, cards=len(states))


def _refuses(state: CardState, terms: Terms) -> str:
    if state.cordoned:
        return card_checks.CORDONED
    if not terms.uuids.allows_uuid(state.card.uuid):
        return card_checks.WRONG_UUID
    return card_checks.EXCLUSIVE if terms.mutex and state.use.slots else ""


def _serves(state: CardState, request: CardRequest, terms: Terms) -> bool:
    card, use = state.card, state.use
    if not card.healthy or (terms.vendor.rules.idle and use.slots):
        return False
    if not terms.vendor.rules.same_size:
        return True
    fits = use.memory + request.memory <= card.memory
    return fits and (not use.slots or use.memory // use.slots == request.memory)


def _share(state: CardState, request: CardRequest, terms: Terms) -> CardShare:
    card, whole = state.card, terms.vendor.rules.idle
    return CardShare(
        uuid=card.uuid,
        vendor=request.vendor,
        memory=card.memory if whole else request.memory,
        cores=card.cores if whole else request.cores,
        index=card.index,
    )
