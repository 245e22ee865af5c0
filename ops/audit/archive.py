"""Archives: copies of the log as Parquet segments with the proof beside them, read back before they count.

An archive is a witness folder with the messages in it: keys.json, heads.json and leaves as a witness keeps them, a
Parquet file per segment, and archive.json, which lists the segments and is written last.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from events.merkle import SIZE
from ops.audit.checkpoint import Checkpoint
from ops.audit.errors import ArchiveDamaged, ArchiveOfAnotherLog, FolderUnreadable
from ops.audit.evidence import Evidence, prefix_agrees, save_evidence
from ops.audit.finding import Finding
from ops.audit.folder import Folder
from ops.audit.segment import SegmentUnreadable, file_hash, from_parquet, to_parquet
from ops.witness import HEADS
from services.log_port import Entry

LIST = "archive.json"
SEGMENT = 20_000
"""So many messages stand in one file at most."""

Progress = Callable[[str], None]


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One file of an archive: the messages `first` to `last` of a stream."""

    stream: str
    first: int
    last: int
    file: str
    sha256: str


def segments_of(folder: Folder) -> list[Segment]:
    """The segments of an archive in order; none when there is no archive yet. Raises `FolderUnreadable`."""
    data = folder.read(LIST)
    if data is None:
        return []
    try:
        return msgspec.json.decode(data, type=list[Segment])
    except msgspec.MsgspecError as problem:
        raise FolderUnreadable(folder.url, f"{LIST} can't be read: {problem}") from problem


def read_archive(url: str) -> tuple[dict[str, list[Entry]], list[Finding]]:
    """All messages of an archive, and what is wrong with its files."""
    folder = Folder(url)
    folder.need(LIST, "it is no archive; `kuelog audit archive` makes one")
    entries: dict[str, list[Entry]] = {}
    findings: list[Finding] = []
    for segment in segments_of(folder):
        found, problem = read_segment(folder, segment)
        entries.setdefault(segment.stream, []).extend(found)
        if problem:
            findings.append(
                Finding(
                    stream=segment.stream,
                    sequence=segment.first,
                    upto=segment.last,
                    what="archive",
                    detail=f"{segment.file} {problem}",
                )
            )
    return entries, findings


def read_segment(folder: Folder, segment: Segment) -> tuple[list[Entry], str]:
    """The messages of a segment as far as they can be read, and what is wrong with its file."""
    data = folder.read(segment.file)
    if data is None:
        return [], "is not there"
    problem = "" if file_hash(data) == segment.sha256 else "is not the file that was archived"
    try:
        entries = from_parquet(data)
    except SegmentUnreadable as unreadable:
        return [], f"can't be read: {unreadable}"
    if not problem and [e.sequence for e in entries] != list(range(segment.first, segment.last + 1)):
        problem = f"does not hold the sequences {segment.first} to {segment.last}"
    if any(entry.stream != segment.stream for entry in entries):
        problem = "holds messages of another stream"
    return entries, problem


def write_archive(
    entries: Mapping[str, Sequence[Entry]], evidence: Evidence, url: str, tell: Progress = lambda _: None
) -> list[Segment]:
    """Copy everything that stands under a checkpoint and is not archived yet; the segments that are new.

    The log has been audited against the evidence before. Each file is read back and compared before it is listed.
    Raises `ArchiveOfAnotherLog`, `ArchiveDamaged`.
    """
    folder = Folder(url)
    known = segments_of(folder)
    _same_log(folder, evidence)
    fresh: list[Segment] = []
    for stream, head in sorted(evidence.heads.items()):
        begin = max((one.last for one in known if one.stream == stream), default=0)
        for first in range(begin + 1, head.sequence + 1, SEGMENT):
            part = entries[stream][first - 1 : min(first + SEGMENT - 1, head.sequence)]
            fresh.append(_put(folder, stream, part))
            tell(f"{stream} {fresh[-1].first}–{fresh[-1].last}")
    # The list before the checkpoints: a crash between them leaves messages behind a checkpoint, never one without them.
    folder.write(LIST, msgspec.json.encode([*known, *fresh], order="deterministic"))
    save_evidence(evidence, folder)
    return fresh


def _put(folder: Folder, stream: str, part: Sequence[Entry]) -> Segment:
    first, last = part[0].sequence, part[-1].sequence
    data = to_parquet(part)
    file = f"{stream}/{first:012d}-{last:012d}.parquet"
    segment = Segment(stream=stream, first=first, last=last, file=file, sha256=file_hash(data))
    folder.write(file, data)
    back, problem = read_segment(folder, segment)
    if problem or list(part) != back:
        detail = problem or "does not come back as it was written"
        finding = Finding(stream=stream, sequence=first, upto=last, what="archive", detail=f"{file} {detail}")
        raise ArchiveDamaged(folder.url, finding)
    return segment


def _same_log(folder: Folder, evidence: Evidence) -> None:
    """What was archived before has to be the beginning of what is archived now."""
    data = folder.read(HEADS)
    for stream, head in (msgspec.json.decode(data, type=dict[str, Checkpoint]) if data else {}).items():
        kept = evidence.leaves.get(stream, b"")
        leaves = [kept[i : i + SIZE] for i in range(0, len(kept), SIZE)]
        if not prefix_agrees(leaves, head):
            raise ArchiveOfAnotherLog(folder.url, stream, head.sequence)
