"""Amounts of budgets as people write them: hours of a resource, or money."""

from events.budget import MONEY_PARTS
from events.quantity import units_per_one
from projections.budgets.budget_usage import HOUR, is_currency

_PLACES = 6


def in_units(resource: str, amount: int) -> str:
    """So much money, or so many hours of a resource, with its name."""
    number = number_of(resource, amount)
    return f"{number} {resource}" if is_currency(resource) else f"{number} hours of {resource}"


def number_of(resource: str, amount: int) -> str:
    """An amount in money, or in unit-hours (CPU in cores), as a plain decimal; of what is no whole number six places, cut off."""
    parts = parts_of(resource)
    sign, whole, rest = "-" if amount < 0 else "", abs(amount) // parts, abs(amount) % parts
    digits = f"{rest * 10**_PLACES // parts:0{_PLACES}d}".rstrip("0")
    return f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"


def parts_of(resource: str) -> int:
    """Into how many parts one of the currency, or one hour of the resource (CPU in cores), is divided where it is counted."""
    return HOUR * (MONEY_PARTS if is_currency(resource) else units_per_one(resource))
