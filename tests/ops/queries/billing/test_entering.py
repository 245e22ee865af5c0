"""What may be entered: corrections give back what was charged, once."""

import pytest
from msgspec.structs import replace

from events.billing import CorrectionEntered
from events.catalogue import AnyEvent
from events.event import Millis
from events.subjects import CONTROL, FACTS
from events.workload import WorkloadFinished
from ops.queries.billing.entering import check_correction, check_prices
from ops.queries.billing.problems import BillRefused
from ops.queries.billing.reading import ledger_of
from projections.billing.entries.ledger_scope import ALWAYS
from projections.billing.ledger import Ledger
from projections.billing.lines.charged_lines import BilledTo
from projections.billing.lines.totals import bill
from projections.billing.terms.money import decimal
from services.runtime.log_port import Entry
from tests.laws.random_day import a_day
from tests.ops.queries.billing.test_ends_before_reservations import (
    HOUR,
    KEY,
    LET_IN,
    PRICES,
    SUBMITTED,
    commits,
    facts,
)


def correction(**changes: object) -> CorrectionEntered:
    return CorrectionEntered(**{"tenant": "team", "reason": "wrong", "author": "ann", **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def credited() -> tuple[Ledger, str]:
    """A day on which somebody was preempted, and an entry that was given back for it."""
    for seed in range(50):
        day = a_day(seed, lambda *_: None)
        first, _ = ledger_of(day.entries)
        entries = [one.entries[-1].id for one in first.wastes if one.reason == "Preempted"]
        if entries:
            return ledger_of(day.entries, wanted=entries[:1])[0], entries[0]
    raise AssertionError("no day had a preemption")


def test_an_entry_that_a_credit_covers_is_not_corrected(credited: tuple[Ledger, str]) -> None:
    ledger, entry = credited
    for again in ({}, {"since": 1, "until": 2}):
        with pytest.raises(
            BillRefused, match=r"was given back in whole by the credit at DEVICES_default/\d+: .*--allow-neg"
        ):
            check_correction(ledger, correction(entry=entry, **again))
    assert check_correction(ledger, correction(entry=entry, allow_negative=True)).allow_negative


def test_no_amount_gives_back_more_than_was_charged(credited: tuple[Ledger, str]) -> None:
    ledger, _ = credited
    charged = bill(ledger, ALWAYS, ("tenant",), BilledTo(tenants=("team",))).total["EUR"]
    check_correction(ledger, correction(amount=decimal(-charged)))
    with pytest.raises(BillRefused, match=r"team was charged .* in all by now: .* is more than there is to give back"):
        check_correction(ledger, correction(amount=decimal(-charged - 1)))
    check_correction(ledger, correction(amount=decimal(-charged - 1), allow_negative=True))
    check_correction(ledger, correction(amount="1000000"))


def charged_once() -> tuple[list[tuple[Millis, int, tuple[AnyEvent, ...]]], dict[str, list[Entry]], str]:
    """What operators have entered, the log of somebody who held quota for an hour, and the entry of that."""
    told = facts((0, SUBMITTED), (HOUR, WorkloadFinished(workload=KEY, reason="Succeeded")), (2 * HOUR, SUBMITTED))
    log = {FACTS: told, "LOG_0": commits("LOG_0", (0, 1, LET_IN))}
    entered = [(0, 0, (PRICES,))]
    ledger, _ = ledger_of({CONTROL: commits(CONTROL, *entered), **log})
    (entry,) = ledger.quota_entries
    return entered, log, entry.id


def test_an_entry_that_was_given_back_as_an_amount_is_not_given_back_again() -> None:
    entered, log, entry = charged_once()
    given_back = correction(amount="-0.01")
    ledger, _ = ledger_of({CONTROL: commits(CONTROL, *entered, (HOUR, 0, (given_back,))), **log}, wanted=[entry])
    with pytest.raises(BillRefused, match=r"team was charged 0\.00 in all by now, and would come to -0\.01 with entry"):
        check_correction(ledger, correction(entry=entry))
    assert check_correction(ledger, correction(entry=entry, allow_negative=True)).allow_negative
    assert check_correction(ledger, correction(entry=entry, since=0, until=HOUR)).since == 0
    before, _ = ledger_of({CONTROL: commits(CONTROL, *entered), **log}, wanted=[entry])
    assert check_correction(before, correction(entry=entry)).entry == entry


def test_nobody_approves_of_what_he_enters_himself(credited: tuple[Ledger, str]) -> None:
    ledger, _ = credited
    with pytest.raises(
        BillRefused, match=r"^ann enters it: another person approves of it, or --approved-by is left away"
    ):
        check_correction(ledger, correction(amount="1", approved_by=("ben", "ann")))
    allowed = correction(amount="1", approved_by=("ben",))
    assert check_correction(ledger, allowed) == allowed


def test_no_price_list_begins_in_a_month_that_is_closed() -> None:
    ledger, closed = Ledger(), 5 * HOUR
    check_prices(ledger, replace(PRICES, starts=closed), now=9 * HOUR, closed=closed)
    with pytest.raises(
        BillRefused, match="the price list would start at .*, and months are closed until .*: let it start then"
    ):
        check_prices(ledger, replace(PRICES, starts=closed - 1), now=9 * HOUR, closed=closed)
