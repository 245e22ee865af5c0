"""Why claims can't be counted, worded as Kueue words errors about fields."""

from collections.abc import Sequence


class CannotCount(Exception):
    """What pods claim can't be counted; the messages say why, each with its field."""

    def __init__(self, *messages: str) -> None:
        super().__init__(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")


def invalid(path: str, value: str, detail: str) -> str:
    """A field that says what it may not say; an empty value where there is none to show, as Kubernetes words it."""
    shown = f'"{value}"' if value else "null"
    return f"{path}: Invalid value: {shown}: {detail}"


def not_found(path: str, what: str) -> str:
    """A field that names what there is not."""
    return f'{path}: Not found: "{what}"'


def internal(path: str, detail: str) -> str:
    """What may be otherwise without a change of the field: it is looked at again when what it rests on changes."""
    return f"{path}: Internal error: {detail}"


def raise_if_any(messages: Sequence[str]) -> None:
    """Raise `CannotCount` with the messages, each once, if there are any."""
    if messages:
        raise CannotCount(*dict.fromkeys(messages))
