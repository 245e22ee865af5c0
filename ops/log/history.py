"""The whole history of a log: its archive and its streams, read as one."""

from collections.abc import AsyncIterator

from events.subjects import CONTROL, FACTS
from ops.audit.archive import read_archive
from ops.audit.errors import ArchiveDamaged, ArchiveOfAnotherLog
from ops.replay import read_all
from ops.wiring import DEVICE_LANE, LANE
from services.log_errors import LogGap, LogRegressed
from services.log_port import Bus, Entry, Stream

STREAMS = (CONTROL, FACTS, LANE, DEVICE_LANE)


async def read_everything(bus: Bus | None = None, archive: str = "") -> dict[str, list[Entry]]:
    """All messages of a bus, an archive, or both: the archive first, then what the bus holds behind it.

    Raises `ArchiveDamaged`, `ArchiveOfAnotherLog`, `LogRegressed` when the bus holds less than the archive, `LogGap`.
    """
    if not archive:
        return await read_all(bus) if bus is not None else {name: [] for name in STREAMS}
    entries, findings = read_archive(archive)
    if findings:
        raise ArchiveDamaged(archive, findings[0])
    found = {name: entries.get(name, []) for name in STREAMS}
    if bus is None:
        return found
    for name, archived in found.items():
        stream = await bus.stream(name)
        if archived:
            await _belongs(stream, archived[-1], archive)
        async for batch in stream.read(len(archived)):
            archived.extend(batch)
    return found


async def read_past_gaps(stream: Stream) -> AsyncIterator[list[Entry]]:
    """All that a stream holds, whatever is missing in between: an audit names each gap and goes on behind it."""
    position = 0
    while True:
        try:
            async for batch in stream.read(position):
                if batch:
                    yield batch
                    position = batch[-1].sequence
        except LogGap as gap:
            if gap.found <= position:
                return
            position = gap.found - 1
            continue
        return


async def _belongs(stream: Stream, last: Entry, archive: str) -> None:
    """The bus goes on where the archive ends, and where both hold a message it is the same one."""
    head = await stream.last()
    if head.sequence < last.sequence:
        raise LogRegressed(
            stream=stream.name, witnessed=last.sequence, found=head.sequence, problem="holds less than its archive"
        )
    try:
        there = await stream.get(last.sequence)
    except LogGap:
        # A stream that was begun anew behind its archive.
        return
    if (there.data, there.message_id) != (last.data, last.message_id):
        raise ArchiveOfAnotherLog(archive, stream.name, last.sequence)
