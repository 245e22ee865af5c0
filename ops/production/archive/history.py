"""The whole history of a log: its archive and its streams, read as one."""

from collections.abc import Collection, Mapping, Sequence

import msgspec
import structlog

from events.commit import InputRun
from events.subjects import CONTROL, FACTS
from ops.production.archive.errors import ArchiveDamaged, ArchiveGoesFurther, ArchiveOfAnotherLog, HistoryIncomplete
from ops.production.log.streams import streams_in, streams_on
from services.runtime.control_log import Control
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Bus, Entry, Stream

log = structlog.get_logger()

History = dict[str, list[Entry]]
Paged = dict[str, Sequence[Entry]]
"""The same, where nobody has to hold all of it."""


class _Rests(msgspec.Struct, frozen=True):
    """The part of a commit that says what it rests on; any version can read it."""

    inputs: tuple[InputRun, ...] = ()


_rests = msgspec.json.Decoder(_Rests)


async def read_everything(bus: Bus | None = None, archive: str = "", names: Sequence[str] | None = None) -> History:
    """All messages of a bus, an archive, or both, to a common end: whatever a commit that was read rests on was read too.

    A log grows while it is read, and an archive is signed one stream after the other; so the last commits may rest on what
    is not there yet, and are left for the next time. Raises what `read_stored` raises, and `LogGap` for what a bus has lost.
    """
    found = await read_stored(bus, archive, names)
    lacks = lacking(found)
    if bus is not None and lacks:
        await _read_on(bus, found, archive)
        for stream, upto in lacks.items():
            # It was stored before the commit that rests on it, so it is there by now, or it was lost; a copy may lack it still.
            if _end(found[stream]) < upto and not await is_copied(bus, stream):
                raise LogGap(stream=stream, expected=_end(found[stream]) + 1, found=upto)
    cut: Paged = dict(found)
    cut_to_common_end(cut, warn=bus is None)
    for name, entries in found.items():
        del entries[len(cut[name]) :]
    return found


async def read_stored(bus: Bus | None = None, archive: str = "", names: Sequence[str] | None = None) -> History:
    """All messages of a bus, an archive, or both, of all streams of the log unless some are named.

    The archive comes first, then what the bus holds behind it. Raises `FolderUnreadable`, `ArchiveDamaged`, `ArchiveOfAnotherLog`, `ArchiveGoesFurther`, `HistoryIncomplete`, `LogGap`.
    """
    if names is None:
        said = _archived(archive, (CONTROL,)) if archive else {}
        names = (streams_in(said) if bus is None else await streams_on(bus, said.get(CONTROL, ()))).every
    found = _archived(archive, names) if archive else {name: [] for name in names}
    if bus is not None:
        if archive:
            await _check_goes_on(bus, found, archive)
        await _read_on(bus, found, archive)
    return found


async def end_of(stream: Stream) -> int:
    """The last sequence of a stream, also of one that was begun anew and holds nothing yet."""
    try:
        return (await stream.last()).sequence
    except LogGap as gap:
        return gap.expected


async def is_copied(bus: Bus, stream: str) -> bool:
    """Whether a bus holds a copy of a stream, which comes by itself: what its commits rest on may not be there yet."""
    return (await (await bus.stream(stream)).last()).copied


async def begins_at_one(stream: Stream) -> bool:
    """Whether the first message of a stream is still on the bus."""
    try:
        await stream.get(1)
    except LogGap:
        return False
    return True


def _archived(archive: str, names: Collection[str]) -> History:
    from ops.production.archive.archive import read_archive  # noqa: PLC0415 - who reads no archive needs no Parquet

    entries, findings = read_archive(archive, names)
    if findings:
        raise ArchiveDamaged(archive, findings[0])
    return {name: entries.get(name, []) for name in names}


