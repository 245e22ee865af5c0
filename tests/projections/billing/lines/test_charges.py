"""What one entry costs and where it stands in a bill: cut, metered, priced, given back, corrected and rounded, reckoned by hand."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import pytest
from msgspec.structs import replace

from events.billing import CorrectionEntered, LineKind, Meter, Price, PriceListSet
from events.card import Card
from events.event import Millis
from events.timestamp import parse_timestamp
from projections.billing.entries.entry import BilledSlice, CardEntry, Cause, Holder, Waste, Window
from projections.billing.ledger import Carried, Ledger
from projections.billing.lines.amounts import Amount, entered_amounts, roundings
from projections.billing.lines.charge import (
    HOUR,
    ChargeStatus,
    Piece,
    changes,
    charges,
    covered,
    cut,
    pieces,
    quantity,
    standings,
)
from projections.billing.terms.accounts import Payer
from projections.billing.terms.money import UNIT
from projections.billing.terms.prices import Correction
from projections.log_position import LogPosition

FEBRUARY = parse_timestamp("2026-02-01T00:00:00Z")
MARCH = parse_timestamp("2026-03-01T00:00:00Z")
CARD = Card(uuid="GPU-1", index=0, slots=10, memory=16_384, cores=100, model="A100")
SLICE = BilledSlice(card=CARD, node="n", flavor="a100", memory=4096, cores=30, slots=1)
BEGAN = Cause("reserved", 0, "LOG_0", 1)
EVER = Window(0, 2 * MARCH)


def entry(since: Millis, until: Millis, *, kind: LineKind = LineKind.USAGE, held: BilledSlice = SLICE) -> CardEntry:
    return CardEntry(
        id=f"e{since}",
        kind=kind,
        holder=Holder(tenant="team", workload="team/w"),
        slice=held,
        since=since,
        until=until,
        began=BEGAN,
        ended=Cause("released", until, "LOG_0", 2),
    )


ACROSS = entry(FEBRUARY - 2 * HOUR, FEBRUARY + 2 * HOUR)


def prices(name: str, starts: Millis, *more: Price, **changes: object) -> PriceListSet:
    memory = Price(meter=Meter.MEMORY, unit_price="2.50")
    return replace(PriceListSet(name=name, currency="EUR", starts=starts, prices=(memory, *more)), **changes)


def ledger(*events: PriceListSet | CorrectionEntered, at: Millis = 0) -> Ledger:
    """A ledger in which operators have entered these at a time, one behind the other."""
    found = Ledger()
    for number, event in enumerate(events, 1):
        found.fold(event, LogPosition(partition="CONTROL", sequence=number, at=at))
    return found


def piece(of: CardEntry = ACROSS, *, sign: int = 1, **changes: object) -> Piece:
    book = ledger(prices("list", 0, **changes)).prices.at(0)
    shared = {"entry": of, "kind": of.kind, "since": of.since, "until": of.until, "booked": of.since}
    return Piece(**shared, sign=sign, prices=book, payer=Payer(of.holder.tenant))


@pytest.mark.parametrize(
    ("held", "meter", "so_much"),
    [
        (SLICE, Meter.MEMORY, Fraction(4 * 2)),
        (SLICE, Meter.CORES, Fraction(30 * 2, 100)),
        (SLICE, Meter.DOMINANT, Fraction(30 * 2, 100)),
        (replace(SLICE, cores=20), Meter.DOMINANT, Fraction(2, 4)),
        (replace(SLICE, slots=7), Meter.DOMINANT, Fraction(7 * 2, 10)),
        (SLICE, Meter.CARD, Fraction(2)),
        (SLICE, Meter.EXCLUSIVE, Fraction(0)),
        (replace(SLICE, memory=16_384), Meter.EXCLUSIVE, Fraction(2)),
        (replace(SLICE, slots=3), Meter.SLOTS, Fraction(3 * 2)),
        (SLICE, Meter.NODE, Fraction(0)),
        (replace(SLICE, node_cards=1), Meter.NODE, Fraction(2)),
        (replace(SLICE, node_cards=8), Meter.NODE, Fraction(2, 8)),
        *((SLICE, other, Fraction(0)) for other in (Meter.QUOTA, Meter.DEVICE, Meter.IDLE, Meter.STRANDED, Meter.LENT)),
        (replace(SLICE, card=replace(CARD, cores=0), cores=0), Meter.CORES, Fraction(0)),
        (replace(SLICE, card=replace(CARD, cores=1), cores=1), Meter.CORES, Fraction(2)),
    ],
)
def test_a_meter_counts_so_much_in_two_hours(held: BilledSlice, meter: Meter, so_much: Fraction) -> None:
    assert Fraction(*quantity(entry(0, 1, held=held), meter, 2 * HOUR)) == so_much
    assert Fraction(*quantity(entry(0, 1, held=held), meter, -2 * HOUR)) == -so_much


def test_an_entry_is_cut_where_a_month_or_a_price_list_begins_and_each_piece_is_booked_when_it_begins() -> None:
    told = ledger(prices("first", FEBRUARY - HOUR), prices("second", FEBRUARY + HOUR))
    found = list(cut(told, ACROSS, LineKind.CREDIT))
    assert [(one.since - FEBRUARY, one.until - FEBRUARY) for one in found] == [
        (-2 * HOUR, -HOUR),
        (-HOUR, 0),
        (0, HOUR),
        (HOUR, 2 * HOUR),
    ]
    names = [None if one.prices is None else one.prices.event.name for one in found]
    assert names == [None, "first", "first", "second"]
    assert [one.booked for one in found] == [one.since for one in found]
    assert {(one.kind, one.sign, one.place) for one in found} == {(LineKind.CREDIT, 1, "")}
    assert all(one.entry == ACROSS for one in found)
    (booked, _) = [one.booked for one in cut(ledger(), ACROSS, LineKind.USAGE, booked=7)]
    assert booked == 7


@pytest.mark.parametrize(
    ("window", "found"),
    [
        (EVER, [(-2, 0), (0, 2)]),
        (Window(FEBRUARY - HOUR, FEBRUARY + HOUR), [(-1, 0), (0, 1)]),
        (Window(FEBRUARY, MARCH), [(0, 2)]),
        (Window(0, FEBRUARY), [(-2, 0)]),
        (Window(0, FEBRUARY - 2 * HOUR), []),
        (Window(FEBRUARY + 2 * HOUR, MARCH), []),
    ],
)
def test_of_an_entry_a_bill_has_what_lies_in_its_window(window: Window, found: list[tuple[int, int]]) -> None:
    told = Ledger()
    told.cards.kept.inside.append(ACROSS)
    hours = [((one.since - FEBRUARY) // HOUR, (one.until - FEBRUARY) // HOUR) for one in pieces(told, window)]
    assert hours == found


def test_what_is_priced_costs_its_price_what_is_free_nothing_and_what_has_no_price_is_told_as_such() -> None:
    agreed = Price(meter=Meter.MEMORY, unit_price="2.00", tenant="team")
    listed = prices("list", 0, agreed).prices
    charged = piece(prices=listed)
    assert charged.status is ChargeStatus.PRICED
    (charge,) = charges(charged)
    assert Fraction(charge.numerator, charge.denominator) == 4 * 4, "four GiB for four hours"
    assert (charge.list_cost, charge.cost) == (40 * UNIT, 32 * UNIT)
    (back,) = charges(piece(sign=-1, prices=listed))
    assert (back.list_cost, back.cost) == (-40 * UNIT, -32 * UNIT)
    assert (charged.length, piece(sign=-1).length) == (4 * HOUR, -4 * HOUR)
    free = piece(charges=(LineKind.RESERVATION,))
    assert free.status is ChargeStatus.FREE and charges(free) == []
    nowhere = piece(prices=(Price(meter=Meter.MEMORY, unit_price="1", flavor="h100"),))
    assert nowhere.status is ChargeStatus.UNPRICED and charges(nowhere) == []
    before = replace(piece(), prices=None)
    assert before.status is ChargeStatus.UNPRICED and charges(before) == []


def test_every_meter_that_has_a_price_makes_a_charge_of_its_own() -> None:
    cores = Price(meter=Meter.CORES, unit_price="10")
    found = charges(piece(prices=prices("list", 0, cores).prices))
    assert [(one.rate.meter, one.cost) for one in found] == [(Meter.MEMORY, 40 * UNIT), (Meter.CORES, 12 * UNIT)]


def wasted(at: Millis, reason: str, *entries: CardEntry) -> Waste:
    return Waste(
        at=at,
        place="LOG_0/9",
        reason=reason,
        holder=ACROSS.holder,
        preemptor="",
        preemptor_queue="",
        entries=entries,
    )


@pytest.mark.parametrize(
    ("waste", "window", "hours"),
    [
        (wasted(FEBRUARY + 2 * HOUR, "Preempted", ACROSS), EVER, -4),
        (wasted(FEBRUARY + 2 * HOUR, "Preempted", ACROSS), Window(FEBRUARY + 2 * HOUR, MARCH), -4),
        (wasted(FEBRUARY + 2 * HOUR, "Preempted", ACROSS), Window(0, FEBRUARY), 0),
        (wasted(FEBRUARY + 2 * HOUR, "Preempted", ACROSS), Window(0, FEBRUARY + 2 * HOUR), 0),
        (wasted(FEBRUARY + 2 * HOUR, "Preempted", ACROSS), Window(FEBRUARY + 3 * HOUR, MARCH), 0),
        (wasted(FEBRUARY + 2 * HOUR, "Preempted", replace(ACROSS, kind=LineKind.UNRESERVED)), EVER, 0),
        (wasted(FEBRUARY + 2 * HOUR, "PodsReadyTimeout", ACROSS), EVER, 0),
    ],
)
def test_all_that_an_attempt_had_cost_is_given_back_in_the_month_in_which_it_was_cut_short(
    waste: Waste, window: Window, hours: int
) -> None:
    told = ledger(prices("list", 0, charges=(LineKind.USAGE, LineKind.RESERVATION)))
    told.wastes.append(waste)
    found = list(pieces(told, window))
    assert sum(one.length for one in found) == hours * HOUR
    assert {(one.kind, one.booked, one.place) for one in found} <= {(LineKind.CREDIT, waste.at, "LOG_0/9")}
    assert list(pieces(replaced_prices(told), window)) == []


def replaced_prices(told: Ledger) -> Ledger:
    """The same ledger without any price list: nothing was paid, so nothing is given back."""
    told.prices.lists.clear()
    return told


def corrected(**changes: object) -> CorrectionEntered:
    return replace(CorrectionEntered(tenant="team", reason="wrong", author="ann"), **changes)


@pytest.mark.parametrize(
    ("changes", "hours"),
    [
        ({"entry": ACROSS.id}, [-2, -2]),
        ({"entry": ACROSS.id, "since": FEBRUARY, "until": FEBRUARY + HOUR}, [-2, -2, 1]),
        ({"entry": ACROSS.id, "since": FEBRUARY, "until": FEBRUARY}, [-2, -2]),
        ({"entry": ACROSS.id, "since": FEBRUARY + HOUR, "until": FEBRUARY}, [-2, -2]),
        ({"entry": ACROSS.id, "since": FEBRUARY}, [-2, -2]),
        ({"entry": ACROSS.id, "until": FEBRUARY}, [-2, -2]),
        ({"entry": "unknown", "since": FEBRUARY, "until": FEBRUARY + HOUR}, []),
        ({"amount": "-1"}, []),
    ],
)
def test_a_corrected_entry_is_taken_back_as_it_was_and_entered_again_as_it_should_have_been(
    changes: dict[str, object], hours: list[int]
) -> None:
    told = ledger(corrected(**changes), at=MARCH)
    told.cards.kept.found[ACROSS.id] = ACROSS
    found = list(pieces(told, Window(MARCH, MARCH + 1)))
    assert [one.length // HOUR for one in found] == hours
    assert {(one.kind, one.booked, one.place) for one in found} <= {(LineKind.CORRECTION, MARCH, "CONTROL/1")}
    for other in (Window(0, FEBRUARY), Window(0, MARCH), Window(MARCH + 1, 2 * MARCH)):
        assert list(pieces(told, other)) == [], "it stands in the bill of the time at which it was entered"


BACK = wasted(FEBRUARY + 3 * HOUR, "Preempted", ACROSS)


@pytest.mark.parametrize(
    ("credit", "corrections", "hours"),
    [
        # Who was paid back for a preemption is not paid back again by a correction, in either order.
        (BACK, [{"entry": ACROSS.id}], -4),
        (replace(BACK, at=2 * MARCH - 1), [{"entry": ACROSS.id}], -4),
        (BACK, [{"entry": ACROSS.id, "since": FEBRUARY, "until": FEBRUARY + HOUR}], -4),
        # A credit gives back what a correction had left.
        (replace(BACK, at=2 * MARCH - 1), [{"entry": ACROSS.id, "since": FEBRUARY, "until": FEBRUARY + HOUR}], -4),
        (BACK, [{"entry": ACROSS.id, "allow_negative": True}], -8),
        (None, [{"entry": ACROSS.id}, {"entry": ACROSS.id}], -4),
        (None, [{"entry": ACROSS.id}, {"entry": ACROSS.id, "since": FEBRUARY, "until": FEBRUARY + HOUR}], -3),
        (None, [{"entry": ACROSS.id, "since": FEBRUARY, "until": FEBRUARY + HOUR}, {"entry": ACROSS.id}], -4),
    ],
)
def test_an_entry_is_given_back_once(credit: Waste | None, corrections: list[dict[str, object]], hours: int) -> None:
    told = ledger(prices("list", 0), *(corrected(**one) for one in corrections), at=MARCH)
    told.cards.kept.found[ACROSS.id] = ACROSS
    told.foregone.extend([credit] if credit is not None else [])
    assert sum(one.length for one in pieces(told, EVER)) == hours * HOUR


def test_a_correction_of_what_a_credit_has_given_back_has_no_effect_and_is_named() -> None:
    told = ledger(prices("list", 0), corrected(entry=ACROSS.id), at=MARCH)
    told.cards.kept.found[ACROSS.id] = ACROSS
    assert covered(told, EVER) == []
    told.wastes.append(BACK)
    assert covered(told, EVER) == ["CONTROL/2"] and covered(told, Window(0, MARCH)) == []


def test_an_entry_that_goes_on_is_not_corrected() -> None:
    told = ledger(corrected(entry=ACROSS.id), at=MARCH)
    told.cards.kept.found[ACROSS.id] = replace(ACROSS, ended=None)
    assert list(pieces(told, EVER)) == []


@pytest.mark.parametrize(
    ("event", "window", "found"),
    [
        (corrected(amount="-1.25", about=FEBRUARY), EVER, [(-125 * UNIT // 100, FEBRUARY)]),
        (corrected(amount="3"), EVER, [(3 * UNIT, MARCH)]),
        (corrected(amount="3"), Window(MARCH, MARCH + 1), [(3 * UNIT, MARCH)]),
        (corrected(amount="3"), Window(0, FEBRUARY), []),
        (corrected(amount="3"), Window(0, MARCH), []),
        (corrected(amount="3"), Window(MARCH + 1, 2 * MARCH), []),
        (corrected(entry="e"), EVER, []),
    ],
)
def test_an_amount_that_somebody_entered_stands_in_the_bill_of_that_time(
    event: CorrectionEntered, window: Window, found: list[tuple[int, Millis]]
) -> None:
    lines = list(entered_amounts(ledger(prices("list", FEBRUARY), event, at=MARCH), window))
    assert [(one.cost, one.about) for one in lines] == found
    assert {(one.kind, one.tenant, one.currency, one.booked, one.text, one.place) for one in lines} <= {
        (LineKind.CORRECTION, "team", "EUR", MARCH, "wrong", "CONTROL/2")
    }
    assert [one.currency for one in entered_amounts(ledger(event, at=MARCH), window)] == [""] * len(found)
    later = ledger(prices("list", 2 * MARCH), event, at=MARCH)
    assert [one.currency for one in entered_amounts(later, window)] == ["EUR"] * len(found), "a bill has one currency"


@pytest.mark.parametrize(
    ("lists", "due", "lacks"),
    [
        ((), UNIT // 3, []),
        ((prices("list", 0),), 3 * UNIT, []),
        ((prices("list", 0),), UNIT + UNIT // 1000, [(-UNIT // 1000, "Rounded to 2 places")]),
        ((prices("list", 0),), UNIT - UNIT // 1000, [(UNIT // 1000, "Rounded to 2 places")]),
        (
            (prices("list", 0, decimals=0), prices("next", MARCH)),
            11 * UNIT // 10,
            [(-UNIT // 10, "Rounded to 0 places")],
        ),
        (
            (prices("list", FEBRUARY, decimals=0), prices("next", MARCH)),
            11 * UNIT // 10,
            [(-UNIT // 10, "Rounded to 0 places")],
        ),
        ((prices("list", MARCH - 1, decimals=0),), 11 * UNIT // 10, [(-UNIT // 10, "Rounded to 0 places")]),
        ((prices("list", MARCH, decimals=0),), 11 * UNIT // 10, [(-UNIT // 10, "Rounded to 0 places")]),
    ],
)
def test_what_a_total_of_a_month_lacks_to_whole_units_of_the_currency_in_force_is_a_line_of_its_own(
    lists: tuple[PriceListSet, ...], due: int, lacks: list[tuple[int, str]]
) -> None:
    told = ledger(*lists)
    told.at = MARCH
    assert list(roundings({("team", FEBRUARY): due}, told, Window(FEBRUARY, MARCH), ())) == [
        Amount(
            kind=LineKind.ROUNDING,
            payer=Payer("team"),
            tenant="team",
            cost=cost,
            currency="EUR",
            booked=FEBRUARY,
            about=FEBRUARY,
            text=text,
        )
        for cost, text in lacks
    ]


def test_every_tenant_and_month_is_rounded_by_itself() -> None:
    due = {("b", FEBRUARY): UNIT // 1000, ("a", MARCH): 0, ("a", FEBRUARY): UNIT // 1000}
    found = list(roundings(due, ledger(prices("list", 0)), Window(FEBRUARY, MARCH + 1), ()))
    assert [(one.tenant, one.booked) for one in found] == [("a", FEBRUARY), ("b", FEBRUARY)]
    assert list(roundings(due, ledger(prices("list", MARCH)), Window(FEBRUARY, MARCH + 1), ())) == [], (
        "nothing was ever in force as far as the log has come"
    )


def test_what_was_closed_and_what_was_learnt_since_come_to_what_the_log_says_now() -> None:
    """Entries that came, that went, and that are another tenant's, with and without what was given back for them."""
    others = [entry(FEBRUARY + number * HOUR, FEBRUARY + (number + 2) * HOUR) for number in range(3)]
    moved = replace(others[0], holder=Holder(tenant="other", workload="other/w"))
    ways: list[tuple[tuple[CardEntry, ...], tuple[Waste, ...]]] = [
        ((), ()),
        ((ACROSS, others[0]), ()),
        ((ACROSS, others[0], others[0]), ()),
        ((others[1], moved), (wasted(FEBRUARY + 9 * HOUR, "Preempted", others[1]),)),
        ((ACROSS, others[1], others[2]), (BACK, wasted(FEBRUARY + 9 * HOUR, "Preempted", others[1]))),
    ]
    for before in ways:
        for now in ways:
            told, then, since = (ledger(prices("list", 0)) for _ in range(3))
            for one, (entries, wastes) in ((then, before), (since, now)):
                one.cards.kept.inside.extend(entries)
                one.wastes.extend(wastes)
            windows = (Window(0, FEBRUARY), Window(FEBRUARY, MARCH))
            told.carried = Carried(before=then, now=since, windows=windows, booked=MARCH, place="CONTROL/7")
            learnt = list(pieces(told, Window(MARCH, MARCH + 1)))
            assert by_holder([*pieces(then, EVER), *learnt]) == by_holder(pieces(since, EVER))
            assert {(one.sign in (1, -1), one.booked, one.place, one.learnt) for one in learnt} <= {
                (True, MARCH, "CONTROL/7", True)
            }
            assert (learnt == []) is (before == now), "what has not changed is not said again"
            assert list(pieces(told, Window(0, MARCH))) == [] == list(pieces(told, Window(MARCH + 1, 2 * MARCH)))
            assert {one.kind for one in learnt} <= {LineKind.CREDIT, LineKind.CORRECTION}


