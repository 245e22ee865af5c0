"""The double-entry check: what tenants are charged with is what cards gave, card by card and hour by hour.

Two books are kept from the same events: entries by tenant, and sums by card. Their totals must agree to the last MiB·ms,
and every card's parts must come to its capacity x time (docs/rules/billing.md#double-entry).
"""

from collections.abc import Iterable

import msgspec

from events.event import Millis
from projections.billing.card_book import CardBook, Part, buckets
from projections.billing.entry import Entry


class Mismatch(msgspec.Struct, frozen=True, kw_only=True):
    """A card and a stretch of time whose books disagree."""

    card: str
    node: str
    since: Millis
    what: str
    tenants: int
    cards: int


def reconcile(book: CardBook, entries: Iterable[Entry]) -> list[Mismatch]:
    """Every card and stretch whose books disagree; none in a sound ledger."""
    memory: dict[tuple[str, str, Millis], int] = {}
    cores: dict[tuple[str, str, Millis], int] = {}
    for entry in entries:
        slice_ = entry.slice
        for bucket, length in buckets(book.window, book.grain, entry.since, entry.until):
            key = (slice_.card.uuid, slice_.node, bucket)
            memory[key] = memory.get(key, 0) + slice_.memory * length
            cores[key] = cores.get(key, 0) + slice_.cores * length
    given: dict[tuple[str, str, Millis], tuple[int, int]] = {}
    found: list[Mismatch] = []
    for place, sums in sorted(book.sums.items()):
        key = (place.card, place.node, place.bucket)
        old = given.get(key, (0, 0))
        given[key] = (old[0] + sums.memory[Part.USED], old[1] + sums.cores[Part.USED])
        if not sums.balanced:
            parts = sum(sums.memory) - 2 * sums.memory[Part.OVER]
            found.append(_mismatch(key, "parts of the card and its capacity", parts, sums.capacity[0]))
    for key in sorted({*memory, *given}):
        mine, theirs = (memory.get(key, 0), cores.get(key, 0)), given.get(key, (0, 0))
        for what, one, other in zip(("memory", "cores"), mine, theirs, strict=True):
            if one != other:
                found.append(_mismatch(key, what, one, other))
    return found


def _mismatch(key: tuple[str, str, Millis], what: str, tenants: int, cards: int) -> Mismatch:
    return Mismatch(card=key[0], node=key[1], since=key[2], what=what, tenants=tenants, cards=cards)
