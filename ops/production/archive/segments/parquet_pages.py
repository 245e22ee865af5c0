"""What the pages of a Parquet file say of their own size: a file whose list of contents lies about it is found out before it is unpacked.

A header is a struct in Thrift's compact protocol, right before its page; field 2 says how large the page is unpacked, field 3 how large
it is here.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ops.files.reading import DEPTH_AT_MOST, Unreadable

_UNPACKED, _PACKED = 2, 3
_MORE = 0x80
"""A byte of a number that has more of them behind it."""
_LONG_ROW = 15
_MOST_BITS = 63


class Page(NamedTuple):
    """Where a page begins, and its sizes."""

    begin: int
    packed: int
    unpacked: int


def pages_of(data: bytes, begin: int, end: int) -> Iterator[Page]:
    """The pages of a column between two places of a file. Raises `Unreadable`."""
    at = begin
    try:
        while at < end:
            reader = _Reader(data, at)
            sizes = reader.struct()
            page = Page(reader.at, sizes[_PACKED], sizes[_UNPACKED])
            if min(page.packed, page.unpacked) < 0:
                raise Unreadable(f"its page at {at} says that it has less than no bytes")
            yield page
            at = page.begin + page.packed
    except (IndexError, KeyError) as problem:
        raise Unreadable(f"there is no page at {at}, where one has to be") from problem


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self._data, self.at = data, at

    def struct(self, depth: int = 0) -> dict[int, int]:
        """The integers among the fields of a struct, by their number."""
        if depth > DEPTH_AT_MOST:
            raise Unreadable("the header of a page is nested too deep")
        found: dict[int, int] = {}
        number = 0
        while (head := self._byte()) != 0:
            kind, step = head & 15, head >> 4
            number = number + step if step else self._integer()
            value = self._value(kind, depth)
            if value is not None:
                found[number] = value
        return found

    def _value(self, kind: int, depth: int) -> int | None:
        match kind:
            case 1 | 2:  # true and false stand in the kind
                return None
            case 3:  # a byte
                self._byte()
            case 4 | 5 | 6:  # integers of 16, 32 and 64 bits
                return self._integer()
            case 7:  # a double
                self.at += 8
            case 8:  # bytes
                length = self._plain()
                self.at += length
            case 9 | 10:  # a list or a set
                self._row(depth)
            case 12:
                self.struct(depth + 1)
            case _:
                raise Unreadable(f"the header of a page has a field of a kind {kind}")
        return None

    def _row(self, depth: int) -> None:
        head = self._byte()
        count, kind = head >> 4, head & 15
        if count == _LONG_ROW:
            count = self._plain()
        for _ in range(count):
            if kind in (1, 2):
                self._byte()
            else:
                self._value(kind, depth + 1)

    def _integer(self) -> int:
        value = self._plain()
        return (value >> 1) ^ -(value & 1)

    def _plain(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & ~_MORE) << shift
            shift += 7
            if not byte & _MORE:
                return value
            if shift > _MOST_BITS:
                raise Unreadable("the header of a page holds a number without end")

    def _byte(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        return byte
