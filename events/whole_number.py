"""Whole numbers as people write them in labels and annotations."""

_MOST_DIGITS = 18


def whole_number(text: object) -> int | None:
    """The number that a text is, from 0 up; None when it is anything else, or far greater than anything is counted."""
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        return None
    return int(text)
