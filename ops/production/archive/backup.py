"""A backup: an archive of the whole log to a common end, with the keys, the approvers, the closed months, the saved worlds and a list of it all.

It is an archive like any other, and can be asked as one. What makes it a backup is `backup.json`, written last: by it every
file is known, and how much of each stream stood on the bus.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from events.merkle import SIZE, Frontier
from events.subjects import CONTROL, FACTS
from ops.files.reading import Unreadable, json_of
from ops.production.archive.archive import LIST, archive_signed, segments_of
from ops.production.archive.data_sets import names_in
from ops.production.archive.errors import ArchiveDamaged, BackupRefused
from ops.production.archive.finding import AuditFinding
from ops.production.archive.folder import Folder
from ops.production.archive.history import common_ends
from ops.production.archive.proof.approvers import APPROVERS
from ops.production.archive.proof.checkpoint import MOST, checkpoint_of
from ops.production.archive.proof.evidence import Evidence, load_evidence
from ops.production.archive.proof.keys import KEY, RING
from ops.production.archive.proof.witness import HEADS, HeadWitness, leaves_name
from ops.production.archive.segments.segment import file_hash
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.generations import generations
from ops.production.log.jetstream.shelf import WATCHER
from ops.production.log.streams import LogStreams, is_stream, streams_on
from services.runtime.log_port import Entry
from services.runtime.shelf_port import ShelfLabel

MANIFEST = "backup.json"
_TAIL = 5_000
"""So many commits at the end of a partition are looked at for what rests on more than is there: far more than ever do."""
_LOOKS = 5
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)?")
Progress = Callable[[str], None]


class StreamPart(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a stream there is."""

    first: Annotated[int, msgspec.Meta(ge=1, le=MOST)]
    """The first message that stood on the bus; those before it are in the archive only."""
    last: Annotated[int, msgspec.Meta(ge=0, le=MOST)]


