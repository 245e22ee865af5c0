"""A log that grows is rolled by itself: what was rolled is archived and proved before it goes, and everything reads on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from events.hash_chain import bytes_hash
from events.subjects import FACTS
from ops.files.reading import Unreadable
from ops.production.archive.archive import read_archive, segments_of, write_archive
from ops.production.archive.archivist import Archivist, RollLimits
from ops.production.archive.folder import Folder
from ops.production.archive.history import read_everything
from ops.production.archive.proof.evidence import load_evidence
from ops.production.archive.proof.witness import HeadWitness, leaves_name
from ops.production.archive.segments import parts
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.generations import generations
from ops.production.log.jetstream.shelf import WATCHER
from ops.production.log.memory import MemoryBus
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import DEVICE_PARTITION, PARTITION, SOLE
from ops.production.process.clock import ScaledClock
from ops.production.witnessing import Witnessing
from ops.queries.audit.verify import Auditor
from services.runtime.log_errors import LogRegressed
from services.runtime.log_port import Entry, Message
from tests.ops.queries.audit.logs import WORLD, Log, log_of, view_of

LOG = log_of(60, devices=10, world=WORLD)


class Place:
    """A bus, a witness and an archive, and a log that is put on the bus a part at a time."""

    def __init__(self, bus: JetStreamBus, folder: Path, log: Log = LOG) -> None:
        self.log = log
        self.bus, self.witness, self.archive = bus, folder / "witness", folder / "archive"
        self.archivist = Archivist(
            bus,
            witness=self.witness,
            archive=str(self.archive),
            shelf=bus.shelf,
            watcher=WATCHER,
            limits=RollLimits(bytes=1),
        )

    async def put(self, begin: int, end: int) -> None:
        """Store a part of every stream of the log, and sign it."""
        for name, entries in self.log.items():
            stream = await self.bus.stream(name)
            for entry in part(entries, begin, end):
                if name == FACTS:
                    await stream.publish([Message(entry.subject, entry.data, entry.message_id)])
                else:
                    await stream.append(entry.subject, entry.data, message_id=entry.message_id, base=entry.sequence - 1)
        await self.sign(HeadWitness(self.witness))

    async def sign(self, witness: HeadWitness) -> None:
        for name in SOLE.every:
            stream = await self.bus.stream(name)
            await witness.check(stream)
            await witness.witness(stream)

    async def save_worlds(self) -> None:
        """What every partition and the watcher save: how far it goes is what counts here."""
        upto = {
            name: (await (await self.bus.stream(name)).last()).sequence for name in (PARTITION, DEVICE_PARTITION, FACTS)
        }
        for key in (PARTITION, DEVICE_PARTITION, WATCHER):
            last = await (await self.bus.stream(FACTS)).get(upto[FACTS])
            saved = view_of(last) if key == WATCHER else WORLD
            await self.bus.shelf.put(key, [saved], upto=upto, rules="1")

    async def firsts(self) -> dict[str, list[int]]:
        return {
            name: [one.first for one in await generations(self.bus.client, name)]
            for name in (PARTITION, DEVICE_PARTITION, FACTS)
        }


def part(entries: list[Entry], begin: int, end: int) -> list[Entry]:
    """From one tenth of a stream to another."""
    return entries[len(entries) * begin // 10 : len(entries) * end // 10]


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Place]:
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    await bus.shelf.prepare()
    yield Place(bus, tmp_path)
    await bus.close()
    await server.stop()


async def test_streams_roll_at_their_size_and_go_once_their_archive_is_proved_and_nobody_begins_in_them(
    on: Place,
) -> None:
    await on.put(0, 4)
    await on.archivist.look(0)
    assert on.archivist.problem == ""
    ends = {name: len(part(entries, 0, 4)) for name, entries in LOG.items()}
    assert await on.firsts() == {name: [1, ends[name] + 1] for name in (PARTITION, DEVICE_PARTITION, FACTS)}
    assert {one.stream: one.last for one in segments_of(Folder(str(on.archive)))} == {
        name: end for name, end in ends.items() if end
    }
    await on.put(4, 7)
    await on.archivist.look(0)
    assert (await on.firsts())[PARTITION] == [1, ends[PARTITION] + 1], "no saved world goes beyond it yet"
    await on.save_worlds()
    await on.archivist.look(0)
    assert await on.firsts() == {name: [ends[name] + 1] for name in (PARTITION, DEVICE_PARTITION, FACTS)}
    await on.archivist.look(0)
    await on.put(7, 10)
    await on.save_worlds()
    await on.archivist.look(0)
    assert on.archivist.problem == ""
    found = await read_everything(on.bus, str(on.archive))
    assert {name: [one.data for one in entries] for name, entries in found.items()} == {
        name: [one.data for one in entries] for name, entries in LOG.items()
    }
    report = Auditor(load_evidence(str(on.witness))).examine(found)
    assert report.findings == () and all(one.signed == one.messages for one in report.streams)


async def test_a_file_is_full_by_its_messages_or_by_their_bytes(on: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SEGMENT_BYTES", 5 * len(LOG[PARTITION][0].data))
    monkeypatch.setattr(parts, "SEGMENT", 7)
    await on.put(0, 10)
    await on.archivist.look(0)
    assert on.archivist.problem == ""
    evidence = load_evidence(str(on.witness))
    by_hand = write_archive(LOG, evidence, str(on.archive.with_name("by-hand")))
    found = segments_of(Folder(str(on.archive)))
    for name, most in ((PARTITION, 5), (FACTS, 7)):
        counts = [one.last - one.first + 1 for one in found if one.stream == name]
        assert sum(counts) == len(LOG[name]) and len(counts) > 5 and max(counts) == most
        assert [one.file for one in found if one.stream == name] == [one.file for one in by_hand if one.stream == name]


async def test_what_is_not_signed_or_whose_archive_is_damaged_is_kept(on: Place) -> None:
    await on.put(0, 4)
    (on.witness / "heads.json").rename(on.witness / "elsewhere")
    await on.archivist.look(0)
    assert "heads.json" in on.archivist.problem
    (on.witness / "elsewhere").rename(on.witness / "heads.json")
    await on.archivist.look(0)
    assert on.archivist.problem == ""
    await on.put(4, 7)
    await on.save_worlds()
    [segment] = [one for one in segments_of(Folder(str(on.archive))) if one.stream == PARTITION]
    file = on.archive / segment.file
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    again = Place(on.bus, on.witness.parent)
    await again.archivist.look(0)
    assert "is damaged" in again.archivist.problem
    assert (await on.firsts())[PARTITION][0] == 1


async def test_a_log_that_is_not_what_was_signed_is_not_archived(on: Place) -> None:
    await on.put(0, 4)
    leaves = on.witness / f"{PARTITION}.leaves"
    leaves.write_bytes(bytes(32) + leaves.read_bytes()[32:])
    await on.archivist.look(0)
    assert read_archive_or_nothing(on.archive) == {}
    assert on.archivist.problem


def read_archive_or_nothing(folder: Path) -> Log:
    return read_archive(str(folder))[0] if (folder / "archive.json").exists() else {}


async def test_a_witness_that_comes_after_the_beginning_was_rolled_away_still_sees_a_lost_tail(
    on: Place, tmp_path: Path
) -> None:
    await on.put(0, 4)
    await on.archivist.look(0)
    await on.put(4, 10)
    await on.save_worlds()
    await on.archivist.look(0)
    late = HeadWitness(tmp_path / "late")
    await on.sign(late)
    await on.sign(HeadWitness(tmp_path / "late"))
    seen = late.seen(PARTITION)
    assert seen is not None and (seen.sequence, seen.sha256) == (60, bytes_hash(LOG[PARTITION][-1].data))
    shorter = MemoryBus()
    shorter.memory(PARTITION).entries = LOG[PARTITION][:-1]
    with pytest.raises(LogRegressed, match="has lost its tail"):
        await late.check(await shorter.stream(PARTITION))


async def test_a_witness_that_lost_its_leaves_of_a_rolled_stream_says_so_and_takes_note_of_the_others(
    on: Place,
) -> None:
    await on.put(0, 4)
    await on.archivist.look(0)
    await on.put(4, 7)
    await on.save_worlds()
    await on.archivist.look(0)
    kept = {name: (on.witness / name).read_bytes() for name in ("heads.json", leaves_name(DEVICE_PARTITION))}
    (on.witness / leaves_name(DEVICE_PARTITION)).unlink()
    with pytest.raises(Unreadable, match="DEVICES_default.leaves: its leaves .* begins at 5: restore"):
        await on.put(7, 10)
    clock = ScaledClock()
    witnessing = Witnessing(on.witness, on.bus, clock)
    run = asyncio.create_task(witnessing.run(SOLE, {}))
    while not witnessing.problem:  # noqa: ASYNC110 - a witness tells nobody
        await asyncio.sleep(0.01)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    assert "restore heads.json and this file together" in witnessing.problem and witnessing.at == 0
    heads = load_evidence(str(on.witness)).heads
    assert (heads[PARTITION].sequence, heads[FACTS].sequence) == (60, len(LOG[FACTS]))
    for name, data in kept.items():
        (on.witness / name).write_bytes(data)
    await on.sign(HeadWitness(on.witness))
    assert load_evidence(str(on.witness)).heads[DEVICE_PARTITION].sequence == 10


@pytest.mark.parametrize("key", [PARTITION, WATCHER])
async def test_a_saved_world_that_the_log_does_not_vouch_for_lets_nothing_go(on: Place, key: str) -> None:
    for begin, end in ((0, 4), (4, 7)):
        await on.put(begin, end)
        await on.archivist.look(0)
    ends = {name: len(part(LOG[name], 0, 7)) for name in (PARTITION, DEVICE_PARTITION, FACTS)}
    before = await on.firsts()
    await on.save_worlds()
    for _ in range(2):  # Two are kept of each key.
        await on.bus.shelf.put(key, [b"of another log"], upto=ends, rules="1")
    await on.archivist.look(0)
    assert on.archivist.problem == "" and (await on.firsts())[FACTS] == before[FACTS]
    await on.save_worlds()
    await on.archivist.look(0)
    assert on.archivist.problem == "" and (await on.firsts())[FACTS] != before[FACTS]


@pytest.mark.parametrize("harm", ["a file is damaged", "it is gone", "it was put back to an older state"])
async def test_an_archive_that_was_harmed_since_it_was_proved_lets_nothing_go(on: Place, harm: str) -> None:
    await on.put(0, 4)
    await on.archivist.look(0)
    await on.put(4, 7)
    await on.archivist.look(0)
    before = await on.firsts()
    [segment] = [one for one in segments_of(Folder(str(on.archive))) if one.stream == PARTITION]
    match harm:
        case "a file is damaged":
            data = (on.archive / segment.file).read_bytes()
            (on.archive / segment.file).write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        case "it is gone":
            on.archive.rename(on.archive.with_name("elsewhere"))
        case _:
            (on.archive / "archive.json").write_bytes(b"[]")
    await on.save_worlds()
    await on.archivist.look(0)
    if harm == "a file is damaged":
        assert (await on.firsts())[PARTITION] == before[PARTITION], "nobody else holds what was rolled"
        assert "is damaged" in on.archivist.problem
        return
    assert (await on.firsts())[PARTITION] != before[PARTITION]
    archived, damage = read_archive(str(on.archive))
    rolled = before[PARTITION][1] - 1
    assert damage == [] and [one.data for one in archived[PARTITION][:rolled]] == [
        one.data for one in LOG[PARTITION][:rolled]
    ], "it was archived anew before it went"
