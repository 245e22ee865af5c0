"""Reads the quantities of recorded containers, nodes and quotas."""

from events.quantity import parse_quantity


def whole_quantities(rows: dict[str, str] | None) -> dict[str, int]:
    """Amounts that are whole numbers; others cannot be asked of cards."""
    found = {name: parse_quantity(text) for name, text in (rows or {}).items()}
    return {name: int(value) for name, value in found.items() if value.denominator == 1}
