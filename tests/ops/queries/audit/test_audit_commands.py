"""`kuelog audit` as a person meets it, on a real bus: what it finds, and one clear message for each mistake."""

import asyncio
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from events.subjects import FACTS
from ops.cli.audit.auditing import show
from ops.cli.main import app
from ops.production.archive.archive import segments_of
from ops.production.archive.folder import Folder
from ops.production.archive.proof.witness import HeadWitness
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import PARTITION
from ops.queries.audit.query import query_log
from ops.queries.audit.verify import Auditor
from services.runtime.log_port import Entry, Message
from tests.ops.queries.audit.logs import evidence_of, fact, key_of, log_of
from tests.places import ROOT


def kuelog(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "400"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


async def stored(data: Path, log: Mapping[str, Sequence[Entry]], *, witnessed: bool = True) -> None:
    """A folder as a run leaves it."""
    server = NatsServer(data / "nats")
    await server.start()
    try:
        bus = await connect(server.url)
        witness = HeadWitness(data / "witness")
        for name, entries in log.items():
            stream = await bus.stream(name)
            await stream.publish([Message(e.subject, e.data, e.message_id) for e in entries])
            if witnessed:
                await witness.witness(stream)
        await bus.close()
    finally:
        await server.stop()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("audit") / "run"
    asyncio.run(stored(data, log_of(40, devices=10)))
    return data


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    shutil.copytree(run, tmp_path / "run")
    return tmp_path / "run"


def flip_on_disk(data: Path, stream: str, word: bytes) -> None:
    path = data / "nats" / "jetstream" / "$G" / "streams" / stream / "msgs" / "1.blk"
    block = bytearray(path.read_bytes())
    block[block.index(word)] ^= 1
    path.write_bytes(bytes(block))


def test_the_whole_way_of_an_auditor(copy: Path, tmp_path: Path) -> None:
    code, told = kuelog("audit", "verify", "--data", str(copy), "-o", "json")
    report = json.loads(told)
    assert code == 0 and report["findings"] == []
    assert {one["stream"]: one["signed"] for one in report["streams"]}[PARTITION] == 40
    key = next(one["key"] for one in report["streams"] if one["stream"] == PARTITION)

    code, told = kuelog("audit", "checkpoint", "--data", str(copy), "--to", str(tmp_path / "handed"))
    assert code == 0 and "handed out as" in told
    handed = str(next((tmp_path / "handed").iterdir()))

    code, told = kuelog("audit", "archive", str(tmp_path / "archive"), "--data", str(copy))
    assert code == 0 and "100 messages archived in 3 files" in told
    code, told = kuelog("audit", "archive", str(tmp_path / "archive"), "--data", str(copy))
    assert code == 0 and "0 messages archived in 0 files" in told

    words = ("audit", "verify", "--archive", str(tmp_path / "archive"), "--trust", key, "--checkpoint", handed)
    assert kuelog(*words)[0] == 0
    code, told = kuelog("audit", "verify", "--archive", str(tmp_path / "archive"), "--trust", "0123456789abcdef")
    assert code == 1 and "0123456789abcdef is to be trusted, but is not among the keys" in told

    code, told = kuelog("audit", "prove", "17", "--archive", str(tmp_path / "archive"), "-f", str(tmp_path / "p.json"))
    assert code == 0 and json.loads((tmp_path / "p.json").read_text())["sequence"] == 17
    code, told = kuelog("audit", "query", "SELECT count(*) AS n FROM facts", "--data", str(copy), "-o", "json")
    assert (code, json.loads(told)) == (0, [{"n": 50}])
    assert kuelog("audit", "rotate-key", "--witness", str(copy / "witness"))[0] == 0
    code, told = kuelog("audit", "checkpoint", "--data", str(copy))
    assert code == 0 and key not in told, "what the old key had signed is signed by the new one too"
    assert kuelog("audit", "verify", "--data", str(copy), "--trust", key, "--checkpoint", handed)[0] == 0

    asyncio.run(stored(copy, {FACTS: [fact(sequence, 2000) for sequence in range(51, 61)]}))
    assert kuelog("audit", "checkpoint", "--data", str(copy), "--to", str(tmp_path / "later"))[0] == 0
    later = str(next((tmp_path / "later").iterdir()))
    proof = tmp_path / "grown.json"
    code, told = kuelog(
        "audit", "prove", "--consistency", handed, later, "--data", str(copy), "--stream", FACTS, "-f", str(proof)
    )
    assert code == 0 and "FACTS from 50 to 60 proved in" in told, told
    checker = [sys.executable, "-I", str(ROOT / "docs" / "verify_proof.py"), str(proof), key]
    done = subprocess.run(checker, capture_output=True, text=True, check=False)
    assert "holds: FACTS goes on from 50 to 60" in done.stdout, done.stdout


@pytest.mark.parametrize(("stream", "word", "sequence"), [(PARTITION, b'"team/w20"', 21), (FACTS, b'"team/w33"', 33)])
def test_a_byte_that_was_flipped_on_disk_is_named_and_nothing_is_signed_or_archived(
    stream: str, word: bytes, sequence: int, copy: Path, tmp_path: Path
) -> None:
    flip_on_disk(copy, stream, word)
    code, told = kuelog("audit", "verify", "--data", str(copy))
    assert code == 1 and f"{stream} {sequence}" in told
    code, told = kuelog("audit", "checkpoint", "--data", str(copy))
    assert code == 1 and "nothing is signed" in told
    code, told = kuelog("audit", "archive", str(tmp_path / "archive"), "--data", str(copy))
    assert code == 1 and "nothing is archived" in told and not (tmp_path / "archive").exists()
    code, told = kuelog("replay", "--data", str(copy))
    assert code == 2 and f"{stream} has a gap: 1–{sequence} can't be read" in told


async def test_with_an_archive_it_is_said_what_was_there_before(copy: Path, tmp_path: Path) -> None:
    log, archive = log_of(40, devices=10), str(tmp_path / "archive")
    assert (await asyncio.to_thread(kuelog, "audit", "archive", archive, "--data", str(copy)))[0] == 0
    for one in (6, 8):
        entry = log[PARTITION][one]
        log[PARTITION][one] = msgspec.structs.replace(entry, data=entry.data.replace(b"team/w", b"team/x"))
    other = tmp_path / "other"
    await stored(other, log, witnessed=False)
    shutil.copytree(copy / "witness", other / "witness", dirs_exist_ok=True)
    flip_on_disk(other, FACTS, b'"team/w33"')
    verify = ("audit", "verify", "--data", str(other), "--against", archive)
    code, told = await asyncio.to_thread(kuelog, *verify)
    assert code == 1 and "changed  LOG_0 7" in told
    assert 'LOG_0 from 7 on, first changed: events[0].workload before "team/w6" after "team/x6"' in told
    assert 'FACTS from 33 on, first changed: before {"id":"33:f"' in told and "after nothing" in told
    code, told = await asyncio.to_thread(kuelog, *verify, "-o", "json")
    assert [line.partition(",")[0] for line in json.loads(told)["first"]] == ["FACTS from 33 on", "LOG_0 from 7 on"]
    code, told = await asyncio.to_thread(kuelog, "audit", "verify", "--data", str(copy), "--against", archive)
    assert code == 0 and "first changed" not in told
    code, told = await asyncio.to_thread(kuelog, *verify[:-1], str(tmp_path / "nowhere"))
    assert code == 2 and "it is no archive" in told


def test_an_event_of_a_newer_version_can_be_audited_though_it_cannot_be_folded(tmp_path: Path) -> None:
    log = log_of(5)
    newer = log[FACTS][4].data.replace(b"PodsGone.v1", b"PodsGone.v9")
    log[FACTS][4] = msgspec.structs.replace(log[FACTS][4], data=newer)
    asyncio.run(stored(tmp_path, log))
    assert kuelog("audit", "verify", "--data", str(tmp_path))[0] == 0
    code, told = kuelog("replay", "--data", str(tmp_path))
    assert code == 2 and "FACTS sequence 5" in told and "written by a newer version" in told


def test_what_is_behind_the_last_checkpoint_is_said(tmp_path: Path) -> None:
    asyncio.run(stored(tmp_path, log_of(5), witnessed=False))
    code, told = kuelog("audit", "verify", "--data", str(tmp_path))
    assert code == 2 and "is no witness folder" in told
    code, told = kuelog("audit", "checkpoint", "--data", str(tmp_path))
    assert code == 0 and "LOG_0 5:" in told
    (tmp_path / "witness" / "heads.json").write_text("{}")
    code, told = kuelog("audit", "verify", "--data", str(tmp_path))
    assert code == 0 and "held by the chain of commits only" in told


def test_every_mistake_is_one_clear_message(copy: Path, tmp_path: Path) -> None:
    archive = str(tmp_path / "archive")
    assert kuelog("audit", "archive", archive, "--data", str(copy))[0] == 0
    (copy / "witness" / "witness.key").unlink()
    (tmp_path / "empty").mkdir()
    (file := tmp_path / "file").touch()
    for words, expected in (
        (("verify", "--data", str(tmp_path / "nowhere")), "holds no log"),
        (("verify", "--archive", str(tmp_path / "nowhere")), "holds no archive.json: it is no archive"),
        (("verify", "--archive", str(tmp_path / "empty"), "--witness", archive), "it is no archive"),
        (("verify", "--nats", "nats://127.0.0.1:9"), "name the folder of its checkpoints with --witness"),
        (("verify", "--archive", archive, "--checkpoint", str(tmp_path / "none.json")), "holds no none.json"),
        (("verify", "--archive", archive, "--checkpoint", f"{archive}/heads.json"), "is no file of checkpoints"),
        (("checkpoint", "--data", str(copy)), "the private key"),
        (("rotate-key", "--witness", str(copy / "witness")), "--lost REASON"),
        (("rotate-key", "--witness", str(tmp_path / "empty")), "it is no witness folder"),
        (("prove", "99", "--archive", archive), "covers sequences 1 to 40"),
        (("prove", "1", "--stream", "LOG_9", "--archive", archive), "no checkpoint"),
        (("prove", "--archive", archive), "name the sequence of a message, or --consistency"),
        (("prove", "1", "--consistency", "a", "b", "--archive", archive), "name the sequence of a message, or"),
        (("prove", "--consistency", f"{archive}/none", "b", "--archive", archive), "holds no none"),
        (("query", "SELECT nothing FROM nowhere", "--archive", archive), "views messages, commits, facts and events"),
        (("query", "SELECT 1", "--archive", str(tmp_path / "empty")), "it is no archive"),
        (
            ("prove", "1", "--archive", archive, "-f", str(tmp_path / "empty")),
            ": empty can't be written: Is a directory",
        ),
        (("prove", "1", "--archive", archive, "-f", f"{file}/p"), f"error: {file}: p can't be written: File exists"),
        (("archive", str(file), "--data", str(copy)), "can't be written: Not a directory"),
        (("archive", "gopher://x", "--data", str(copy)), "no storage of that kind"),
    ):
        code, told = kuelog("audit", *words)
        assert code == 2 and expected in told and "Errno" not in told, (words, told)
    path = tmp_path / "archive" / segments_of(Folder(archive))[0].file
    path.write_bytes(path.read_bytes()[:-9])
    code, told = kuelog("audit", "verify", "--archive", archive)
    assert code == 1 and "DEVICES_default 1–10" in told
    code, told = kuelog("audit", "query", "SELECT count(*) FROM messages", "--archive", archive)
    assert code == 2 and "Traceback" not in told


def test_every_command_explains_itself_with_an_example() -> None:
    for command in ("verify", "checkpoint", "prove", "archive", "query", "rotate-key"):
        code, told = kuelog("audit", command, "--help")
        assert code == 0 and "Example: kuelog audit" in told


async def unsigned(data: Path) -> None:
    """Somebody enters something after the last checkpoint."""
    server = NatsServer(data / "nats")
    await server.start()
    bus = await connect(server.url)
    one = fact(51, 9000)
    await (await bus.stream(FACTS)).publish([Message(one.subject, one.data, one.message_id)])
    await bus.close()
    await server.stop()


def test_what_nobody_has_signed_yet_is_signed_first_or_told_to_be_left_out(copy: Path, tmp_path: Path) -> None:
    asyncio.run(unsigned(copy))
    key = copy / "witness" / "witness.key"
    kept = key.read_bytes()
    key.unlink()
    code, told = kuelog("audit", "archive", str(tmp_path / "without"), "--data", str(copy))
    assert code == 0 and "left out: 1 message(s) of FACTS from 51 on" in told
    key.write_bytes(kept)
    code, told = kuelog("audit", "archive", str(tmp_path / "with"), "--data", str(copy))
    assert code == 0 and "left out" not in told
    ends = {one.stream: one.last for one in segments_of(Folder(str(tmp_path / "with")))}
    assert ends[FACTS] == 51


@pytest.mark.parametrize("words", ["[/red]", "x\nnothing was changed, is missing, was added", "\x1b[2J"])
async def test_what_an_audit_finds_is_told_in_a_line_whatever_messages_say(words: str, tmp_path: Path) -> None:
    log, out = log_of(10), io.StringIO()
    log[PARTITION][4] = msgspec.structs.replace(log[PARTITION][4], message_id=words)
    evidence = evidence_of(log_of(3), key_of(1))
    harmed = {name: msgspec.structs.replace(head, key=words) for name, head in evidence.heads.items()}
    report = Auditor(msgspec.structs.replace(evidence, heads=harmed)).examine(log)
    show(report, 0, Console(file=out, width=1000))
    told = out.getvalue()
    assert "LOG_0 5  is stored as" in told and "\x1b" not in told
    assert not [line for line in told.splitlines() if line.startswith("nothing was changed")]


def test_a_message_that_nobody_can_read_keeps_no_query_from_its_answer() -> None:
    log = log_of(10)
    for data in (b"no json", b"", b'{"events":5}', b'{"events":{"a":1}}', b"[" * 5000, b"\xff"):
        log[PARTITION][4] = msgspec.structs.replace(log[PARTITION][4], data=data)
        log[FACTS][4] = msgspec.structs.replace(log[FACTS][4], data=data)
        rows = query_log(log, "SELECT count(*), count(type) FROM events").rows
        assert rows == [(9 + 10, 9 + 9)], data


async def test_a_log_of_which_nothing_was_signed_yet_is_audited_before_it_is(tmp_path: Path) -> None:
    log = log_of(10)
    log[PARTITION][4] = msgspec.structs.replace(log[PARTITION][4], data=log[PARTITION][3].data)
    await stored(tmp_path, log, witnessed=False)
    code, told = await asyncio.to_thread(kuelog, "audit", "checkpoint", "--data", str(tmp_path))
    assert code == 1 and "nothing is signed" in told and "LOG_0 5" in told, told
    assert not (tmp_path / "witness" / "heads.json").exists()


def test_a_folder_that_is_no_archive_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for words in (("verify",), ("prove", "1")):
        for name in ("nowhere", "empty"):
            code, text = kuelog("audit", *words, "--archive", str(tmp_path / name))
            assert code == 2 and "it is no archive; `kuelog audit archive` makes one" in text, text
            assert "witness" not in text
