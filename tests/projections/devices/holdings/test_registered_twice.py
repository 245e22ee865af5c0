"""A card of one UUID that several nodes register.

Rule: docs/rules/devices.md#registration
"""

from events.device import DevicesRegistered, DriftKind
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.holdings.drift import all_findings
from projections.trail import Trail
from tests.projections.devices.makers import card


def told(cards: CardHoldings) -> list[tuple[str, str, DriftKind]]:
    return [(one.node, one.card, one.kind) for one in all_findings(cards, {}, {})]


def test_a_card_that_two_nodes_register_is_told_of_each_until_one_of_them_is_gone() -> None:
    cards = CardHoldings(Trail())
    for node in ("before", "after"):
        cards.register(DevicesRegistered(node=node, cards=(card("a"), card(node))))
    twice = DriftKind.REGISTERED_TWICE
    assert told(cards) == [("after", "a", twice), ("before", "a", twice)]
    cards.remove_node("before")
    assert told(cards) == []
