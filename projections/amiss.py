"""What was found on the log that was not folded as it stands: on record, so that everybody who folds it says the same."""

import msgspec

from events.authors import known
from projections.trail import Trail


class Amiss(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of one author on one stream with which the same is amiss."""

    stream: str
    what: str
    """`author`: not folded, because it is not its author's to say. `time`: folded with its time brought back."""
    author: str
    count: int
    sequence: int
    """The last of them."""
    detail: str


def note_amiss(
    table: dict[str, Amiss], trail: Trail, *, stream: str, sequence: int, what: str, author: str, detail: str
) -> None:
    """Record one such message."""
    author = known(author)
    key = f"{stream}/{what}/{author}"
    before = table.get(key)
    count = before.count + 1 if before is not None else 1
    found = Amiss(stream=stream, what=what, author=author, count=count, sequence=sequence, detail=detail)
    trail.put(table, key, found)


AUTHOR, TIME = "author", "time"
