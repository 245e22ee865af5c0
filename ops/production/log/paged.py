"""A stored stream as a row of messages of which only a page or two are held: read from archive and bus as it is asked for.

Whoever goes through a log from its beginning to its end, or looks at its ends, needs no more memory for a long one than for a
short one. The message of sequence n stands at index n - 1.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import overload

from services.runtime.log_errors import LogGap
from services.runtime.log_port import Entry

PAGE = 5_000
_HELD = 2
"""How many pages are held: a reader looks back or ahead by a few messages at most."""
Load = Callable[[int], list[Entry]]


class Pages(Sequence[Entry]):
    """The messages 1 to `end` of a stream; `load` gives the page that holds a sequence, as one run without a gap."""

    def __init__(self, stream: str, end: int, load: Load) -> None:
        self._stream, self._end, self._load = stream, end, load
        self._held: list[list[Entry]] = []

    def __len__(self) -> int:
        return self._end

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return EntrySlice(self, range(self._end)[index])
        sequence = range(1, self._end + 1)[index]
        page = self._page(sequence)
        return page[sequence - page[0].sequence]

    def __iter__(self) -> Iterator[Entry]:
        return self.run(1, self._end)

    def __reversed__(self) -> Iterator[Entry]:
        return (self[index] for index in reversed(range(self._end)))

    def run(self, first: int, last: int) -> Iterator[Entry]:
        """The messages from one sequence to another."""
        while first <= last:
            page = self._page(first)
            begin = first - page[0].sequence
            yield from islice(page, begin, begin + last + 1 - first)
            first = page[-1].sequence + 1

    def _page(self, sequence: int) -> list[Entry]:
        for page in self._held:
            if page[0].sequence <= sequence <= page[-1].sequence:
                return page
        page = self._load(sequence)
        if not page or not page[0].sequence <= sequence <= page[-1].sequence:
            raise LogGap(stream=self._stream, expected=sequence, found=page[0].sequence if page else 0)
        self._held = [page, *self._held[: _HELD - 1]]
        return page


class EntrySlice(Sequence[Entry]):
    """Some of the messages of a stream, one behind the other."""

    def __init__(self, whole: Pages, indices: range) -> None:
        if indices.step != 1:
            raise ValueError("messages are read in their order")
        self._whole, self._indices = whole, indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return EntrySlice(self._whole, self._indices[index])
        return self._whole[self._indices[index]]

    def __iter__(self) -> Iterator[Entry]:
        return self._whole.run(self._indices.start + 1, self._indices.stop)

    def __reversed__(self) -> Iterator[Entry]:
        return (self._whole[index] for index in reversed(self._indices))
