"""An archive gives back the very bytes, is read as one with the log, and tells what was done to it."""

import io
import random
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.subjects import FACTS
from ops.production.archive.archive import LIST, read_archive, read_segment, segments_of, write_archive
from ops.production.archive.errors import (
    ArchiveDamaged,
    ArchiveGoesFurther,
    ArchiveOfAnotherLog,
    FolderUnreadable,
    HistoryIncomplete,
    QueryRefused,
)
from ops.production.archive.folder import Folder
from ops.production.archive.history import read_everything
from ops.production.archive.proof.evidence import load_evidence
from ops.production.archive.segments.segment import SegmentUnreadable, file_hash, from_parquet, to_parquet
from ops.production.log.jetstream.bus import connect
from ops.production.log.memory import MemoryBus
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.audit.query import query_archive, query_log
from ops.queries.audit.verify import Auditor
from services.runtime.log_port import Message
from tests.ops.queries.audit.logs import Log, begin_streams, evidence_of, key_of, log_of
from tests.ops.queries.audit.test_tampering import SEED, WAYS

KEY = key_of(1)


@pytest.fixture(scope="module")
def log() -> Log:
    return log_of(600, devices=100)


def memory_bus(log: Log) -> MemoryBus:
    bus = MemoryBus()
    for stream, entries in log.items():
        bus.memory(stream).entries = list(entries)
    return bus


def without_times(log: Log) -> Log:
    """A log as if nobody had told when its messages were stored."""
    return {stream: [msgspec.structs.replace(one, stored=0) for one in entries] for stream, entries in log.items()}


def first(log: Log, share: float) -> Log:
    return {stream: entries[: int(len(entries) * share)] for stream, entries in log.items()}


@pytest.mark.parametrize("url", ["folder", "memory://archive-test/a"])
async def test_archive_and_log_are_read_as_one(url: str, log: Log, tmp_path: Path) -> None:
    url = str(tmp_path / "archive") if url == "folder" else url
    for share in (0.4, 0.4, 0.7):
        write_archive(first(log, share), evidence_of(first(log, share), KEY), url)
    assert len(segments_of(Folder(url))) == 6, "what was archived before is not archived again"
    archived, damage = read_archive(url)
    assert damage == [] and archived[PARTITION] == log[PARTITION][:420]
    assert Auditor(load_evidence(url)).examine(archived, ends={}).findings == ()
    assert await read_everything(memory_bus(log), url) == log
    assert (await read_everything(archive=url))[PARTITION] == log[PARTITION][:420]
    assert await read_everything(memory_bus(log)) == log
    assert (await read_everything())[PARTITION] == []


async def test_a_log_that_does_not_go_on_where_its_archive_ends_is_told(log: Log, tmp_path: Path) -> None:
    url = str(tmp_path)
    write_archive(log, evidence_of(log, KEY), url)
    with pytest.raises(ArchiveGoesFurther, match="holds less than its archive"):
        await read_everything(memory_bus(first(log, 0.5)), url)
    other = dict(log)
    other[PARTITION] = [*log[PARTITION][:-1], msgspec.structs.replace(log[PARTITION][-1], data=b"{}")]
    with pytest.raises(ArchiveOfAnotherLog, match="LOG_0 600"):
        await read_everything(memory_bus(other), url)
    with pytest.raises(ArchiveOfAnotherLog, match="another log"):
        write_archive(other, evidence_of(other, KEY), url)


def test_whatever_is_done_to_the_files_of_an_archive_is_found(log: Log, tmp_path: Path) -> None:
    url = str(tmp_path)
    write_archive(log, evidence_of(log, KEY), url)
    chance = random.Random(SEED)
    folder = Folder(url)
    auditor = Auditor(load_evidence(url))
    whole, _ = read_archive(url)
    for segment in segments_of(folder):
        good = (tmp_path / segment.file).read_bytes()
        for n in range(40):
            entries = from_parquet(good)
            if n % 2:
                bad = bytearray(good)
                bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
                harm = bytes(bad) if n % 4 == 1 else bytes(bad[: chance.randrange(len(bad))])
                places = set(range(segment.first, segment.last + 1))
            else:
                places = {at for _, at in chance.choice(WAYS)(entries, chance.randrange(len(entries)), chance)}
                harm = to_parquet(entries)
            (tmp_path / segment.file).write_bytes(harm)
            found, problem = read_segment(folder, segment)
            assert problem, "the list of segments names the file by its hash"
            # Even when the list is made to agree, the messages are held against what was signed.
            listed = msgspec.structs.replace(segment, sha256=file_hash(harm))
            found, _ = read_segment(folder, listed)
            findings = auditor.examine({**whole, segment.stream: found}).findings
            if found != whole[segment.stream]:
                assert findings and {one.stream for one in findings} == {segment.stream}
                assert {one.sequence for one in findings} <= places
        (tmp_path / segment.file).write_bytes(good)


