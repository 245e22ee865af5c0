"""Archives: copies of the log as Parquet segments with the proof beside them, read back before they count.

An archive is a witness folder with the messages in it: keys.json, heads.json and leaves as a witness keeps them, a
Parquet file per segment, and archive.json, which lists the segments and is written last.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Annotated

import msgspec

from events.merkle import SIZE, leaf_hash
from ops.production.archive.errors import ArchiveDamaged, ArchiveOfAnotherLog, LogDiffers
from ops.production.archive.finding import AuditFinding
from ops.production.archive.folder import Folder
from ops.production.archive.proof.checkpoint import MOST, Checkpoint
from ops.production.archive.proof.evidence import Evidence, judge, load_evidence, prefix_agrees, save_evidence
from ops.production.archive.proof.leaves import Leaves
from ops.production.archive.proof.witness import HEADS, leaves_name
from ops.production.archive.segments.parquet_reading import FileBounds
from ops.production.archive.segments.parts import files_of, parts_of
from ops.production.archive.segments.segment import (
    DEFAULT_BOUNDS,
    SegmentUnreadable,
    check_segment,
    file_hash,
    from_parquet,
    size_of,
    to_parquet,
)
from services.runtime.log_port import Bus, Entry

LIST = "archive.json"
Progress = Callable[[str], None]


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One file of an archive: the messages `first` to `last` of a stream."""

    stream: str
    first: Annotated[int, msgspec.Meta(ge=1, le=MOST)]
    last: Annotated[int, msgspec.Meta(ge=1, le=MOST)]
    file: str
    sha256: str
    bytes: Annotated[int, msgspec.Meta(ge=0)] = 0
    """How many bytes its messages have, unpacked; 0 in archives of before."""

    @property
    def bounds(self) -> FileBounds:
        """How much its file may hold: twice what the list says, so that additions can be read and named."""
        rows = min(2 * (self.last - self.first + 1), DEFAULT_BOUNDS.rows)
        return FileBounds(
            rows=rows, bytes=min(2 * self.bytes, DEFAULT_BOUNDS.bytes) if self.bytes else DEFAULT_BOUNDS.bytes
        )


def segments_of(folder: Folder) -> list[Segment]:
    """The segments of an archive in order; none when there is no archive yet. Raises `FolderUnreadable`."""
    data = folder.read(LIST)
    if data is None:
        return []
    return folder.decoded(LIST, data, list[Segment])


def read_archive(url: str, streams: Collection[str] = ()) -> tuple[dict[str, list[Entry]], list[AuditFinding]]:
    """All messages of an archive, or those of some streams, and what is wrong with its files. Raises `FolderUnreadable`."""
    folder = Folder(url)
    segments = needed_segments(folder)
    entries: dict[str, list[Entry]] = {}
    findings = not_listed(folder, segments)
    for segment in segments:
        if streams and segment.stream not in streams:
            continue
        found, problem = read_segment(folder, segment)
        entries.setdefault(segment.stream, []).extend(found)
        if problem:
            findings.append(finding_of(segment, problem))
    return entries, findings


def listed(url: str) -> list[Segment]:
    """The segments of an archive, none of which is missing in its list. Raises `FolderUnreadable`, `ArchiveDamaged`."""
    folder = Folder(url)
    segments = needed_segments(folder)
    for finding in not_listed(folder, segments):
        raise ArchiveDamaged(url, finding)
    return segments


def check_files(url: str) -> list[Segment]:
    """Hold every file of an archive against its hash; the segments, for whoever reads them otherwise than by `read_archive`.

    Raises `FolderUnreadable`, `ArchiveDamaged`.
    """
    folder, segments = Folder(url), listed(url)
    for segment in segments:
        data = folder.read(segment.file)
        if data is None or file_hash(data) != segment.sha256:
            raise ArchiveDamaged(url, finding_of(segment, read_segment(folder, segment)[1]))
        try:
            # Besides the messages there are columns that follow from them, which may name all of it once more.
            check_segment(data, FileBounds(rows=segment.bounds.rows, bytes=2 * segment.bounds.bytes))
        except SegmentUnreadable as unreadable:
            raise ArchiveDamaged(url, finding_of(segment, f"can't be read: {unreadable}")) from unreadable
    return segments


