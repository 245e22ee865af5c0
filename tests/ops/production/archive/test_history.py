"""Archive and streams are read as one, to a common end: whatever a commit that was read rests on was read too."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from events.codec import decode_commit
from events.subjects import CONTROL, FACTS
from ops.production.archive.archive import write_archive
from ops.production.archive.errors import ArchiveGoesFurther, ArchiveOfAnotherLog, HistoryIncomplete
from ops.production.archive.history import read_everything, read_stored
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.memory import MemoryBus, MemoryStream
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import DEVICE_PARTITION, PARTITION, SOLE
from ops.queries.replay import fold_partition
from ops.sandbox.bench.day import played, small_day
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Head, Message, Stream
from tests.ops.queries.audit.logs import Log, begin_streams, evidence_of, key_of

KEY = key_of(3)


@pytest.fixture(scope="module")
def log() -> Log:
    entries, _ = played(small_day(0))
    return entries


def holding(log: Log) -> MemoryBus:
    bus = MemoryBus()
    for name, entries in log.items():
        bus.memory(name).entries = list(entries)
    return bus


def upto(log: Log, ends: dict[str, int]) -> Log:
    return {name: entries[: ends.get(name, len(entries))] for name, entries in log.items()}


class CopiedStream(MemoryStream):
    """A stream that says of itself that it is a copy."""

    async def last(self) -> Head:
        return replace(await super().last(), copied=True)


def copied(log: Log) -> MemoryBus:
    """A bus that holds copies, as a hub does."""
    bus = MemoryBus()
    for name, entries in log.items():
        bus.streams[name] = CopiedStream(name)
        bus.streams[name].entries = list(entries)
    return bus


class Growing(MemoryBus):
    """A bus on which more is stored each time that somebody turns to a stream, as on one that runs."""

    def __init__(self, log: Log, share: float, step: float) -> None:
        super().__init__()
        self.log, self.share, self.step = log, share, step

    async def stream(self, name: str) -> Stream:
        self.share = min(self.share + self.step, 1.0)
        for each, entries in upto(self.log, closed(self.log, int(len(self.log[PARTITION]) * self.share))).items():
            self.memory(each).entries = list(entries)
        return await super().stream(name)


def closed(log: Log, partition: int) -> dict[str, int]:
    """How long every stream was when a partition had so many commits: nothing is stored before what it rests on."""
    ends = {PARTITION: partition, DEVICE_PARTITION: 0, FACTS: 0}
    before = None
    while before != ends:
        before = dict(ends)
        for name in (PARTITION, DEVICE_PARTITION):
            for entry in log[name][: ends[name]]:
                for stream in {PARTITION, DEVICE_PARTITION, FACTS} - {name}:
                    ends[stream] = max(ends[stream], rests_on(entry.data, stream))
    return ends


def rests_on(data: bytes, stream: str) -> int:
    return max((run.upto for run in decode_commit(data).inputs if run.stream == stream), default=0)


@pytest.mark.parametrize("step", [0.01, 0.02, 0.05, 0.1])
async def test_of_a_log_that_grows_all_is_read_that_belongs_together(log: Log, step: float) -> None:
    found = await read_everything(Growing(log, 0.4, step))
    assert tuple(found) == SOLE.every
    for partition in (PARTITION, DEVICE_PARTITION):
        assert found[partition] == log[partition][: len(found[partition])] and found[partition]
        for entry in found[partition]:
            for stream in (FACTS, PARTITION, DEVICE_PARTITION):
                assert rests_on(entry.data, stream) <= len(found[stream])
        assert fold_partition(partition, found, verify=True)[1].differences == ()


async def test_facts_that_a_log_has_lost_are_told_and_not_passed_over(log: Log) -> None:
    with pytest.raises(LogGap, match=f"{FACTS} has a gap: expected sequence 21"):
        await read_everything(holding(upto(log, {FACTS: 20})))
    assert len((await read_stored(holding(upto(log, {FACTS: 20}))))[PARTITION]) == len(log[PARTITION])


@pytest.mark.parametrize("late", [FACTS, PARTITION])
async def test_of_a_copy_of_which_one_stream_is_behind_the_others_all_is_read_that_belongs_together(
    log: Log, late: str
) -> None:
    for end in (0, 20):
        found = await read_everything(copied(upto(log, {late: end})))
        assert len(found[late]) == min(end, len(found[late])) < len(log[late])
        for partition in (PARTITION, DEVICE_PARTITION):
            assert found[partition] == log[partition][: len(found[partition])]
            assert fold_partition(partition, found, verify=True)[1].differences == ()


async def test_commits_that_rest_on_more_than_was_archived_are_left_out_and_it_is_said(
    log: Log, tmp_path: Path
) -> None:
    ends = {FACTS: 60, PARTITION: 60}
    write_archive(upto(log, ends), evidence_of(upto(log, ends), KEY), str(tmp_path))
    with capture_logs() as said:
        found = await read_everything(archive=str(tmp_path))
    assert found[FACTS] == log[FACTS][:60]
    assert 0 < len(found[DEVICE_PARTITION]) < len(log[DEVICE_PARTITION])
    told = [(one["event"], one["stream"], one["first"], one["last"]) for one in said]
    assert ("commits left out", DEVICE_PARTITION, len(found[DEVICE_PARTITION]) + 1, len(log[DEVICE_PARTITION])) in told
    for partition in (PARTITION, DEVICE_PARTITION):
        assert fold_partition(partition, found, verify=True)[1].differences == ()
    assert (await read_stored(archive=str(tmp_path)))[DEVICE_PARTITION] == log[DEVICE_PARTITION], (
        "an audit sees all of it"
    )
    with capture_logs() as said:
        assert await read_everything(holding(log), str(tmp_path)) == log
    assert said == []


async def test_a_log_of_which_one_stream_is_another_is_another_log(log: Log, tmp_path: Path) -> None:
    write_archive(log, evidence_of(log, KEY), str(tmp_path))
    other, _ = played(small_day(1))
    with pytest.raises(ArchiveOfAnotherLog, match=f"at {PARTITION}"):
        await read_everything(holding({**log, FACTS: [], PARTITION: other[PARTITION]}), str(tmp_path))
    with pytest.raises(
        ArchiveGoesFurther,
        match=f"{FACTS} holds less than its archive: .* goes up to {len(log[FACTS])}, the log only to 9",
    ):
        await read_everything(holding(upto(log, {FACTS: 9})), str(tmp_path))


async def begun(bus: JetStreamBus, log: Log, firsts: dict[str, int]) -> None:
    await begin_streams(bus, firsts)
    for name, entries in log.items():
        behind = entries[firsts[name] - 1 :]
        await (await bus.stream(name)).publish([Message(e.subject, e.data, e.message_id) for e in behind])


async def test_streams_that_begin_at_any_place_that_the_archive_reaches_are_read_on(log: Log, tmp_path: Path) -> None:
    url = str(tmp_path / "archive")
    ends = {name: len(entries) * 3 // 4 for name, entries in log.items()}
    write_archive(upto(log, ends), evidence_of(upto(log, ends), KEY), url)
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    # Trimmed inside the archive, right behind it, behind it with nothing there yet; and one gap, which is told.
    await begun(
        bus,
        log,
        {
            CONTROL: 1,
            FACTS: len(log[FACTS]) // 2,
            PARTITION: ends[PARTITION] + 1,
            DEVICE_PARTITION: ends[DEVICE_PARTITION] + 3,
        },
    )
    missing = f"{DEVICE_PARTITION} has a gap: {ends[DEVICE_PARTITION] + 1}–{ends[DEVICE_PARTITION] + 2} can't be read"
    with pytest.raises(HistoryIncomplete, match=missing):
        await read_everything(bus, url)
    with pytest.raises(HistoryIncomplete, match="Name its archive with --archive"):
        await read_everything(bus)
    write_archive(log, evidence_of(log, KEY), url)
    assert await read_everything(bus, url) == log
    await bus.close()
    await server.stop()


async def test_a_stream_that_was_begun_anew_and_holds_nothing_yet_ends_where_its_archive_does(
    log: Log, tmp_path: Path
) -> None:
    write_archive(log, evidence_of(log, KEY), str(tmp_path / "archive"))
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    await begun(bus, log, {name: len(entries) + 1 for name, entries in log.items()})
    assert await read_everything(bus, str(tmp_path / "archive")) == log
    await bus.close()
    await server.stop()
