"""Values as JSON, piece by piece: the whole of a saved world or view may be larger than all that is held otherwise."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

ROWS = 250
"""So many rows of a table are encoded at a time."""
_encoder = msgspec.json.Encoder(order="deterministic")


def _as_it_is(value: Any) -> object:
    return value


def rows_as_json(table: Mapping[str, Any], row: Callable[[Any], object] = _as_it_is) -> Iterator[bytes]:
    """The table as one object in the order of its keys; each value is encoded as `row` makes it of what the table holds."""
    keys = sorted(table)
    yield b"{"
    for start in range(0, len(keys), ROWS):
        rows = _encoder.encode({key: row(table[key]) for key in keys[start : start + ROWS]})
        yield b"," + rows[1:-1] if start else rows[1:-1]
    yield b"}"


def fields_as_json(value: msgspec.Struct, long: Mapping[str, Iterator[bytes]]) -> Iterator[bytes]:
    """The struct as one object, as it is encoded whole, its tables some rows at a time; of the fields in `long` these pieces, in place of what they hold."""
    begin = b"{"
    for field in msgspec.structs.fields(type(value)):
        held = getattr(value, field.name)
        if held is msgspec.UNSET:
            continue
        yield begin + _encoder.encode(field.encode_name) + b":"
        begin = b","
        if field.name in long:
            yield from long[field.name]
        elif isinstance(held, dict):
            yield from rows_as_json(held)  # pyright: ignore[reportUnknownArgumentType] - whatever a table holds
        else:
            yield _encoder.encode(held)
    yield b"}"
