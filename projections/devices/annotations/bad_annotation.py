"""The error of an annotation that cannot be read."""

from events.whole_number import signed_of_32_bits


class BadAnnotation(ValueError):
    """An annotation that is not in HAMi's form; the message names the part that is wrong."""

    def __init__(self, *, key: str, part: str, problem: str) -> None:
        super().__init__(f"annotation {key}: {part!r} {problem}")
        self.key, self.part, self.problem = key, part, problem


_SHOWN = 80


def number_of_32_bits(text: str, *, key: str, part: str) -> int:
    """A 32-bit number that stands in part of an annotation. Raises `BadAnnotation`."""
    sign = text[:1] if text[:1] in ("-", "+") else ""
    digits = text.removeprefix(sign)
    # However many zeros stand before it.
    number = signed_of_32_bits(sign + (digits.lstrip("0") or "0" if digits.isdigit() else digits))
    if number is None:
        raise BadAnnotation(key=key, part=part[:_SHOWN], problem=f"has {text[:_SHOWN]!r} where a number belongs")
    return number
