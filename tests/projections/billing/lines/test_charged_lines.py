"""What a whole bill makes of its lines: what a month itself comes to decides about its minimum, what was learnt in it of others does not."""

from msgspec.structs import replace

from events.billing import AccountRule, AccountsSet, Commitment, LineKind, Meter, MinimumCharge, Price, PriceListSet
from events.card import Card
from events.event import Millis
from events.timestamp import parse_timestamp
from projections.billing.entries.entry import BilledSlice, CardEntry, Cause, Holder, Window
from projections.billing.entries.ledger_scope import LedgerScope
from projections.billing.ledger import Carried, Ledger
from projections.billing.lines.amounts import Amount
from projections.billing.lines.charge import HOUR
from projections.billing.lines.charged_lines import BilledTo, ChargedPiece, charged_lines
from projections.billing.terms.money import parse_money
from projections.log_position import LogPosition

JANUARY = parse_timestamp("2026-01-01T00:00:00Z")
FEBRUARY = parse_timestamp("2026-02-01T00:00:00Z")
MARCH = parse_timestamp("2026-03-01T00:00:00Z")
PRICES = PriceListSet(name="p", currency="EUR", starts=0, prices=(Price(meter=Meter.CARD, unit_price="10"),))
LEAST = replace(PRICES, minimums=(MinimumCharge(amount="100", account="team"),))
SLICE = BilledSlice(
    card=Card(uuid="GPU-1", index=0, slots=1, memory=16_000, model="A100"),
    node="n",
    flavor="a100",
    memory=16_000,
    cores=100,
    slots=1,
)


def ledger(prices: PriceListSet, *held: tuple[Millis, int], began: Millis = 0) -> Ledger:
    """One card held from a time on for so many hours, up to March."""
    found = Ledger(LedgerScope(began=began))
    found.fold(prices, LogPosition(partition="CONTROL", sequence=1, at=0))
    found.at = MARCH
    for since, hours in held:
        until = since + hours * HOUR
        found.cards.kept.inside.append(
            CardEntry(
                id=f"e{since}",
                kind=LineKind.USAGE,
                holder=Holder(tenant="team", workload="team/w"),
                slice=SLICE,
                since=since,
                until=until,
                began=Cause("reserved", since, "LOG_0", 1),
                ended=Cause("released", until, "LOG_0", 2),
            )
        )
    return found


def bill(told: Ledger, window: Window) -> tuple[int, int]:
    """What held cards cost in it, and what was added up to the minimum."""
    lines = list(charged_lines(told, window))
    held = sum(charge.cost for line in lines if isinstance(line, ChargedPiece) for charge in line.charges)
    least = sum(line.cost for line in lines if isinstance(line, Amount) and line.kind is LineKind.MINIMUM)
    return held, least


def test_a_minimum_is_what_lines_of_the_month_lack_to_it() -> None:
    told = ledger(LEAST, (FEBRUARY, 3))
    assert bill(told, Window(FEBRUARY, MARCH)) == (parse_money("30"), parse_money("70"))


def test_what_was_learnt_of_a_closed_month_is_in_the_bill_and_no_part_of_what_its_minimum_goes_by() -> None:
    told = ledger(LEAST, (FEBRUARY, 3))
    told.carried = Carried(
        before=ledger(PRICES),
        now=ledger(PRICES, (JANUARY, 5)),
        windows=(Window(JANUARY, FEBRUARY),),
        booked=FEBRUARY,
        place="CONTROL/7",
    )
    assert bill(told, Window(FEBRUARY, MARCH)) == (parse_money("80"), parse_money("70"))


def commitments(told: Ledger, of: BilledTo) -> list[tuple[str, bool, int]]:
    """Which account pays for its commitment in February, whether a rule names it, and how much."""
    lines = charged_lines(told, Window(FEBRUARY, MARCH), of)
    found = (line for line in lines if isinstance(line, Amount) and line.kind is LineKind.COMMITMENT)
    return [(line.payer.account, line.payer.mapped, line.cost) for line in found]


def test_an_account_that_pays_for_itself_and_by_a_rule_for_others_has_its_monthly_terms_and_rounding_once() -> None:
    year = Commitment(name="year", account="team", price="4000", covers="5000")
    told = ledger(replace(PRICES, commitments=(year,)), (FEBRUARY, 3), (FEBRUARY + 300 * HOUR, 1))
    from_then = AccountsSet(starts=FEBRUARY + 200 * HOUR, rules=(AccountRule(namespace="team", account="team"),))
    told.fold(from_then, LogPosition(partition="CONTROL", sequence=2, at=0))
    assert commitments(told, BilledTo()) == [("team", True, parse_money("4000"))]
    assert commitments(told, BilledTo(tenants={"team"})) == [], "others may pay from it, too"


CENTS = replace(PRICES, prices=(Price(meter=Meter.CARD, unit_price="0.333"),))


def roundings(told: Ledger, window: Window) -> list[tuple[Millis, int]]:
    """In which month something is rounded, and by how much."""
    lines = (line for line in charged_lines(told, window) if isinstance(line, Amount))
    return [(line.booked, line.cost) for line in lines if line.kind is LineKind.ROUNDING]


def test_what_a_month_is_rounded_by_is_no_line_of_a_part_of_it() -> None:
    told = ledger(CENTS, (FEBRUARY, 1), (FEBRUARY + 20 * HOUR, 1))
    assert roundings(told, Window(FEBRUARY, MARCH)) == [(FEBRUARY, parse_money("0.004"))]
    assert roundings(told, Window(FEBRUARY, FEBRUARY + 10 * HOUR)) == []
    assert roundings(told, Window(FEBRUARY + 10 * HOUR, MARCH)) == []
    assert roundings(told, Window(JANUARY, FEBRUARY + 10 * HOUR)) == []


def test_a_month_as_far_as_the_log_has_it_is_no_part_of_it() -> None:
    told = ledger(CENTS, (FEBRUARY + HOUR, 1), began=FEBRUARY + HOUR)
    told.at = FEBRUARY + 5 * HOUR
    assert roundings(told, Window(FEBRUARY + HOUR, FEBRUARY + 5 * HOUR)) == [(FEBRUARY, -parse_money("0.003"))]
    assert roundings(told, Window(FEBRUARY + 2 * HOUR, MARCH)) == []
