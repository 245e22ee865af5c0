"""From entries to charges: each entry cut at the window, at months and at prices, metered, priced, and never invented.

What has no price has no cost, which is something else than a cost of zero; what a price list does not charge is free.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum

import msgspec

from events.billing import LineKind, Meter
from events.event import Millis
from projections.billing.entries.entry import AnyEntry, CardEntry, DeviceEntry, QuotaEntry, Waste, Window
from projections.billing.ledger import Carried, Ledger
from projections.billing.lines.standing import EntryStandings
from projections.billing.terms.accounts import Payer
from projections.billing.terms.money import UNIT, times
from projections.billing.terms.price_windows import next_change, open_windows
from projections.billing.terms.prices import NO_TERMS, Correction, PriceList, PriceTerms, Rate, rates_of
from projections.billing.terms.resource_unit import GIB, unit_of
from projections.calendar import month_after

HOUR: Millis = 3_600_000


class ChargeStatus(IntEnum):
    """Whether a line costs something, and if not, why not."""

    PRICED = 0
    FREE = 1
    """The price list does not charge for this kind of line."""
    UNPRICED = 2
    """Nothing says what it costs."""


class Piece(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A part of an entry within one month and one price list. A sign of -1 takes it back."""

    entry: AnyEntry
    kind: LineKind
    since: Millis
    until: Millis
    sign: int
    prices: PriceList | None = None
    booked: Millis
    """When it is entered: in which month's bill it stands."""
    place: str = ""
    """Where on the log stands what gave or took it back."""
    terms: PriceTerms = NO_TERMS
    payer: Payer
    learnt: bool = False
    """Whether it says of a closed month what was not known when that was closed."""

    @property
    def length(self) -> Millis:
        """Milliseconds, negative where it is taken back."""
        return (self.until - self.since) * self.sign

    @property
    def status(self) -> ChargeStatus:
        """Whether a price list was in force and prices what was held."""
        if self.prices is None:
            return ChargeStatus.UNPRICED
        if self.entry.kind not in self.prices.event.charges:
            return ChargeStatus.FREE
        if self.terms.exchange is None:
            return ChargeStatus.UNPRICED
        return ChargeStatus.PRICED if rates_of(self.prices, self.entry, self.terms) else ChargeStatus.UNPRICED


