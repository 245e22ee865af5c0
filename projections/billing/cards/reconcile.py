"""The double-entry check: what tenants are charged with is what cards gave, card by card and hour by hour.

Two books are kept from the same events: entries by tenant, and sums by card. Their totals must agree to the last MiB·ms,
and every card's parts must come to its capacity x time (docs/rules/billing.md#double-entry).
"""

from collections.abc import Iterable

import msgspec

from events.event import Millis
from projections.billing.cards.card_book import CardBook, CardSums, Part, buckets
from projections.billing.entries.entry import CardEntry


class Mismatch(msgspec.Struct, frozen=True, kw_only=True):
    """A card and a stretch of time whose books disagree."""

    card: str
    node: str
    since: Millis
    what: str
    tenants: int
    cards: int


class Reconciled(msgspec.Struct, frozen=True):
    """How many cards in so many stretches were checked, and where the books disagree: nowhere in a sound ledger."""

    checked: int
    mismatches: list[Mismatch]


def reconcile(book: CardBook, entries: Iterable[CardEntry]) -> Reconciled:
    """Hold both books against each other, card by card."""
    held: dict[str, list[CardEntry]] = {}
    for entry in entries:
        held.setdefault(entry.slice.card.uuid, []).append(entry)
    checked, found = 0, list[Mismatch]()
    for card, sums in book.by_card():
        checked += len(sums)
        found += _of_card(book, card, sums, held.pop(card, ()))
    for card, left in sorted(held.items()):
        found += _of_card(book, card, {}, left)
    return Reconciled(checked, found)


def _of_card(book: CardBook, card: str, stretches: CardSums, entries: Iterable[CardEntry]) -> list[Mismatch]:
    tenants: dict[tuple[str, Millis], tuple[int, int]] = {}
    for entry in entries:
        slice_ = entry.slice
        for bucket, length in buckets(book.window, book.grain, entry.since, entry.until):
            old = tenants.get((slice_.node, bucket), (0, 0))
            tenants[slice_.node, bucket] = (old[0] + slice_.memory * length, old[1] + slice_.cores * length)
    given: dict[tuple[str, Millis], tuple[int, int]] = {}
    found: list[Mismatch] = []
    for place, sums in sorted(stretches.items()):
        key = (place.node, place.bucket)
        old = given.get(key, (0, 0))
        given[key] = (old[0] + sums.memory[Part.USED], old[1] + sums.cores[Part.USED])
        if not sums.balanced:
            parts = sum(sums.memory) - 2 * sums.memory[Part.OVER]
            found.append(_mismatch(card, key, "parts of the card and its capacity", parts, sums.capacity[0]))
    for key in sorted({*tenants, *given}):
        mine, theirs = tenants.get(key, (0, 0)), given.get(key, (0, 0))
        for what, one, other in zip(("memory", "cores"), mine, theirs, strict=True):
            if one != other:
                found.append(_mismatch(card, key, what, one, other))
    return found


def _mismatch(card: str, key: tuple[str, Millis], what: str, tenants: int, cards: int) -> Mismatch:
    return Mismatch(card=card, node=key[0], since=key[1], what=what, tenants=tenants, cards=cards)
