"""What others wrote, as it may be printed: nothing in it is markup, breaks a line or moves the cursor."""

from rich.markup import escape


def escaped(text: str) -> str:
    """The text on one line; what can't be seen of it is written out."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape", "surrogatepass").decode() for one in text)


def legible(text: str) -> str:
    """The same for a console that reads markup."""
    return escape(escaped(text))
