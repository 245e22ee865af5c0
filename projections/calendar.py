"""Days, weeks and months in UTC: when the one begins that a time lies in, and when the next one does."""

from events.budget import BudgetPeriod
from events.event import Millis
from events.timestamp import civil_from_days, days_from_civil

DAY: Millis = 86_400_000
_WEEK = 7
_THURSDAY = 3
"""1970 began on a Thursday; weeks begin on Mondays."""


def month_of(at: Millis) -> Millis:
    """When the month (UTC) begins in which a time lies."""
    year, month, _ = civil_from_days(at // DAY)
    return days_from_civil(year, month, 1) * DAY


def month_after(at: Millis) -> Millis:
    """When the month (UTC) after the one of a time begins."""
    year, month, _ = civil_from_days(at // DAY)
    return days_from_civil(year + month // 12, month % 12 + 1, 1) * DAY


def begin(period: BudgetPeriod, at: Millis) -> Millis:
    """When the day, week (from Monday) or month (all in UTC) of a budget begins in which a time lies."""
    match period:
        case BudgetPeriod.DAY:
            return at // DAY * DAY
        case BudgetPeriod.WEEK:
            days = at // DAY
            return (days - (days + _THURSDAY) % _WEEK) * DAY
        case BudgetPeriod.MONTH:
            return month_of(at)


def end(period: BudgetPeriod, at: Millis) -> Millis:
    """The beginning of the next period."""
    match period:
        case BudgetPeriod.DAY:
            return begin(period, at) + DAY
        case BudgetPeriod.WEEK:
            return begin(period, at) + _WEEK * DAY
        case BudgetPeriod.MONTH:
            return month_after(at)
