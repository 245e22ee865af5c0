"""Kubernetes quantities, read exactly: `16Gi`, `1500m`, `4k`, `1e3`."""

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

from events.amount import UNLIMITED

_SUFFIXES: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_FORM = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$", re.ASCII)

_MILLI = 1000


class BadQuantity(ValueError):
    """A text that is not a Kubernetes quantity; write a number with an optional suffix such as m, k, Mi or Gi."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text!r} is not a quantity: write a number with an optional suffix, such as 2, 500m, 16Gi or 4k"
        )
        self.text = text


def units_per_one(resource: str) -> int:
    """In how many units one of a resource is counted: CPU in thousandths, all else whole (docs/rules/quota.md#amounts)."""
    return _MILLI if resource == "cpu" else 1


@lru_cache(maxsize=4096, typed=True)
def parse_quantity(text: str | int | float) -> Fraction:
    """The exact value of a quantity. Raises `BadQuantity`."""
    found = _FORM.match(str(text).strip())
    if found is None or isinstance(text, bool):
        raise BadQuantity(str(text))
    number, exponent, suffix = found.groups()
    try:
        value = Fraction(Decimal(number + (exponent or "")))
    except InvalidOperation as problem:
        raise BadQuantity(str(text)) from problem
    return value * _SUFFIXES[suffix or ""]


def to_units(resource: str, text: str | int | float) -> int:
    """A quantity in the units of its resource: CPU in milli-units, all else whole, rounded up, saturating."""
    return min(ceil_fraction(parse_quantity(text) * units_per_one(resource)), UNLIMITED)


def from_units(resource: str, amount: int) -> str:
    """The text of an amount, as people write it."""
    each = units_per_one(resource)
    if each == _MILLI:
        return str(amount // each) if amount % each == 0 else f"{amount}m"
    if resource in {"memory", "ephemeral-storage"} and amount:
        for suffix in ("Ti", "Gi", "Mi", "Ki"):
            if amount % int(_SUFFIXES[suffix]) == 0:
                return f"{amount // int(_SUFFIXES[suffix])}{suffix}"
    return str(amount)


def ceil_fraction(value: Fraction) -> int:
    """The least whole number not below the value."""
    return -((-value.numerator) // value.denominator)