async def test_an_archive_with_a_wrong_hash_or_without_a_file_is_not_read_as_history(log: Log, tmp_path: Path) -> None:
    url = str(tmp_path)
    write_archive(log, evidence_of(log, KEY), url)
    segment = segments_of(Folder(url))[0]
    path = tmp_path / segment.file
    good = path.read_bytes()
    path.write_bytes(to_parquet(from_parquet(good)[:-1]))
    with pytest.raises(ArchiveDamaged, match="is not the file that was archived"):
        await read_everything(archive=url)
    path.unlink()
    with pytest.raises(ArchiveDamaged, match="is not there"):
        await read_everything(archive=url)
    path.write_bytes(good)
    (tmp_path / LIST).write_bytes(b"[{")
    with pytest.raises(FolderUnreadable, match="can't be read"):
        await read_everything(archive=url)


def test_sql_says_the_same_of_a_log_and_of_its_archive(log: Log, tmp_path: Path) -> None:
    for url in (str(tmp_path), "memory://archive-sql/a"):
        write_archive(log, evidence_of(log, KEY), url)
        for sql in (
            "SELECT type, count(*) FROM events GROUP BY type ORDER BY type",
            "SELECT stream, sequence, time, events, body ->> '$.prev_hash' FROM commits ORDER BY ALL LIMIT 5",
            "SELECT workload, fact ->> '$.type' FROM facts WHERE sequence = 17",
        ):
            assert query_archive(url, sql) == query_log(log, sql)
    rows = query_log(log, "SELECT stream, count(*) FROM messages GROUP BY 1 ORDER BY 1").rows
    assert rows == [(DEVICE_PARTITION, 100), (FACTS, 700), (PARTITION, 600)]
    with pytest.raises(QueryRefused, match="views messages, commits, facts and events"):
        query_log(log, "SELEKT 1")


def test_a_message_that_this_version_cannot_read_is_archived_and_queried_all_the_same(tmp_path: Path) -> None:
    log = log_of(3)
    log[PARTITION].append(
        msgspec.structs.replace(log[PARTITION][-1], sequence=4, message_id="x", data=b"\xff\x00no json")
    )
    write_archive(log, evidence_of(log, KEY), str(tmp_path))
    archived, _ = read_archive(str(tmp_path))
    assert archived[PARTITION][-1].data == b"\xff\x00no json"
    assert Auditor(load_evidence(str(tmp_path))).examine(archived, ends={}).findings == ()
    assert query_archive(str(tmp_path), "SELECT events, body FROM commits WHERE sequence = 4").rows == [(0, None)]


async def test_a_stream_that_begins_behind_its_archive_is_read_on(log: Log, tmp_path: Path) -> None:
    url = str(tmp_path / "archive")
    old = first(log, 0.5)
    write_archive(old, evidence_of(old, KEY), url)
    server = NatsServer(tmp_path / "nats")
    await server.start()
    try:
        bus = await connect(server.url)
        await begin_streams(bus, {stream: len(entries) + 1 for stream, entries in old.items()})
        for stream, entries in log.items():
            behind = entries[len(old[stream]) :]
            await (await bus.stream(stream)).publish([Message(e.subject, e.data, e.message_id) for e in behind])
        assert without_times(await read_everything(bus, url)) == log
        with pytest.raises(
            HistoryIncomplete, match="DEVICES_default has a gap: 1–50 can't be read, the log goes on at 51"
        ):
            await read_everything(bus)
        await bus.close()
    finally:
        await server.stop()