class Charge(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a piece costs by one meter. Money is in units of 10^-10 of the bill's currency; the quantity is an exact fraction."""

    rate: Rate
    numerator: int
    denominator: int
    list_cost: int
    cost: int


def pieces(ledger: Ledger, window: Window) -> Iterator[Piece]:
    """All lines with a quantity of a bill for that window, in the order in which they ended; those of cards first, then those of quota.

    What goes on beyond the window comes last, by its beginning: when it ends is no news of that window.
    """
    for entries in (ledger.entries, ledger.quota_entries, ledger.holds.claimed.lines.kept.inside):
        ended = [one for one in entries if one.until < window.until]
        going_on = [one for one in entries if one.until >= window.until]
        for entry in (*ended, *sorted(going_on, key=lambda one: (one.since, one.id))):
            yield from cut(ledger, entry, entry.kind, window)
    standings = EntryStandings()
    for change in changes(ledger):
        match change:
            case Waste():
                found = _given_back(ledger, change, standings)
            case Correction():
                found = _corrected(ledger, change, standings)
        if change.at in window:
            yield from found
    if ledger.carried is not None and ledger.carried.booked in window:
        yield from _learnt_since(ledger.carried)


def changes(ledger: Ledger) -> list[Waste | Correction]:
    """What was given back and corrected, one after the other; of one time corrections come first, as they are read."""
    wastes = [
        (one.at, 1, one)
        for one in (*ledger.foregone, *ledger.wastes, *ledger.holds.wastes, *ledger.holds.claimed.lines.wastes)
    ]
    corrections = [(one.at, 0, one) for one in ledger.prices.corrections]
    return [one for _, _, one in sorted([*wastes, *corrections], key=lambda one: one[:2])]


def standings(ledger: Ledger) -> EntryStandings:
    """How entries stand after all credits and corrections; of those that the ledger was asked for."""
    found = EntryStandings()
    for change in changes(ledger):
        match change:
            case Waste():
                _given_back(ledger, change, found)
            case Correction():
                _corrected(ledger, change, found)
    return found


def covered(ledger: Ledger, window: Window) -> list[str]:
    """Places of the window's corrections that have no effect, as a credit had given back all of the entry before."""
    found, standings = list[str](), EntryStandings()
    for change in changes(ledger):
        match change:
            case Waste():
                _given_back(ledger, change, standings)
            case Correction():
                entry = ledger.found(change.event.entry)
                if entry is not None and standings.of(entry).credit and not change.event.allow_negative:
                    found += [change.place] if change.at in window else []
                _corrected(ledger, change, standings)
    return found


def cut(
    ledger: Ledger,
    entry: AnyEntry,
    kind: LineKind,
    window: Window | None = None,
    *,
    sign: int = 1,
    booked: Millis | None = None,
    place: str = "",
) -> Iterator[Piece]:
    """An entry in pieces, each in one month and at one price; none of quota or claimed devices under a list that prices none."""
    since = entry.since if window is None else max(entry.since, window.since)
    until = entry.until if window is None else min(entry.until, window.until)
    while since < until:
        end = min([until, month_after(since), *ledger.prices.cuts(since, until)])
        prices, terms = ledger.prices.at(since), NO_TERMS
        if prices is not None and (prices.event.windows or prices.flavor_labels or prices.event.billed_in):
            flavor = flavor_of(entry)
            end = min(
                [next_change(prices.event.windows, since, end), *ledger.cards.flavor_labels.cuts(flavor, since, end)]
            )
            labels = ledger.cards.flavor_labels.having(flavor, prices.flavor_labels, since)
            rate = ledger.prices.rate(prices, since)
            terms = PriceTerms(open_windows(prices.event.windows, since), labels, rate)
        if _is_priced_at_all(entry, prices):
            yield Piece(
                entry=entry,
                kind=kind,
                since=since,
                until=end,
                sign=sign,
                prices=prices,
                booked=since if booked is None else booked,
                place=place,
                terms=terms,
                payer=ledger.prices.accounts.payer_of(entry.holder, since),
            )
        since = end


def _is_priced_at_all(entry: AnyEntry, prices: PriceList | None) -> bool:
    """Whether a list prices anything of its kind: cards are on every bill, the rest only where something of it has a price."""
    match entry:
        case CardEntry():
            return True
        case QuotaEntry():
            return prices is not None and prices.of_quota
        case DeviceEntry():
            return prices is not None and prices.of_devices


def charges(piece: Piece) -> list[Charge]:
    """What a piece costs, meter by meter; nothing where it is free or has no price."""
    prices, exchange = piece.prices, piece.terms.exchange
    if prices is None or exchange is None or piece.entry.kind not in prices.event.charges:
        return []
    found: list[Charge] = []
    for rate in rates_of(prices, piece.entry, piece.terms):
        numerator, denominator = quantity_of(piece.entry, rate.meter, piece.length)
        charge = Charge(
            rate=rate,
            numerator=numerator,
            denominator=denominator,
            list_cost=times(rate.list_price * exchange, numerator, denominator * UNIT),
            cost=times(rate.contracted * exchange, numerator, denominator * UNIT),
        )
        found.append(charge)
    return found


def flavor_of(entry: AnyEntry) -> str:
    """The flavor of the card slice or quota that an entry is about; empty of devices that are claimed."""
    match entry:
        case CardEntry():
            return entry.slice.flavor
        case QuotaEntry():
            return entry.flavor
        case DeviceEntry():
            return ""


def quantity_of(entry: AnyEntry, meter: Meter, length: Millis) -> tuple[int, int]:
    """So much of a meter in so many milliseconds, in its unit, as an exact fraction."""
    match entry:
        case CardEntry():
            return quantity(entry, meter, length)
        case QuotaEntry():
            return entry.amount * length, unit_of(entry.resource).size * HOUR
        case DeviceEntry():
            return entry.count * length, HOUR


def quantity(entry: CardEntry, meter: Meter, length: Millis) -> tuple[int, int]:
    """So much of a card's meter, as an exact fraction (docs/rules/billing.md#meters)."""
    slice_ = entry.slice
    match meter:
        case Meter.MEMORY:
            return slice_.memory * length, GIB * HOUR
        case Meter.CORES:
            return slice_.cores * length, max(slice_.card.cores, 1) * HOUR
        case Meter.DOMINANT:
            part, whole = slice_.dominant
            return part * length, whole * HOUR
        case Meter.CARD:
            return length, HOUR
        case Meter.EXCLUSIVE:
            return (length if slice_.exclusive else 0), HOUR
        case Meter.SLOTS:
            return slice_.slots * length, HOUR
        case Meter.NODE:
            return (length if slice_.node_cards else 0), max(slice_.node_cards, 1) * HOUR
        case Meter.QUOTA | Meter.DEVICE | Meter.IDLE | Meter.STRANDED | Meter.LENT:
            return 0, HOUR


def _learnt_since(carried: Carried) -> Iterator[Piece]:
    """What is different about closed months: lines that are wrong now taken back, and the right ones entered.

    Rule: docs/rules/billing.md#closing
    """
    for window in carried.windows:
        before = {key: piece for key, piece in _numbered(pieces(carried.before, window))}
        now = {key: piece for key, piece in _numbered(pieces(carried.now, window))}
        for found, other, sign in ((before, now, -1), (now, before, 1)):
            for key, piece in found.items():
                if key not in other:
                    kind = piece.kind if piece.kind is LineKind.CREDIT else LineKind.CORRECTION
                    sign_now = piece.sign * sign
                    yield msgspec.structs.replace(
                        piece, kind=kind, sign=sign_now, booked=carried.booked, place=carried.place, learnt=True
                    )


def _numbered(found: Iterable[Piece]) -> Iterator[tuple[tuple[object, ...], Piece]]:
    """Each piece under what it says; the second of two that say the same is told from the first by its number."""
    seen: dict[tuple[object, ...], int] = {}
    for piece in found:
        entry, prices = piece.entry, piece.prices
        said = (entry.id, entry.kind, entry.holder, piece.kind, piece.since, piece.until, piece.sign, piece.place)
        under = (*piece.terms.labels, piece.terms.exchange, piece.payer, prices.place if prices is not None else "")
        key = (*said, *_held(entry), *under)
        seen[key] = seen.get(key, 0) + 1
        yield (*key, seen[key]), piece


def _held(entry: AnyEntry) -> tuple[object, ...]:
    if isinstance(entry, QuotaEntry):
        return entry.flavor, entry.resource, entry.amount
    if isinstance(entry, DeviceEntry):
        return entry.claim, entry.device_class, entry.resource, entry.count
    held, card = entry.slice, entry.slice.card
    of_card = (card.uuid, card.model, card.memory, card.cores, card.slots, held.node, held.flavor)
    return (*of_card, held.memory, held.cores, held.slots, held.node_cards, held.pod_set, held.index)


def _given_back(ledger: Ledger, waste: Waste, standings: EntryStandings) -> list[Piece]:
    prices = ledger.prices.at(waste.at)
    if prices is None or waste.reason not in prices.event.credits:
        return []
    return [
        piece
        for entry in (*waste.entries, *waste.quota, *waste.devices)
        for left in standings.credited(entry, waste.place)
        for piece in cut(ledger, left, LineKind.CREDIT, sign=-1, booked=waste.at, place=waste.place)
        if piece.status is ChargeStatus.PRICED
    ]


def _corrected(ledger: Ledger, correction: Correction, standings: EntryStandings) -> list[Piece]:
    """What is left of the entry taken back, and entered again as it should have been."""
    event = correction.event
    entry = ledger.found(event.entry)
    if entry is None or entry.ended is None:
        return []
    right: tuple[AnyEntry, ...] = ()
    if event.since is not None and event.until is not None:
        right = (msgspec.structs.replace(entry, since=event.since, until=event.until),)
    gone, right = standings.correct(entry, correction.place, right, allow_negative=event.allow_negative)
    kind, booked, place = LineKind.CORRECTION, correction.at, correction.place
    return [
        piece
        for sign, entries in ((-1, gone), (1, right))
        for one in entries
        for piece in cut(ledger, one, kind, sign=sign, booked=booked, place=place)
    ]
