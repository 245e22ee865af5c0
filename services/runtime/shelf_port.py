"""The port to the shelf, where saved worlds and views are kept for restarts: beside the log, and checked against it."""

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from services.runtime.packed import Packed


class ShelfLabel(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The label of a saved world or view, with its content where that was asked for."""

    key: str
    """The partition whose world it is, or `watcher` for its view."""
    upto: dict[str, int]
    """By stream the last sequence that is folded in it."""
    rules: str
    sha256: str
    data: bytes = b""
    """Empty where only the label was asked for."""


class Shelf(Protocol):
    """Keeps the two newest saved worlds or views of each key."""

    async def prepare(self) -> None:
        """Make sure that there is a place for it. Raises `LogUnavailable`."""
        ...

    async def put(self, key: str, kept: Packed | Iterable[bytes], *, upto: Mapping[str, int], rules: str) -> None:
        """Keep one more, in place of the older of the two: pieces, if nobody changes meanwhile what they are made from. Raises `LogUnavailable`."""
        ...

    async def labels(self, key: str) -> list[ShelfLabel]:
        """What is kept, the newest first, without its content. Raises `LogUnavailable`."""
        ...

    async def take(self, label: ShelfLabel) -> bytes | None:
        """The content of what a label names; None when it is not whole. Raises `LogUnavailable`."""
        ...