def read_segment(folder: Folder, segment: Segment) -> tuple[list[Entry], str]:
    """The messages of a segment as far as they can be read, and what is wrong with its file, with the row where it begins."""
    data = folder.read(segment.file)
    if data is None:
        return [], "is not there"
    other = "" if file_hash(data) == segment.sha256 else "is not the file that was archived"
    try:
        entries = from_parquet(data, segment.bounds)
    except SegmentUnreadable as unreadable:
        return [], f"{other} and can't be read: {unreadable}" if other else f"can't be read: {unreadable}"
    row = _wrong_row(entries, segment, folder.read(leaves_name(segment.stream)) or b"" if other else b"")
    if other:
        return entries, f"{other}: {row or 'its rows are, so it is what stands beside them, or its hash in the list'}"
    return entries, row


def write_archive(
    entries: Mapping[str, Iterable[Entry]], evidence: Evidence, url: str, report: Progress = lambda _: None
) -> list[Segment]:
    """Copy everything that stands under a checkpoint and is not archived yet; the segments that are new.

    The log has been audited against the evidence before. Each message is held against the leaf that was signed, and each file
    is read back and compared before it is listed. Raises `ArchiveOfAnotherLog`, `ArchiveDamaged`, `LogDiffers`.
    """
    folder = Folder(url)
    known = segments_of(folder)
    _same_log(folder, evidence)
    fresh: list[Segment] = []
    for stream, head in sorted(evidence.heads.items()):
        begin = max((one.last for one in known if one.stream == stream), default=0)
        signed, record = islice(entries[stream], begin, head.sequence), Leaves(evidence.leaves[stream], head.sequence)
        for part in files_of(signed):
            wrong = _not_signed(stream, part, record)
            if wrong is not None:
                raise LogDiffers(wrong)
            fresh.append(_put(folder, stream, part))
            report(f"{stream} {fresh[-1].first}–{fresh[-1].last}")
    # The list before the checkpoints: a crash between them leaves messages behind a checkpoint, never one without them.
    folder.write(LIST, msgspec.json.encode([*known, *fresh], order="deterministic"))
    save_evidence(evidence, folder)
    return fresh


async def archive_signed(bus: Bus, evidence: Evidence, url: str, report: Progress = lambda _: None) -> list[Segment]:
    """Copy everything that stands under a checkpoint and is not archived yet, a file at a time; the segments that are new.

    Each message is held against the leaf that was signed, and each file is read back and compared before it is listed.
    Raises `ArchiveOfAnotherLog`, `ArchiveDamaged`, `LogDiffers`, `LogGap`.
    """
    folder = Folder(url)
    known = segments_of(folder)
    judged = await asyncio.to_thread(judge, evidence)
    for finding in judged.findings:
        raise LogDiffers(finding)
    await asyncio.to_thread(_same_log, folder, evidence)
    fresh: list[Segment] = []
    for name, head in sorted(judged.heads.items()):
        begin = max((one.last for one in known if one.stream == name), default=0)
        async for part in parts_of(await bus.stream(name), begin, head.sequence):
            wrong = _not_signed(name, part, judged.record[name])
            if wrong is not None:
                raise LogDiffers(wrong)
            fresh.append(await asyncio.to_thread(_put, folder, name, part))
            report(f"{name} {fresh[-1].first}–{fresh[-1].last}")
    if fresh or folder.read(HEADS) is None:
        folder.write(LIST, msgspec.json.encode([*known, *fresh], order="deterministic"))
        save_evidence(evidence, folder)
    return fresh


def check_proofs(url: str, stream: str, first: int, last: int, pinned: Collection[str]) -> None:
    """Read what an archive holds of a stream, and hold each message against the checkpoint that stands in the archive.

    Raises `FolderUnreadable`, `ArchiveDamaged`.
    """
    folder, evidence = Folder(url), load_evidence(url)
    judged = judge(evidence, pinned)
    for finding in judged.findings:
        raise ArchiveDamaged(url, finding)
    segments = listed(url)
    reaches = max((one.last for one in segments if one.stream == stream), default=0)
    if reaches < last or stream not in judged.sound:
        detail = f"nothing in it that is proved goes further than {reaches if stream in judged.sound else 0}"
        raise ArchiveDamaged(
            url, AuditFinding(stream=stream, sequence=reaches + 1, upto=last, what="archive", detail=detail)
        )
    for segment in segments:
        if segment.stream != stream or segment.last < first or segment.first > last:
            continue
        entries, problem = read_segment(folder, segment)
        if problem:
            raise ArchiveDamaged(url, finding_of(segment, problem))
        wrong = _not_signed(stream, entries, judged.record[stream])
        if wrong is not None:
            raise ArchiveDamaged(url, wrong)


