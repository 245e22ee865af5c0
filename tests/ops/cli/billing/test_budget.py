"""Approving of more than a budget has: for the period that goes on, and what is over is taken away."""

import pytest

from events.budget import BudgetPeriod
from events.timestamp import parse_timestamp
from ops.cli.billing.budget import with_approval
from services.watcher.fields.budget_text import approvals

NOW = parse_timestamp("2026-11-25T10:00:00Z")


@pytest.mark.parametrize(("period", "day"), [("month", "2026-11"), ("week", "2026-11-23"), ("day", "2026-11-25")])
def test_an_approval_is_for_the_period_that_goes_on(period: str, day: str) -> None:
    annotations = {"kuelog.io/budget": f"100 EUR per {period}"}
    text = with_approval(annotations, "5.50 EUR", "", "ann", NOW)
    assert text == f"{day}: 5.50 EUR by ann"
    more = with_approval({**annotations, "kuelog.io/budget-approved": text}, "cpu=2h", "carl", "ben", NOW)
    assert more == f"{text}; {day}: cpu=2h for carl by ben"
    assert [one.by for one in approvals(more, BudgetPeriod(period))] == ["ann", "ben"]
    later = NOW + 40 * 86_400_000
    assert with_approval({**annotations, "kuelog.io/budget-approved": more}, "1 EUR", "", "x", later).count(";") == 0


@pytest.mark.parametrize(
    "annotations",
    [{}, {"kuelog.io/budget": "much per day"}, {"kuelog.io/budget": "1 EUR per day", "kuelog.io/budget-approved": "x"}],
)
def test_what_can_t_be_approved_of_says_why(annotations: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="budget"):
        with_approval(annotations, "1 EUR", "", "ann", NOW)
