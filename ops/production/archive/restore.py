"""Restoring a backup onto an empty bus: every stream with its sequences, the witness with its keys, the archive, the worlds."""

import asyncio
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from nats.js.errors import APIError

from events.merkle import leaf_hash
from ops.production.archive.archive import LIST, check_proofs, read_segment, segments_of
from ops.production.archive.backup import MANIFEST, Manifest, Progress, StreamPart, is_safe, read_manifest
from ops.production.archive.data_sets import CLOSED
from ops.production.archive.errors import BackupRefused
from ops.production.archive.folder import Folder
from ops.production.archive.proof.evidence import judge, load_evidence
from ops.production.archive.proof.keys import KEY
from ops.production.archive.proof.witness import HEADS
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.generations import asked, decoded, generations
from ops.production.log.jetstream.pull import STORED
from ops.production.log.jetstream.refusals import UNANSWERED, refused, unanswered
from ops.production.log.jetstream.shelf import STREAM as SHELF
from ops.production.log.jetstream.stream import PublishAck
from services.runtime.log_port import Entry

_SUBJECT = re.compile(r"kuelog\.[\w.-]+")
_HEADER = frozenset("\r\n\0")
"""What no value of a header may hold."""
_WINDOW = 256
_DEADLINE_S = 10.0


async def restore_backup(
    source: str,
    bus: JetStreamBus,
    witness: Path,
    archive: str,
    *,
    trust: Collection[str] = (),
    force: bool = False,
    report: Progress = lambda _: None,
) -> Manifest:
    """Restore, and read back what was restored. Raises `BackupRefused`, and what reading and proving raise."""
    manifest = read_manifest(source)
    for name, part in sorted(manifest.streams.items()):
        if part.last:
            await asyncio.to_thread(check_proofs, source, name, 1, part.last, trust)
    report("every file is what was backed up, and every message what was signed")
    await _make_room(manifest, bus, witness, archive, force=force)
    _put_files(manifest, Folder(source), witness, archive)
    for name, part in sorted(manifest.streams.items()):
        await _restore_stream(source, bus, name, part)
        report(f"{name} {part.first}–{part.last}" if part.last >= part.first else f"{name}, which is empty")
    await bus.shelf.prepare()
    for world in manifest.worlds:
        data = Folder(source).need(world.file, "it was there a moment ago")
        await bus.shelf.put(world.label.key, [data], upto=world.label.upto, rules=world.label.rules)
    await _read_back(source, bus, manifest)
    return manifest


async def _make_room(manifest: Manifest, bus: JetStreamBus, witness: Path, archive: str, *, force: bool) -> None:
    """Nothing is restored over a log, unless that is what was asked for."""
    standing = [one for name in manifest.streams for one in await generations(bus.client, name)]
    holding = [one.name for one in standing if one.stored >= one.first]
    if holding and not force:
        raise BackupRefused(
            f"the bus holds a log already ({', '.join(holding)}): name an empty one, or give --force to remove what it holds"
        )
    for path, what in ((witness / HEADS, "witness"), (Path(archive) / LIST, "archive")):
        if path.exists() and not force:
            raise BackupRefused(
                f"there is a {what} already ({path}): name another folder, or give --force to replace it"
            )
    for one in standing:
        await _delete(bus, one.name)
    with suppress(BackupRefused):
        await _delete(bus, SHELF)


async def _delete(bus: JetStreamBus, name: str) -> None:
    answer = await asked(bus.client, f"STREAM.DELETE.{name}", {})
    if answer.get("error") is not None:
        raise BackupRefused(f"{name} can't be removed: {answer['error'].get('description')}")


