"""The leaves of a stream as they lie in their file, one behind the other: a long log has millions, and few are looked at twice."""

from collections.abc import Iterator, Sequence
from typing import overload

from events.merkle import SIZE


class Leaves(Sequence[bytes]):
    """The first `count` leaves of a file of leaves, or all that are whole; the leaf of sequence n stands at index n - 1."""

    def __init__(self, kept: bytes | bytearray | memoryview = b"", count: int | None = None) -> None:
        whole = len(kept) // SIZE
        self._kept = memoryview(kept)[: SIZE * (whole if count is None else min(whole, count))]

    def __len__(self) -> int:
        return len(self._kept) // SIZE

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> "Leaves": ...

    def __getitem__(self, index: int | slice) -> "bytes | Leaves":
        if isinstance(index, slice):
            part = range(len(self))[index]
            if part.step != 1:
                raise ValueError("leaves are read in their order")
            return Leaves(self._kept[part.start * SIZE : max(part.start, part.stop) * SIZE])
        begin = range(len(self))[index] * SIZE
        return bytes(self._kept[begin : begin + SIZE])

    def __iter__(self) -> Iterator[bytes]:
        kept = self._kept
        return (bytes(kept[begin : begin + SIZE]) for begin in range(0, len(kept), SIZE))
