"""The error of an annotation that cannot be read."""


class BadAnnotation(ValueError):
    """An annotation that is not in HAMi's form; the message names the part that is wrong."""

    def __init__(self, *, key: str, part: str, problem: str) -> None:
        super().__init__(f"annotation {key}: {part!r} {problem}")
        self.key, self.part, self.problem = key, part, problem


_INT32, _DIGITS, _SHOWN = 2**31, 10, 80


def whole_number(text: str, *, key: str, part: str) -> int:
    """A 32-bit number that stands in part of an annotation. Raises `BadAnnotation`."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    short = digits.lstrip("0") or digits[-1:]
    if not (short.isascii() and short.isdigit()) or len(short) > _DIGITS:
        raise _no_number(text, key, part)
    number = -int(short) if text[:1] == "-" else int(short)
    if not -_INT32 <= number < _INT32:
        raise _no_number(text, key, part)
    return number


def _no_number(text: str, key: str, part: str) -> BadAnnotation:
    return BadAnnotation(key=key, part=part[:_SHOWN], problem=f"has {text[:_SHOWN]!r} where a number belongs")
