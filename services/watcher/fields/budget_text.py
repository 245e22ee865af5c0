"""Budgets, their policies, prices and approvals as people write them in annotations; numbers are exact decimals.

Rule: docs/rules/budgets.md#written
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from msgspec.structs import replace

from events.budget import (
    MONEY_PARTS,
    PRICE_PARTS,
    AtTheEnd,
    Budget,
    BudgetLimits,
    BudgetPeriod,
    BudgetPrice,
    MoreApproved,
    RunningAtTheEnd,
)
from events.event import Millis
from events.quantity import units_per_one
from events.timestamp import civil_from_days, days_from_civil
from projections.budgets.budget_usage import is_currency
from projections.calendar import DAY, begin

BUDGET_EXAMPLE = (
    '"nvidia.com/gpu=500h per month" or "5000.50 EUR, cpu=0.5h per day": unit-hours per resource and money, with at most 5 places '
    "(of money 6) behind the point, per day, week or month"
)
LIMITS_EXAMPLE = '"100 EUR, nvidia.com/gpu=20h": as in a budget, whose period it is, without the period'
POLICY_EXAMPLE = (
    '"end=Ask, running=Stop, thresholds=50%/80%, carryOver=25%": end is Hold, Warn or Ask; running is Continue or Stop, and Continue '
    "where end is Warn; percentages are whole numbers from 1 to 100 (of carryOver up to 1000)"
)
PRICES_EXAMPLE = '"nvidia.com/gpu=2.50 EUR, nvidia.com/gpu@a100=4 EUR, cpu=0.03 EUR": a price an hour, by resource or resource@flavor'
APPROVED_EXAMPLE = '"2026-11: 500 EUR by ann; 2026-11: nvidia.com/gpu=20h for carl by ben": the period (of days and weeks its first day), how much more, and who says so'

_FORM = re.compile(r"^\s*(.+?)\s+per\s+(day|week|month)\s*$")
_HOURS = re.compile(r"^\s*([A-Za-z0-9./_-]+)\s*=\s*(\d{1,15})(?:\.(\d{1,5}))?h\s*$")
_MONEY = re.compile(r"^\s*(\d{1,12})(?:\.(\d{1,6}))?\s+([A-Z]{3})\s*$")
_PRICE = re.compile(r"^\s*([A-Za-z0-9./_-]+)(?:@([a-z0-9.-]+))?\s*=\s*(\d{1,12}(?:\.\d{1,10})?)\s+([A-Z]{3})\s*$")
_APPROVED = re.compile(r"^\s*(\d{4})-(\d\d)(?:-(\d\d))?\s*:\s*(.+?)(?:\s+for\s+(\S+))?\s+by\s+(\S+)\s*$")
_PERCENT = re.compile(r"^(\d{1,4})%$")
_WHOLE, _MOST_CARRIED = 100, 1000


def budget(text: str) -> Budget:
    """A budget from its text. Raises ValueError."""
    found = _FORM.match(text)
    if found is None:
        raise ValueError(text)
    limits = budget_limits(found.group(1))
    return Budget(period=BudgetPeriod(found.group(2)), limits=limits.limits, scale=limits.scale)


def budget_limits(text: str) -> BudgetLimits:
    """Limits without a period. Raises ValueError."""
    parts = [_limit(part) for part in text.split(",")]
    scale = max(places for _, _, places in parts)
    limits = {name: amount * (1 if money else 10 ** (scale - places)) for (name, money), amount, places in parts}
    if len(limits) < len(parts):
        raise ValueError(text)
    return BudgetLimits(limits=dict(sorted(limits.items())), scale=10**scale)


def with_policy(found: Budget, text: str) -> Budget:
    """A budget with what is to become of workloads at its end. Raises ValueError."""
    named: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (one.strip() for one in part.partition("="))
        if not equals or name in named or name not in _POLICIES:
            raise ValueError(text)
        named[name] = value
    thresholds = found.thresholds
    if "thresholds" in named:
        thresholds = tuple(sorted({_percent(one, _WHOLE) for one in named["thresholds"].split("/")}))
    with_it = replace(
        found,
        at_end=AtTheEnd(named.get("end", found.at_end)),
        running=RunningAtTheEnd(named.get("running", found.running)),
        thresholds=thresholds,
        carry_over=_percent(named["carryOver"], _MOST_CARRIED) if "carryOver" in named else found.carry_over,
    )
    if with_it.at_end is AtTheEnd.WARN and with_it.running is RunningAtTheEnd.STOP:
        raise ValueError(text)
    return with_it


def prices(text: str) -> tuple[BudgetPrice, ...]:
    """The prices that budgets in money go by. Raises ValueError."""
    rows = list(_prices(text))
    if len({(one.resource, one.flavor, one.currency) for one in rows}) < len(rows):
        raise ValueError(text)
    return tuple(rows)


def approvals(text: str, period: BudgetPeriod) -> tuple[MoreApproved, ...]:
    """What somebody has approved of on top of a budget of that period. Raises ValueError."""
    return tuple(_approved(part, period) for part in text.split(";") if part.strip())


def _limit(text: str) -> tuple[tuple[str, bool], int, int]:
    """Resource or currency and whether it is one, the amount in parts, and how many places behind the point these are."""
    money = _MONEY.match(text)
    if money is not None:
        whole, rest, currency = money.groups()
        return (currency, True), int(whole) * MONEY_PARTS + int((rest or "").ljust(6, "0")), 0
    hours = _HOURS.match(text)
    if hours is None or is_currency(hours.group(1)):
        raise ValueError(text)
    resource, whole, rest = hours.groups()
    places = len(rest or "")
    amount = int(whole + (rest or "")) * units_per_one(resource)
    return (resource, False), amount, places


def _prices(text: str) -> Iterator[BudgetPrice]:
    for part in text.split(","):
        found = _PRICE.match(part)
        if found is None:
            raise ValueError(text)
        resource, flavor, price, currency = found.groups()
        parts = int(Decimal(price) * PRICE_PARTS)
        yield BudgetPrice(resource=resource, flavor=flavor or "", currency=currency, price=parts)


def _approved(text: str, period: BudgetPeriod) -> MoreApproved:
    found = _APPROVED.match(text)
    if found is None:
        raise ValueError(text)
    year, month, day, more, user, by = found.groups()
    began = _date(int(year), int(month), int(day or 1))
    if begin(period, began) != began or (day is None) is not (period is BudgetPeriod.MONTH):
        raise ValueError(text)
    return MoreApproved(began=began, more=budget_limits(more), user=user or "", by=by)


def _date(year: int, month: int, day: int) -> Millis:
    days = days_from_civil(year, month, day)
    if civil_from_days(days) != (year, month, day):
        raise ValueError(f"{year}-{month}-{day}")
    return days * DAY


def _percent(text: str, most: int) -> int:
    found = _PERCENT.match(text.strip())
    if found is None or not 1 <= int(found.group(1)) <= most:
        raise ValueError(text)
    return int(found.group(1))


_POLICIES = frozenset({"end", "running", "thresholds", "carryOver"})
