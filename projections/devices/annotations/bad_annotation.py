"""The error of an annotation that cannot be read."""


class BadAnnotation(ValueError):
    """An annotation that is not in HAMi's form; the message names the part that is wrong."""

    def __init__(self, *, key: str, part: str, problem: str) -> None:
        super().__init__(f"annotation {key}: {part!r} {problem}")
        self.key, self.part, self.problem = key, part, problem


_INT32 = 2**31


def whole_number(text: str, *, key: str, part: str) -> int:
    """A 32-bit number that stands in part of an annotation. Raises `BadAnnotation`."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()) or not -_INT32 <= int(text) < _INT32:
        raise BadAnnotation(key=key, part=part, problem=f"has {text!r} where a number belongs")
    return int(text)