def _not_signed(stream: str, entries: Sequence[Entry], record: Sequence[bytes]) -> AuditFinding | None:
    """The first message that is not the one whose leaf was signed."""
    for entry in entries:
        known = 0 < entry.sequence <= len(record)
        if not known or leaf_hash(stream, entry.subject, entry.message_id, entry.data) != record[entry.sequence - 1]:
            detail = "is another message than was signed"
            return AuditFinding(stream=stream, sequence=entry.sequence, what="changed", detail=detail)
    return None


def _put(folder: Folder, stream: str, part: Sequence[Entry]) -> Segment:
    first, last = part[0].sequence, part[-1].sequence
    data = to_parquet(part)
    file = f"{stream}/{first:012d}-{last:012d}.parquet"
    segment = Segment(stream=stream, first=first, last=last, file=file, sha256=file_hash(data), bytes=size_of(part))
    folder.write(file, data)
    back, problem = read_segment(folder, segment)
    if problem or list(part) != back:
        raise ArchiveDamaged(folder.url, finding_of(segment, problem or "does not come back as it was written"))
    return segment


def needed_segments(folder: Folder) -> list[Segment]:
    """The segments of an archive that has to be there. Raises `FolderUnreadable`."""
    folder.need(LIST, "it is no archive; `kuelog audit archive` makes one")
    return segments_of(folder)


def finding_of(segment: Segment, problem: str) -> AuditFinding:
    """What is wrong with a file of an archive."""
    detail = f"{segment.file} {problem}"
    return AuditFinding(stream=segment.stream, sequence=segment.first, upto=segment.last, what="archive", detail=detail)


def not_listed(folder: Folder, segments: Sequence[Segment]) -> list[AuditFinding]:
    """The messages that no file is listed for, though files behind them are or a checkpoint says so; and those listed twice."""
    findings: list[AuditFinding] = []
    ends: dict[str, int] = {}

    def lacks(stream: str, upto: int) -> None:
        first = ends.get(stream, 0) + 1
        if first <= upto:
            detail = f"{LIST} names no file that holds them"
            findings.append(AuditFinding(stream=stream, sequence=first, upto=upto, what="archive", detail=detail))

    for segment in segments:
        lacks(segment.stream, segment.first - 1)
        if segment.first <= ends.get(segment.stream, 0):
            findings.append(finding_of(segment, f"holds what {LIST} names another file for"))
        ends[segment.stream] = segment.last
    for stream, head in sorted(_heads(folder).items()):
        lacks(stream, head.sequence)
    return findings


def _wrong_row(entries: Sequence[Entry], segment: Segment, kept: bytes) -> str:
    """The first row of a file that is not the message that was archived there, as far as the leaves that are kept show it."""
    expected = range(segment.first, segment.last + 1)
    for row, (entry, sequence) in enumerate(zip(entries, expected, strict=False), 1):
        if (entry.stream, entry.sequence) != (segment.stream, sequence):
            return f"row {row} holds {entry.stream} {entry.sequence} instead of {segment.stream} {sequence}"
        leaf = kept[(sequence - 1) * SIZE : sequence * SIZE]
        if leaf and leaf != leaf_hash(entry.stream, entry.subject, entry.message_id, entry.data):
            return f"row {row} is another message than {segment.stream} {sequence} was"
    if len(entries) != len(expected):
        return f"it has {len(entries)} rows instead of {len(expected)}"
    return ""


def _same_log(folder: Folder, evidence: Evidence) -> None:
    """What was archived before has to be the beginning of what is archived now."""
    for stream, head in _heads(folder).items():
        if not prefix_agrees(Leaves(evidence.leaves.get(stream, b"")), head):
            raise ArchiveOfAnotherLog(folder.url, stream, head.sequence)


def _heads(folder: Folder) -> dict[str, Checkpoint]:
    """The checkpoints of an archive; none when they were not written yet. Raises `FolderUnreadable`."""
    data = folder.read(HEADS)
    return folder.decoded(HEADS, data, dict[str, Checkpoint]) if data else {}