def _put_files(manifest: Manifest, source: Folder, witness: Path, archive: str) -> None:
    """The archive whole, and beside it the witness that goes on signing."""
    witness.mkdir(parents=True, exist_ok=True)
    to = Folder(archive)
    worlds = {one.file for one in manifest.worlds}
    for name in sorted(manifest.files):
        if name in worlds or not is_safe(name):
            continue
        data = source.need(name, "it was there a moment ago")
        if name == KEY:
            Folder(str(witness)).write_private(KEY, data)
            continue
        if name.startswith(f"{CLOSED}/") or ("/" not in name and name != LIST):
            Folder(str(witness)).write(name, data)
        to.write(name, data)


async def _restore_stream(source: str, bus: JetStreamBus, name: str, part: StreamPart) -> None:
    settings = bus.settings_of(name)
    settings.first_seq = part.first
    try:
        await bus.client.jetstream().add_stream(settings)
    except APIError as problem:
        raise refused(bus.client, name, problem) from problem
    except UNANSWERED as problem:
        raise unanswered(bus.client, f"$JS.API.STREAM.CREATE.{name}", name, problem) from problem
    folder = Folder(source)
    for segment in segments_of(folder):
        if segment.stream != name or segment.last < part.first:
            continue
        entries, problem = await asyncio.to_thread(read_segment, folder, segment)
        if problem:
            raise BackupRefused(f"{source}/{segment.file} {problem}")
        wanted = [entry for entry in entries if part.first <= entry.sequence <= part.last]
        for start in range(0, len(wanted), _WINDOW):
            await _store(bus, wanted[start : start + _WINDOW])


def check_filed(entry: Entry) -> None:
    """Subject and headers of a message are ours: a backup signed with somebody's own key must send no requests in our name.

    Raises `BackupRefused`.
    """
    if _SUBJECT.fullmatch(entry.subject) is None or not _HEADER.isdisjoint(entry.message_id + entry.trace):
        raise BackupRefused(f"{entry.stream} {entry.sequence} is filed as no message of ours is: {entry.subject!r}")


async def _store(bus: JetStreamBus, entries: Sequence[Entry]) -> None:
    """Messages in order, each on the condition that the one before it stands: a gap can't come about."""

    async def one(entry: Entry) -> None:
        check_filed(entry)
        headers = {"Nats-Msg-Id": entry.message_id, "Nats-Expected-Last-Sequence": str(entry.sequence - 1)}
        headers |= {STORED: str(entry.stored)} if entry.stored else {}
        headers |= {"traceparent": f"00-{entry.trace}-{entry.trace[:16]}-01"} if entry.trace else {}
        try:
            reply = await bus.client.request(entry.subject, entry.data, timeout=_DEADLINE_S, headers=headers)
        except UNANSWERED as problem:
            raise unanswered(bus.client, entry.subject, entry.stream, problem) from problem
        ack = decoded(entry.stream, reply.data, PublishAck)
        if ack.error is not None or ack.seq != entry.sequence:
            problem = "it was stored elsewhere" if ack.error is None else str(ack.error.get("description"))
            raise BackupRefused(
                f"{entry.stream} {entry.sequence} can't be restored: {problem}. Stop whoever writes to it"
            )

    await asyncio.gather(*(one(entry) for entry in entries))


async def _read_back(source: str, bus: JetStreamBus, manifest: Manifest) -> None:
    """What stands on the bus now is what was signed."""
    record = judge(load_evidence(source)).record
    for name, part in sorted(manifest.streams.items()):
        expected = part.first
        if part.last >= part.first:
            async for batch in (await bus.stream(name)).read(part.first - 1):
                for entry in batch:
                    leaf = leaf_hash(name, entry.subject, entry.message_id, entry.data)
                    if entry.sequence != expected or leaf != record[name][expected - 1]:
                        raise BackupRefused(f"{name} {entry.sequence} was not stored as it was backed up")
                    expected += 1
        if expected != part.last + 1:
            raise BackupRefused(f"{name} ends at {expected - 1} on the bus, and at {part.last} in the backup")


__all__ = ["MANIFEST", "restore_backup"]
