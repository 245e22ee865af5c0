"""Messages of the log that were not folded as they stand: kept in the world, so that every fold reports the same ones."""

import msgspec

from events.authors import known
from projections.trail import Trail


class Amiss(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of one author on one stream that have the same fault."""

    stream: str
    what: str
    """`author`: not folded, because its author may not write such events. `time`: folded, with a time too far ahead corrected."""
    author: str
    count: int
    sequence: int
    """Sequence of the last of them."""
    detail: str


def note_amiss(
    table: dict[str, Amiss], trail: Trail, *, stream: str, sequence: int, what: str, author: str, detail: str
) -> None:
    """Count a message that is not as it should be under its stream, kind and author; the sequence and detail of the last one are kept."""
    author = known(author)
    key = f"{stream}/{what}/{author}"
    before = table.get(key)
    count = before.count + 1 if before is not None else 1
    found = Amiss(stream=stream, what=what, author=author, count=count, sequence=sequence, detail=detail)
    trail.put(table, key, found)


AUTHOR, TIME = "author", "time"
