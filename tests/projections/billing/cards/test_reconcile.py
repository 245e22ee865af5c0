"""Two books are kept of the same time, and whatever one of them has that the other lacks is named.

Rule: docs/rules/billing.md#double-entry
"""

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.device import DevicesRegistered, NodeObserved
from projections.billing.cards.card_book import Part
from projections.billing.cards.reconcile import Mismatch, reconcile
from projections.billing.ledger import Ledger
from projections.log_position import LogPosition
from tests.projections.billing.test_entered_lines import (
    ADMITTED,
    CARD,
    CARDS,
    PLATFORM,
    RESERVED,
    RETURNED,
    RUNS,
    SUBMITTED,
    told,
)


def two_seconds(*more: AnyEvent) -> Ledger:
    """A job has 4000 MiB and 25 % of a card of 16,000 MiB from the fourth second on; then this is told, and two seconds pass."""
    ledger = told(*RUNS, *more)
    last = 1000 * (len(RUNS) + len(more))
    ledger.fold(PLATFORM[0], LogPosition(partition="FACTS", sequence=99, at=last + 2000))
    ledger.finish()
    return ledger


def mismatches(ledger: Ledger) -> list[tuple[str, int, int]]:
    found = reconcile(ledger.cards.book, ledger.entries).mismatches
    assert all(isinstance(one, Mismatch) and (one.card, one.node) == (CARD.uuid, "n") for one in found)
    return [(one.what, one.tenants, one.cards) for one in found]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (NodeObserved(name="n"), Part.IDLE),
        (NodeObserved(name="n", ready=False), Part.LOST),
        (DevicesRegistered(node="n", cards=(replace(CARD, healthy=False),)), Part.UNHEALTHY),
        (DevicesRegistered(node="n", cards=(CARD,), cordoned=(CARD.uuid,)), Part.CORDONED),
    ],
)
def test_the_parts_of_a_card_come_to_its_capacity_and_what_is_used_to_what_tenants_are_charged_with(
    change: AnyEvent, part: Part
) -> None:
    ledger = two_seconds(change)
    assert mismatches(ledger) == []
    sums = [sums for of_card in ledger.cards.book.by_card() for sums in of_card[1].values()]
    assert sum(one.capacity[0] for one in sums) == 16_000 * 7000, "from its registration on"
    assert sum(sum(one.memory) for one in sums) == 16_000 * 7000
    charged = sum(one.slice.memory * (one.until - one.since) for one in ledger.entries)
    used = 3000 if part in (Part.IDLE, Part.CORDONED) else 1000
    assert charged == sum(one.memory[Part.USED] for one in sums) == 4000 * used
    rest = 16_000 if part in (Part.LOST, Part.UNHEALTHY) else 12_000
    before = 16_000 * 4000 + 12_000 * 1000
    assert sum(one.memory[part] for one in sums) == rest * 2000 + (before if part is Part.IDLE else 0)


def test_what_is_admitted_or_lost_for_a_time_is_charged_once() -> None:
    lost = NodeObserved(name="n", ready=False)
    ledger = told(SUBMITTED, RESERVED, CARDS, ADMITTED, lost, PLATFORM[0], RETURNED)
    ledger.finish()
    assert [(one.since, one.until) for one in ledger.entries] == [(3000, 4000), (4000, 5000), (6000, 7000)]
    assert mismatches(ledger) == []


def test_a_line_that_no_card_has_given_is_named() -> None:
    ledger = two_seconds()
    longer = replace(ledger.entries[0], until=ledger.entries[0].until + 1)
    ledger.cards.kept.inside[:] = [longer]
    assert mismatches(ledger) == [("memory", 4000 * 2001, 4000 * 2000), ("cores", 25 * 2001, 25 * 2000)]
    ledger.cards.book.sums.clear()
    assert mismatches(ledger) == [("memory", 4000 * 2001, 0), ("cores", 25 * 2001, 0)]


def test_time_that_a_card_has_given_to_nobody_is_named() -> None:
    ledger = two_seconds()
    ledger.cards.kept.inside.clear()
    assert mismatches(ledger) == [("memory", 0, 4000 * 2000), ("cores", 0, 25 * 2000)]


def test_a_card_whose_parts_do_not_come_to_its_capacity_is_named() -> None:
    ledger = two_seconds()
    (sums,) = ledger.cards.book.sums.values()
    sums.memory[Part.IDLE] += 1
    assert mismatches(ledger) == [("parts of the card and its capacity", 16_000 * 6000 + 1, 16_000 * 6000)]
