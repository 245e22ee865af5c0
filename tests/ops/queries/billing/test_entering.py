"""What may be entered: corrections give back what was charged, once."""

import pytest

from events.billing import CorrectionEntered
from ops.queries.billing.entering import check_correction
from ops.queries.billing.problems import BillRefused
from ops.queries.billing.reading import ledger_of
from projections.billing.entries.ledger_scope import ALWAYS
from projections.billing.ledger import Ledger
from projections.billing.lines.charged_lines import BilledTo
from projections.billing.lines.totals import bill
from projections.billing.terms.money import decimal
from tests.laws.random_day import a_day


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
