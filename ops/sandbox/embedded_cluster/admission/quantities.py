"""Quantities as the API server stores them: in one form, whatever way they were written."""

from typing import Any

from events.quantity import parse_quantity

_BINARY = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")
_DECIMAL = ("E", "P", "T", "G", "M", "k", "", "m", "u", "n")
_NANO = 10**9
_LEAST_BINARY = 1024


def canonical(text: Any) -> str:
    """The stored form: `20000` becomes `20k`, `0.5` becomes `500m`, `1024Mi` becomes `1Gi`. Raises `BadQuantity`."""
    value = parse_quantity(text)
    if str(text).endswith("i") and value.denominator == 1 and abs(value) >= _LEAST_BINARY:
        whole = value.numerator
        for power, suffix in zip(range(6, 0, -1), _BINARY, strict=True):
            if whole % 2 ** (10 * power) == 0:
                return f"{whole // 2 ** (10 * power)}{suffix}"
        return str(whole)
    # What is less than a billionth is rounded up.
    nano = -((-value.numerator * _NANO) // value.denominator)
    if nano == 0:
        return "0"
    for power, suffix in zip(range(27, -3, -3), _DECIMAL, strict=True):
        if nano % 10**power == 0:
            return f"{nano // 10**power}{suffix}"
    return f"{nano}n"