def test_what_has_a_price_or_another_one_by_now_is_taken_back_and_entered_again_though_as_much_was_held() -> None:
    unpriced, old, new = ledger(), ledger(prices("old", 0)), ledger(prices("old", 0), prices("new", 0))
    for one in (unpriced, old, new):
        one.cards.kept.inside.append(entry(FEBRUARY, FEBRUARY + HOUR))
    for then, since in ((unpriced, old), (old, new)):
        told = ledger(prices("old", 0))
        told.carried = Carried(
            before=then, now=since, windows=(Window(FEBRUARY, MARCH),), booked=MARCH, place="CONTROL/7"
        )
        learnt = list(pieces(told, Window(MARCH, MARCH + 1)))
        assert [one.length for one in learnt] == [-HOUR, HOUR]
        assert [one.prices.event.name if one.prices else "" for one in learnt] == [
            *(one.prices.event.name if one.prices else "" for one in pieces(then, EVER)),
            *(one.prices.event.name if one.prices else "" for one in pieces(since, EVER)),
        ]


def by_holder(found: Iterable[Piece]) -> dict[tuple[str, bool], int]:
    """How long each tenant held something, and how much of that was given back."""
    sums: Counter[tuple[str, bool]] = Counter()
    for one in found:
        sums[one.entry.holder.tenant, one.kind is LineKind.CREDIT] += one.length
    return {key: length for key, length in sums.items() if length}


def test_of_what_happened_at_one_time_corrections_come_first() -> None:
    told = ledger(prices("list", 0), corrected(entry=ACROSS.id, since=FEBRUARY, until=FEBRUARY + HOUR), at=MARCH)
    told.wastes.append(replace(BACK, at=MARCH))
    assert [type(one) for one in changes(told)] == [Correction, Waste]


def test_what_stands_of_an_entry_is_what_credits_and_corrections_have_left() -> None:
    told = ledger(prices("list", 0), corrected(entry=ACROSS.id, since=FEBRUARY, until=FEBRUARY + HOUR), at=MARCH)
    told.cards.kept.found[ACROSS.id] = ACROSS
    other = entry(FEBRUARY, MARCH)
    left = standings(told).of(ACROSS)
    assert [(one.since, one.until) for one in left.entries] == [(FEBRUARY, FEBRUARY + HOUR)]
    assert (left.credit, left.corrected) == ("", "CONTROL/2")
    assert standings(told).of(other).entries == (other,)
    told.wastes.append(replace(BACK, at=2 * MARCH))
    assert (standings(told).of(ACROSS).entries, standings(told).of(ACROSS).credit) == ((), "LOG_0/9")