async def _check_goes_on(bus: Bus, archived: History, archive: str) -> None:
    """Every stream holds what its archive does, as far as both go, and goes at least as far."""
    ends: dict[str, int] = {}
    for name, entries in archived.items():
        stream = await bus.stream(name)
        ends[name] = await end_of(stream)
        last = entries[min(ends[name], len(entries)) - 1] if entries and ends[name] else None
        if last is not None and not await holds(stream, last):
            raise ArchiveOfAnotherLog(archive, name, last.sequence)
    for name, entries in archived.items():
        if ends[name] < len(entries):
            raise ArchiveGoesFurther(archive, name, len(entries), ends[name])


async def holds(stream: Stream, entry: Entry) -> bool:
    """Whether a stream holds the same message at that place, if it holds one: it may have been begun anew behind it."""
    try:
        there = await stream.get(entry.sequence)
    except LogGap:
        return True
    return (there.data, there.message_id) == (entry.data, entry.message_id)


async def _read_on(bus: Bus, found: History, archive: str) -> None:
    """Read every stream on to its end. Inputs come last: what a commit rests on was stored before it."""
    for name in reversed(found):
        have = found[name]
        stream = await bus.stream(name)
        behind = len(have)
        if await end_of(stream) <= behind:
            continue
        try:
            async for batch in stream.read(behind):
                have.extend(batch)
        except LogGap as gap:
            if len(have) > behind or gap.found <= gap.expected:
                raise
            raise HistoryIncomplete(name, behind + 1, gap.found, archive) from gap


def common_ends(tails: History, ends: Mapping[str, int]) -> dict[str, int]:
    """Up to where each stream may be taken so that no commit rests on more than is taken; `tails` are their last messages."""
    found = {name: list(entries) for name, entries in tails.items()}
    upto = dict(ends)
    changed = True
    while changed:
        changed = False
        for name in found:
            early = [sequence for sequence, _ in _resting_on_more(name, found, upto)]
            if early:
                upto[name], changed = min(early) - 1, True
                found[name] = [entry for entry in found[name] if entry.sequence < min(early)]
    return upto


def lacking(found: Mapping[str, Sequence[Entry]]) -> dict[str, int]:
    """How far other streams would have to go for all that was read to have what it rests on."""
    lacks: dict[str, int] = {}
    skipped = Control(found.get(CONTROL, ())).skipped
    ends = {name: _end(entries) for name, entries in found.items()}
    for name in found:
        for sequence, run in _resting_on_more(name, found, ends):
            if (name, sequence) in skipped:
                continue
            lacks[run.stream] = max(run.upto, lacks.get(run.stream, 0))
    return lacks


def cut_to_common_end(found: Paged, *, warn: bool) -> None:
    """Leave out the last commits of a partition that rest on more than was read, and those of others that rest on them."""
    ends = {name: _end(entries) for name, entries in found.items()}
    skipped = Control(found.get(CONTROL, ())).skipped
    changed = True
    while changed:
        changed = False
        for name in found:
            early = [s for s, _ in _resting_on_more(name, found, ends) if (name, s) not in skipped]
            if early:
                found[name] = found[name][: min(early) - 1]
                ends[name], changed = min(early) - 1, True
                if warn:
                    why = "they rest on messages that are not in the archive"
                    log.warning("commits left out", stream=name, first=min(early), last=max(early), why=why)


def _resting_on_more(
    name: str, found: Mapping[str, Sequence[Entry]], ends: Mapping[str, int]
) -> list[tuple[int, InputRun]]:
    """The commits of a partition that rest on more of a stream than was read, the last one first."""
    more: list[tuple[int, InputRun]] = []
    if name in {FACTS, CONTROL}:
        return more
    others = ends.keys() - {name, CONTROL}
    sure: set[str] = set()
    for entry in reversed(found[name]):
        if sure >= others:
            break
        for run in _inputs(entry):
            if run.upto > ends.get(run.stream, run.upto):
                more.append((entry.sequence, run))
            else:
                # Of one stream no commit has seen more than those behind it.
                sure.add(run.stream)
    return more


def _inputs(entry: Entry) -> tuple[InputRun, ...]:
    try:
        return _rests.decode(entry.data).inputs
    except (ValueError, RecursionError):
        # Whoever folds it says what it is.
        return ()


def _end(entries: Sequence[Entry]) -> int:
    return entries[-1].sequence if entries else 0
