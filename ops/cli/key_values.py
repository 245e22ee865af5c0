"""An option of the form KEY=VALUE[,KEY=VALUE]."""

import typer


def key_values(option: str, text: str, *, may_be_empty: bool = False) -> dict[str, str]:
    """The values by key; a value may be empty only where that means something. Raises `typer.BadParameter`."""
    found: dict[str, str] = {}
    for one in (part.strip() for part in text.split(",") if part.strip()):
        name, equals, value = one.partition("=")
        if not (name and equals and (value or may_be_empty)):
            raise typer.BadParameter(f"{option}: {one!r} is not of the form KEY=VALUE")
        found[name] = value
    return found
