"""Money and prices as integers of ten-thousand-millionths of the currency, so that no sum depends on its order.

A cost is the exact product of a price and a rational quantity, rounded once, half to even
(docs/rules/billing.md#money).
"""

import re

PLACES = 10
UNIT = 10**PLACES
_FORM = re.compile(r"^(-?)(\d{1,15})(?:\.(\d{1,10}))?$")


class BadAmount(ValueError):
    """A text that is not an amount of money."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no amount: write a plain decimal such as 2.50, with at most {PLACES} places")
        self.text = text


def parse_money(text: str) -> int:
    """An amount from a plain decimal. Raises `BadAmount`."""
    found = _FORM.match(text)
    if found is None:
        raise BadAmount(text)
    sign, whole, rest = found.groups()
    amount = int(whole) * UNIT + int((rest or "").ljust(PLACES, "0"))
    return -amount if sign else amount


def entered_money(text: str) -> int:
    """The same of what somebody enters, in plain digits alone. What stands on a log already is read as it was taken. Raises `BadAmount`."""
    if not text.isascii() or text != text.strip():
        raise BadAmount(text)
    return parse_money(text)


def times(price: int, numerator: int, denominator: int) -> int:
    """A price times a quantity, rounded half to even."""
    return half_even(price * numerator, denominator)


def half_even(numerator: int, denominator: int) -> int:
    """The nearest integer of a fraction with a positive denominator; of two equally near ones the even one."""
    whole, rest = divmod(numerator, denominator)
    twice = 2 * rest
    return whole + (twice > denominator or (twice == denominator and whole % 2 == 1))


def to_minor(amount: int, decimals: int) -> int:
    """The amount rounded to the currency's minor unit."""
    step = 10 ** (PLACES - decimals)
    return half_even(amount, step) * step


def decimal(amount: int, places: int = PLACES, least: int = 0) -> str:
    """An integer of so many places as a plain decimal; zeros at the end go, down to `least` places."""
    sign, (whole, rest) = "-" if amount < 0 else "", divmod(abs(amount), 10**places)
    digits = f"{rest:0{places}d}".rstrip("0").ljust(least, "0") if places else ""
    return f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"


def quotient(numerator: int, denominator: int, places: int) -> str:
    """A fraction as a plain decimal, rounded half to even."""
    return decimal(half_even(numerator * 10**places, denominator), places)