def test_an_archive_keeps_when_a_message_was_stored_and_an_older_one_does_not_know(log: Log) -> None:
    entry = msgspec.structs.replace(log[PARTITION][0], stored=1234)
    data = to_parquet([entry])
    assert from_parquet(data) == [entry]
    table = pq.read_table(io.BytesIO(data)).drop_columns(["stored"])
    older = io.BytesIO()
    pq.write_table(table, older)
    assert from_parquet(older.getvalue()) == [msgspec.structs.replace(entry, stored=0)]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "LOG_0/../../secret", "LOG_0/a\0b", ""])
def test_a_list_that_names_a_file_outside_of_the_archive_is_refused(log: Log, tmp_path: Path, name: str) -> None:
    url = str(tmp_path / "archive")
    write_archive(first(log, 0.1), evidence_of(first(log, 0.1), KEY), url)
    (tmp_path / "secret").write_bytes(to_parquet(log[PARTITION][:1]))
    [segment, *rest] = segments_of(Folder(url))
    outside = msgspec.structs.replace(segment, file=name)
    Folder(url).write(LIST, msgspec.json.encode([outside, *rest]))
    for ask in (
        lambda: read_archive(url),
        lambda: query_archive(url, "SELECT 1"),
        lambda: query_archive(url, "SELECT 1", unchecked=True),
    ):
        with pytest.raises(FolderUnreadable, match="names a file"):
            ask()


def test_nothing_is_written_behind_a_link_that_leads_out_of_the_archive(log: Log, tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "archive" / PARTITION).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FolderUnreadable, match="leads out of it"):
        write_archive(log, evidence_of(log, KEY), str(tmp_path / "archive"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"5",
        b'[{"stream": "FACTS"}]',
        b'[{"stream": "FACTS", "first": -5, "last": 3, "file": "a", "sha256": ""}]',
        b'[{"stream": "FACTS", "first": 1, "last": 99999999999999999999999999, "file": "a", "sha256": ""}]',
    ],
)
def test_a_list_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / LIST).write_bytes(data)
    with pytest.raises(FolderUnreadable, match=LIST):
        read_archive(str(tmp_path))


@settings(max_examples=60, deadline=None)
@given(
    data=st.binary(max_size=200),
    place=st.integers(min_value=0, max_value=10_000),
    column=st.sampled_from(["sequence", "subject", "data", "stored"]),
)
def test_whatever_a_segment_holds_is_read_or_refused(log: Log, data: bytes, place: int, column: str) -> None:
    whole = to_parquet(log[PARTITION][:20])
    at = place % len(whole)
    table = pq.read_table(io.BytesIO(whole))
    out = io.BytesIO()
    number = table.column_names.index(column)
    pq.write_table(table.set_column(number, column, pa.array([data] * len(table))), out)
    for hostile in (data, whole[:at] + data + whole[at + len(data) :], out.getvalue()):
        with suppress(SegmentUnreadable):
            from_parquet(hostile)


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b'{"at": 1e30, "events": 5}', b'{"at": 9223372036854775807}', b"\xff"]
)
def test_messages_that_nobody_can_read_are_archived_as_they_are(log: Log, data: bytes) -> None:
    poison = msgspec.structs.replace(log[FACTS][0], data=data)
    assert from_parquet(to_parquet([poison])) == [poison]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM '{secret}'",
        "COPY (SELECT 1) TO '{made}'",
        "ATTACH '{made}'",
        "INSTALL httpfs",
        "SELECT * FROM read_csv('http://127.0.0.1:1/x.csv')",
        "SET enable_external_access = true",
        "SELECT * FROM files",
        "EXPORT DATABASE '{made}'",
    ],
)
def test_a_query_reaches_no_file_no_network_and_nothing_of_the_program(log: Log, tmp_path: Path, sql: str) -> None:
    secret, made = tmp_path / "secret.csv", tmp_path / "made"
    secret.write_text("what,nobody\nshould,read\n")
    write_archive(log, evidence_of(log, KEY), str(tmp_path / "archive"))
    for ask in (lambda text: query_log(log, text), lambda text: query_archive(str(tmp_path / "archive"), text)):
        with pytest.raises(QueryRefused):
            ask(sql.format(secret=secret, made=made))
        assert ask("SELECT count(*) FROM messages").rows[0][0] > 0
    assert not made.exists()