class SavedWorld(msgspec.Struct, frozen=True, kw_only=True):
    """A saved world or view."""

    file: str
    label: ShelfLabel


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup holds."""

    streams: dict[str, StreamPart]
    files: dict[str, str]
    """By name the SHA-256 of every file."""
    worlds: tuple[SavedWorld, ...] = ()


class _Found(NamedTuple):
    """What a backup is to hold of a log that goes on."""

    evidence: Evidence
    streams: dict[str, StreamPart]
    worlds: tuple[SavedWorld, ...]
    late: str
    """Of whom all that is saved goes further than what is signed; empty where that is so of nobody."""

    @property
    def can_begin(self) -> bool:
        """Whether whoever restores it finds where to begin: behind what was rolled that is at a saved world."""
        return not self.late or all(part.first == 1 for part in self.streams.values())


def is_safe(name: str) -> bool:
    """Whether a file of that name lies in the folder of its backup, wherever that is."""
    return _NAME.fullmatch(name) is not None and ".." not in name


async def make_backup(
    bus: JetStreamBus, witness: Path, archive: str, to: str, report: Progress = lambda _: None
) -> Manifest:
    """Sign what there is, and copy all of it up to a common end; what a log that runs adds meanwhile is left for the next.

    Raises `BackupRefused`, and what signing and archiving raise.
    """
    folder = Folder(to)
    if folder.read(MANIFEST) is not None or folder.read(LIST) is not None:
        raise BackupRefused(f"{to} holds a backup or an archive already: name another folder")
    found = await _found(bus, witness, folder)
    evidence, worlds = found.evidence, found.worlds
    files = _copy_archive(archive, folder, report) if archive else {}
    fresh = await archive_signed(bus, evidence, to, report)
    files |= {one.file: one.sha256 for one in fresh}
    key = (witness / KEY).read_bytes()
    folder.write_private(KEY, key)
    closing = _copy_closing(witness, folder)
    kept = (
        LIST,
        HEADS,
        RING,
        KEY,
        *closing,
        *(leaves_name(name) for name in evidence.heads),
        *(one.file for one in worlds),
    )
    files |= {name: file_hash(folder.need(name, "it was written a moment ago")) for name in kept}
    manifest = Manifest(streams=found.streams, files=files, worlds=worlds)
    folder.write(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest, order="deterministic")))
    return manifest


def read_manifest(url: str) -> Manifest:
    """The list of a backup, with every file that it names held against it. Raises `BackupRefused`, `FolderUnreadable`."""
    folder = Folder(url)
    data = folder.need(MANIFEST, "it is no backup, or one that was broken off; `kuelog backup` makes one")
    try:
        manifest = json_of(data, Manifest)
    except Unreadable as problem:
        raise BackupRefused(f"{url}/{MANIFEST} {problem}") from problem
    named = [*manifest.files, *(one.file for one in manifest.worlds)]
    for name in named:
        if not is_safe(name):
            raise BackupRefused(f"{url}/{MANIFEST} names {name!r}, which is no file of a backup: it is not ours")
    strange = sorted(name for name in manifest.streams if not is_stream(name))
    if strange or any(one.file not in manifest.files for one in manifest.worlds):
        raise BackupRefused(f"{url}/{MANIFEST} speaks of {', '.join(strange) or 'files'} that no backup of ours holds")
    for name, sha256 in sorted(manifest.files.items()):
        found = folder.read(name)
        if found is None or file_hash(found) != sha256:
            what = "is not there" if found is None else "is not the file that was backed up"
            raise BackupRefused(f"{url}/{name} {what}: restore it from a copy of the backup")
    segments = segments_of(folder)
    if any(one.file not in manifest.files for one in segments):
        raise BackupRefused(f"{url}/{LIST} names files that {MANIFEST} does not")
    return manifest


async def _found(bus: JetStreamBus, witness: Path, folder: Folder) -> _Found:
    """What there is, signed up to a common end, with saved worlds that go no further: as the log goes on, that may take a few looks.

    All of it is looked at before anything is copied, which takes long: what is saved is replaced by what goes beyond that end meanwhile.
    """
    late = ""
    for _ in range(_LOOKS):
        found = await _look(bus, witness, folder)
        if found.can_begin:
            return found
        late = found.late
    raise BackupRefused(
        f"what is saved of {late} went beyond what had just been signed, {_LOOKS} times: try again when less is decided"
    )


async def _look(bus: JetStreamBus, witness: Path, folder: Folder) -> _Found:
    signer, there = HeadWitness(witness), await streams_on(bus)
    for name in there.every:
        await signer.sign(await bus.stream(name))
    standing = {name: await generations(bus.client, name) for name in there.every}
    evidence = await _to_common_end(bus, signer, load_evidence(str(witness)))
    streams: dict[str, StreamPart] = {}
    for name, found in standing.items():
        last = evidence.heads[name].sequence if name in evidence.heads else 0
        streams[name] = StreamPart(first=min(found[0].first if found else 1, last + 1), last=last)
    worlds, late = await _worlds(bus, there, evidence, folder)
    return _Found(evidence, streams, worlds, late)


async def _to_common_end(bus: JetStreamBus, signer: HeadWitness, evidence: Evidence) -> Evidence:
    """The evidence up to where no commit rests on more than is there, signed for just that."""
    tails: dict[str, list[Entry]] = {}
    for name, head in evidence.heads.items():
        tails[name] = []
        if name in (FACTS, CONTROL):
            continue
        standing = await generations(bus.client, name)
        begin = max(head.sequence - _TAIL, standing[0].first - 1)
        async for batch in (await bus.stream(name)).read(begin):
            tails[name].extend(entry for entry in batch if entry.sequence <= head.sequence)
            if batch[-1].sequence >= head.sequence:
                break
    ends = common_ends(tails, {name: head.sequence for name, head in evidence.heads.items()})
    heads = dict(evidence.heads)
    for name, end in ends.items():
        if end == heads[name].sequence:
            continue
        last = next((entry for entry in tails[name] if entry.sequence == end), None)
        if last is None:
            detail = "of its last commits none rests only on what is there"
            raise ArchiveDamaged(name, AuditFinding(stream=name, sequence=end, what="inputs", detail=detail))
        tree = Frontier()
        for i in range(end):
            tree.add(evidence.leaves[name][i * SIZE : (i + 1) * SIZE])
        heads[name] = signer.signed(name, checkpoint_of(tree, last.data))
    return msgspec.structs.replace(evidence, heads=heads)


def _copy_closing(witness: Path, to: Folder) -> list[str]:
    """Who may approve of months, and what was billed for those that are closed; the names of the files."""
    names = [*([APPROVERS] if (witness / APPROVERS).exists() else []), *names_in(witness)]
    for name in names:
        to.write(name, (witness / name).read_bytes())
    return names


def _copy_archive(archive: str, to: Folder, report: Progress) -> dict[str, str]:
    source = Folder(archive)
    segments = segments_of(source)
    for segment in segments:
        data = source.need(segment.file, "the archive is damaged; `kuelog audit verify --archive` says more")
        if file_hash(data) != segment.sha256:
            detail = f"{segment.file} is not the file that was archived"
            finding = AuditFinding(
                stream=segment.stream, sequence=segment.first, upto=segment.last, what="archive", detail=detail
            )
            raise ArchiveDamaged(archive, finding)
        to.write(segment.file, data)
        report(f"{segment.stream} {segment.first}–{segment.last}, from the archive")
    if segments:
        to.write(LIST, msgspec.json.encode(segments, order="deterministic"))
    return {one.file: one.sha256 for one in segments}


async def _worlds(
    bus: JetStreamBus, there: LogStreams, evidence: Evidence, folder: Folder
) -> tuple[tuple[SavedWorld, ...], str]:
    """The newest saved world of each partition, and the watcher's view, that go no further than the backup; and of whom all go further."""
    ends = {name: head.sequence for name, head in evidence.heads.items()}
    found: list[SavedWorld] = []
    late = ""
    for key in (*there.partitions, WATCHER):
        labels = await bus.shelf.labels(key)
        inside = [one for one in labels if all(upto <= ends.get(name, 0) for name, upto in one.upto.items())]
        late = key if labels and not inside else late
        for label in inside:
            data = await bus.shelf.take(label)
            if data is not None:
                world = SavedWorld(file=f"worlds/{key}.json", label=label)
                folder.write(world.file, data)
                found.append(world)
                break
    return tuple(found), late
