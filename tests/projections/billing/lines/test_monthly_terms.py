"""What is agreed on for whole months: discounts, commitments, minimum charges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from events.billing import Commitment, Discount, LineKind, Meter, MinimumCharge, Price, PriceListSet
from events.timestamp import parse_timestamp
from projections.billing.entries.entry import Window
from projections.billing.ledger import Ledger
from projections.billing.lines.amounts import DueKey
from projections.billing.lines.monthly_terms import monthly_terms
from projections.billing.terms.money import UNIT, parse_money
from projections.log_position import LogPosition

MAY, JUNE = parse_timestamp("2026-05-01T00:00:00Z"), parse_timestamp("2026-06-01T00:00:00Z")
WHOLE = Window(MAY, JUNE)
LIST = PriceListSet(name="p", currency="EUR", starts=MAY, prices=(Price(meter=Meter.CARD, unit_price="1"),))
STEPS = (Discount(name="five", percent="5", above="1000"), Discount(name="ten", percent="10", above="5000"))
PAID = Commitment(name="year", account="team", price="4000", covers="5000")
LEAST = MinimumCharge(amount="100")


def terms(list_: PriceListSet, *owed: tuple[str, str], window: Window = WHOLE) -> list[tuple[str, str, int]]:
    ledger = Ledger()
    ledger.at = JUNE
    ledger.prices.enter(list_, LogPosition(partition="CONTROL", sequence=1, at=MAY))
    due: dict[DueKey, int] = {(account, MAY): parse_money(amount) for account, amount in owed}
    return [(one.payer.account, str(one.kind), one.cost) for one in monthly_terms(ledger, due, window, ())]


def euros(text: str) -> int:
    return parse_money(text)


@pytest.mark.parametrize(
    ("owed", "taken"),
    [("999.99", ()), ("1000", ()), ("3000", ("-100",)), ("5000", ("-200",)), ("7000", ("-200", "-200")), ("-50", ())],
)
def test_each_discount_is_of_what_lies_between_its_beginning_and_that_of_the_next(
    owed: str, taken: tuple[str, ...]
) -> None:
    found = terms(replace(LIST, discounts=STEPS), ("team", owed))
    assert found == [("team", "discount", euros(one)) for one in taken]


def test_who_has_a_discount_of_its_own_has_no_other() -> None:
    own = Discount(name="own", percent="50", account="lab")
    found = terms(replace(LIST, discounts=(*STEPS, own)), ("lab", "2000"), ("team", "2000"))
    assert found == [("lab", "discount", euros("-1000")), ("team", "discount", euros("-50"))]


@pytest.mark.parametrize(
    ("owed", "covered"), [("0", None), ("1200", "-1200"), ("5000", "-5000"), ("6000", "-5000"), ("-3", None)]
)
def test_a_commitment_is_paid_for_in_each_month_and_covers_so_much_of_it(owed: str, covered: str | None) -> None:
    found = terms(replace(LIST, commitments=(PAID,)), ("team", owed))
    expected = [("team", "commitment", euros("4000"))]
    assert found == expected + ([("team", "covered", euros(covered))] if covered else [])


def test_whoever_has_a_commitment_pays_for_it_without_having_used_anything() -> None:
    assert terms(replace(LIST, commitments=(PAID,))) == [("team", "commitment", euros("4000"))]


def test_a_minimum_is_what_the_month_lacks_to_it_after_discounts_and_commitments() -> None:
    both = replace(LIST, discounts=(Discount(name="half", percent="50"),), minimums=(LEAST,))
    assert terms(both, ("team", "120")) == [("team", "discount", euros("-60")), ("team", "minimum", euros("40"))]
    enough = replace(LIST, commitments=(PAID,), minimums=(replace(LEAST, amount="4100", account="team"),))
    assert terms(enough, ("team", "4950"))[-1] == ("team", "minimum", euros("100"))
    assert [kind for _, kind, _ in terms(enough, ("team", "5200"))] == ["commitment", "covered"]


def test_only_whole_months_have_them_and_none_that_the_log_has_not_reached() -> None:
    list_ = replace(LIST, minimums=(replace(LEAST, account="team"),))
    assert terms(list_, window=Window(MAY + 1, JUNE)) == terms(list_, window=Window(MAY, JUNE - 1)) == []
    years = Window(0, JUNE + 400 * 86_400_000)
    assert len(terms(list_, window=years)) == 2, "May, and June, whose first moment the log has reached"


@given(st.integers(-(10**6), 10**6), st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 100)), max_size=4))
def test_no_discount_takes_more_than_there_is_and_more_owed_never_leaves_less_to_pay(
    cents: int, steps: list[tuple[int, int]]
) -> None:
    discounts = tuple(
        Discount(name="d", percent=str(percent), above=str(above)) for above, percent in dict(steps).items()
    )

    def pays(owed: int) -> int:
        text = f"{'-' if owed < 0 else ''}{abs(owed) // 100}.{abs(owed) % 100:02d}"
        return euros(text) + sum(cost for _, _, cost in terms(replace(LIST, discounts=discounts), ("team", text)))

    assert pays(cents) >= min(cents * UNIT // 100, 0)
    assert pays(cents) <= pays(cents + 1)


def test_every_line_says_of_which_month_and_by_which_list_it_is() -> None:
    ledger = Ledger()
    ledger.at = JUNE
    list_ = replace(LIST, minimums=(LEAST,))
    ledger.prices.enter(list_, LogPosition(partition="CONTROL", sequence=7, at=MAY))
    (one,) = monthly_terms(ledger, {("team", MAY): UNIT}, WHOLE, ())
    assert (one.kind, one.booked, one.about, one.place) == (LineKind.MINIMUM, MAY, MAY, "CONTROL/7")
    assert one.text == "The least for a month is 100"
