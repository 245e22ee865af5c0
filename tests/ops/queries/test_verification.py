"""What is amiss on a log (author, subject, time) fails every verification, and is told with its place."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from events.codec import encode
from events.commit import Sighting
from events.control import Quarantined
from events.event import Millis
from events.quota import NamespaceObserved
from events.subjects import CONTROL, FACTS, fact_subject
from ops.cli.main import app
from ops.production.log.control import say
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.sandbox.bench.day import played, small_day
from services.runtime.log_port import Message
from tests.ops.queries.audit.logs import Log
from tests.ops.queries.audit.test_audit_commands import stored

FAR: Millis = 4_102_444_800_000
"""A time that no server of this test can have."""
OURS = fact_subject("", "NamespaceObserved")
FOREIGN: Mapping[str, tuple[str, str, Millis, str]] = {
    "a subject of others": ("kuelog.facts.a.b.NamespaceObserved", "watcher", 1, "not the subject of such facts"),
    "an author of others": (OURS, "applier", 1, "applier may not say NamespaceObserved"),
    "an author that is unknown": (OURS, "someone", 1, "there is no such author"),
    "a time far ahead": (OURS, "watcher", FAR, "ms later than any that the bus could have stored then"),
}


def kuelog(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "400"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


async def put(data: Path, messages: Sequence[Message]) -> None:
    server = NatsServer(data / "nats")
    await server.start()
    try:
        bus = await connect(server.url)
        await (await bus.stream(FACTS)).publish(messages)
        await bus.close()
    finally:
        await server.stop()


@pytest.fixture(scope="module")
def log() -> Log:
    entries, _ = played(small_day(0))
    return entries


@pytest.fixture
def run(log: Log, tmp_path: Path) -> Path:
    """A folder as a run leaves it."""
    asyncio.run(stored(tmp_path / "run", log))
    return tmp_path / "run"


def said(way: str) -> Message:
    subject, author, at, _ = FOREIGN[way]
    sighting = Sighting(id=way, at=at, author=author, fact=NamespaceObserved(name="team"))
    return Message(subject, encode(sighting), way)


def test_a_replay_fails_on_what_is_amiss_and_names_it(run: Path) -> None:
    code, told = kuelog("replay", "--data", str(run), "--verify")
    assert code == 0 and "come out the same" in told
    asyncio.run(put(run, [said(way) for way in FOREIGN]))
    code, told = kuelog("replay", "--data", str(run))
    assert code == 0, "it is asked for nothing but the state"
    code, told = kuelog("replay", "--data", str(run), "--verify")
    assert code == 1
    assert told.count("amiss: ") == 2 * len(FOREIGN)
    for _, _, _, why in FOREIGN.values():
        assert why in told
    code, plain = kuelog("replay", "--data", str(run), "--verify", "-o", "json")
    partitions = {one["partition"]: one["amiss"] for one in json.loads(plain)}
    assert code == 1 and {partition: len(found) for partition, found in partitions.items()} == {
        PARTITION: 4,
        DEVICE_PARTITION: 4,
    }
    assert {one["what"] for one in partitions[PARTITION]} == {"author", "time"}


def test_an_audit_finds_what_is_amiss_and_signs_and_archives_it_all_the_same(run: Path, tmp_path: Path) -> None:
    code, told = kuelog("audit", "verify", "--data", str(run))
    assert code == 0, told
    asyncio.run(put(run, [said(way) for way in FOREIGN]))
    code, told = kuelog("audit", "verify", "--data", str(run))
    assert code == 1
    for _, _, _, why in FOREIGN.values():
        assert why in told
    assert "nothing was changed" in told, "the log is as it was written"
    archive = str(tmp_path / "archive")
    for words in (("checkpoint",), ("archive", archive)):
        code, told = kuelog("audit", *words, "--data", str(run))
        assert code == 0 and "no such author" in told, told
    code, told = kuelog("audit", "verify", "--archive", archive)
    assert code == 1 and told.count("NamespaceObserved") == 3 and told.count("ms later than any") == 1, told


async def control(data: Path, sequence: int) -> None:
    """Have a fact skipped, whatever rests on it."""
    server = NatsServer(data / "nats")
    await server.start()
    try:
        bus = await connect(server.url)
        await say(await bus.stream(CONTROL), Quarantined(stream=FACTS, sequence=sequence, reason="not ours"), 1)
        await bus.close()
    finally:
        await server.stop()


def test_who_looks_at_the_log_sees_what_is_amiss_skipped_and_unreadable(run: Path, log: Log) -> None:
    end = len(log[FACTS])
    unreadable = Message(OURS, b"[", "unreadable")
    asyncio.run(put(run, [*(said(way) for way in FOREIGN), unreadable, Message(OURS, b"[", "skipped")]))
    asyncio.run(control(run, end + 6))
    code, told = kuelog("log", "show", "--data", str(run), "--stream", FACTS, "--last", "6")
    assert code == 0, told
    for _, _, _, why in FOREIGN.values():
        assert f"{why}" in told
    assert told.count("  amiss: ") == 3 and told.count("  amiss, its time is brought back: ") == 1
    assert f"FACTS/{end + 5}" in told and "  unreadable: FACTS sequence" in told
    assert "  quarantined: not ours" in told
    code, plain = kuelog("log", "show", "--data", str(run), "-o", "json")
    marks = [one["mark"].partition(":")[0] for one in map(json.loads, plain.splitlines()) if one["mark"]]
    assert sorted(marks) == ["amiss", "amiss", "amiss", "amiss, its time is brought back", "quarantined", "unreadable"]
