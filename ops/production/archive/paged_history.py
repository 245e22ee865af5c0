"""The whole history of a log, archive and streams as one, a page at a time: for whoever goes through it in its order.

It is what `read_everything` reads, to the same common end and with the same errors; what is wrong with a file of the archive is
raised when that file is read.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

from events.subjects import CONTROL
from ops.production.archive.errors import ArchiveGoesFurther, ArchiveOfAnotherLog, HistoryIncomplete
from ops.production.archive.history import Paged, cut_to_common_end, end_of, holds, is_copied, lacking
from ops.production.log.paged import PAGE, Pages
from ops.production.log.past_gaps import read_past_gaps
from ops.production.log.streams import streams_in, streams_on
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Bus, Entry, Stream

if TYPE_CHECKING:
    from ops.production.archive.archive_pages import ArchivePages

T = TypeVar("T")


class Waits:
    """Waits, in a thread of its own, for what happens on the event loop of a bus."""

    def __init__(self, wait: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._wait = wait

    def __call__(self, what: Coroutine[Any, Any, T]) -> T:
        """The result of the coroutine."""
        return self._wait(what)


def open_everything(
    wait: Waits, bus: Bus | None = None, archive: str = "", names: Sequence[str] | None = None
) -> Paged:
    """All messages of a bus, an archive, or both, of all streams of the log unless some are named, to a common end.

    Raises what `read_everything` raises."""
    if names is None:
        said = _archived(CONTROL, _pages(archive, (CONTROL,)))
        names = (streams_in({CONTROL: said}) if bus is None else wait(streams_on(bus, said))).every
    found = open_stored(wait, bus, archive, names)
    if bus is not None and (lacks := lacking(found)):
        # It was stored before the commit that rests on it, so it is there by now, or it was lost; a copy may lack it still.
        ends = {name: len(entries) for name, entries in found.items()}
        for stream, upto in lacks.items():
            end = wait(_end(bus, stream))
            if end < upto and not wait(is_copied(bus, stream)):
                raise LogGap(stream=stream, expected=end + 1, found=upto)
            ends[stream] = min(end, upto)
        found = open_stored(wait, bus, archive, names, ends)
    cut_to_common_end(found, warn=bus is None)
    return found


def open_stored(
    wait: Waits, bus: Bus | None, archive: str, names: Sequence[str], ends: Mapping[str, int] | None = None
) -> Paged:
    """All messages of a bus, an archive, or both, up to `ends` where they are given."""
    archived = _pages(archive, names)
    if bus is None:
        return {name: _archived(name, archived) for name in names}
    streams = {name: wait(bus.stream(name)) for name in names}
    if archived is not None:
        _check_goes_on(wait, streams, archived, archive)
    found: dict[str, Sequence[Entry]] = {}
    # Inputs come last: what a commit rests on was stored before it.
    for name in reversed(names):
        behind = archived.end(name) if archived is not None else 0
        end = ends[name] if ends is not None else wait(end_of(streams[name]))
        found[name] = _stream(wait, streams[name], end, behind, archived)
        if end > behind:
            try:
                found[name][behind]
            except LogGap as gap:
                raise HistoryIncomplete(name, behind + 1, gap.found, archive) from gap
    return {name: found[name] for name in names}


class PastGaps(Iterable[Entry]):
    """All that a stream of the bus holds, whatever is missing in between; read anew whenever it is gone through."""

    def __init__(self, wait: Waits, stream: Stream) -> None:
        self._wait, self._stream = wait, stream

    def __iter__(self) -> Iterator[Entry]:
        batches = read_past_gaps(self._stream)
        try:
            while batch := self._wait(_next(batches)):
                yield from batch
        finally:
            self._wait(_close(batches))


async def _next(batches: AsyncGenerator[list[Entry], None]) -> list[Entry]:
    return await anext(batches, [])


async def _close(batches: AsyncGenerator[list[Entry], None]) -> None:
    await batches.aclose()


def _pages(archive: str, names: Sequence[str]) -> "ArchivePages | None":
    """The archive, if one is named."""
    if not archive:
        return None
    from ops.production.archive.archive_pages import ArchivePages  # noqa: PLC0415 - who reads no archive needs no Parquet

    return ArchivePages(archive, names)


def _archived(name: str, archived: "ArchivePages | None") -> Sequence[Entry]:
    return () if archived is None else Pages(name, archived.end(name), lambda sequence: archived.page(name, sequence))


def _stream(wait: Waits, stream: Stream, end: int, behind: int, archived: "ArchivePages | None") -> Pages:
    def load(sequence: int) -> list[Entry]:
        if archived is not None and sequence <= archived.end(stream.name):
            return archived.page(stream.name, sequence)
        first = max((sequence - 1) // PAGE * PAGE + 1, behind + 1)
        try:
            return wait(_page(stream, first - 1, min(first - 1 + PAGE, end)))
        except LogGap:
            if archived is None:
                raise
            # It may have been rolled since: then it is in the archive by now.
            archived.refresh()
            if sequence > archived.end(stream.name):
                raise
            return archived.page(stream.name, sequence)

    return Pages(stream.name, end, load)


async def _page(stream: Stream, after: int, upto: int) -> list[Entry]:
    found: list[Entry] = []
    async with aclosing(stream.read(after)) as batches:  # pyright: ignore[reportArgumentType] - a stream reads by a generator
        async for batch in batches:
            found.extend(entry for entry in batch if entry.sequence <= upto)
            if batch and batch[-1].sequence >= upto:
                break
    return found


async def _end(bus: Bus, name: str) -> int:
    return await end_of(await bus.stream(name))


def _check_goes_on(wait: Waits, streams: Mapping[str, Stream], archived: "ArchivePages", archive: str) -> None:
    """Every stream holds what its archive does, as far as both go, and goes at least as far."""
    ends = {name: wait(end_of(stream)) for name, stream in streams.items()}
    for name, stream in streams.items():
        both = min(ends[name], archived.end(name))
        if both:
            entry = _archived(name, archived)[both - 1]
            if not wait(holds(stream, entry)):
                raise ArchiveOfAnotherLog(archive, name, entry.sequence)
    for name, end in ends.items():
        if end < archived.end(name):
            raise ArchiveGoesFurther(archive, name, archived.end(name), end)
