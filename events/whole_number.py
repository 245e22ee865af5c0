"""Whole numbers as people write them in labels and annotations."""

_MOST_DIGITS = 18


def whole_number(text: object) -> int | None:
    """The number that a text is, from 0 up; None when it is anything else, or far greater than anything is counted."""
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        return None
    return int(text)


def signed_of_32_bits(text: str) -> int | None:
    """The number of 32 bits, with or without a sign, that a text is; None when it is anything else."""
    number = whole_number(text[1:] if text[:1] in ("+", "-") else text)
    signed = None if number is None else -number if text[0] == "-" else number
    return signed if signed is not None and -(2**31) <= signed < 2**31 else None
