"""A backup is restored onto a new bus with every sequence, is proved and read back, and the log goes on from there."""

import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from typer.testing import CliRunner

from events.codec import decode_commit, encode
from events.hash_chain import bytes_hash
from events.subjects import FACTS, commit_subject
from ops.cli.main import app
from ops.files.run_folder import held
from ops.production.archive import backup as backups
from ops.production.archive.backup import MANIFEST, make_backup
from ops.production.archive.data_sets import DataSetWriter, kept
from ops.production.archive.errors import ArchiveDamaged, BackupRefused
from ops.production.archive.history import read_everything
from ops.production.archive.proof.approvers import APPROVERS
from ops.production.archive.proof.evidence import load_evidence
from ops.production.archive.proof.witness import HeadWitness
from ops.production.archive.restore import restore_backup
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.generations import generations
from ops.production.log.jetstream.rolling import remove
from ops.production.log.jetstream.shelf import WATCHER
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.audit.verify import Auditor
from ops.queries.replay import fold_partition
from ops.sandbox.bench.day import played, small_day
from services.runtime.log_errors import NotAllowed
from services.runtime.log_port import Message
from tests.ops.production.archive.test_archivist import Place
from tests.ops.production.deploy.test_bus_users import address
from tests.ops.production.deploy.test_bus_users import bus as generated_bus
from tests.ops.queries.audit.logs import Log


@pytest.fixture(scope="module")
def log() -> Log:
    entries, _ = played(small_day(0))
    return entries


@asynccontextmanager
async def bus_in(folder: Path) -> AsyncGenerator[JetStreamBus, None]:
    server = NatsServer(folder)
    await server.start()
    bus = await connect(server.url)
    await bus.shelf.prepare()
    try:
        yield bus
    finally:
        await bus.close()
        await server.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backup(log: Log, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a log that was rolled once."""
    folder = tmp_path_factory.mktemp("backed-up")
    async with bus_in(folder / "nats") as bus:
        on = Place(bus, folder, log)
        await on.put(0, 5)
        await on.archivist.look(0)
        await on.put(5, 10)
        await on.save_worlds()
        await on.archivist.look(0)
        for name in (PARTITION, DEVICE_PARTITION, FACTS):
            await remove(bus, name)  # No commit of this log names what is saved, so nothing goes by itself.
        assert (await on.firsts())[PARTITION][0] > 1
        (on.witness / APPROVERS).write_bytes(b"[]")
        billed = DataSetWriter()
        billed.write(b"BilledCost\n1\n")
        billed.keep(str(on.witness), "2026-11")
        await make_backup(bus, on.witness, str(on.archive), str(folder / "backup"))
    return folder / "backup"


@pytest.mark.parametrize("step", ["archive_signed", "_to_common_end"])
async def test_worlds_that_are_saved_while_a_backup_is_made_do_not_keep_it_from_beginning(
    step: str, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(backups, step)
    async with bus_in(tmp_path / "nats") as bus:
        on = Place(bus, tmp_path, log)
        fresh = ["one", "another"]

        async def amid_a_log_that_goes_on(*given: Any) -> Any:
            answer = await real(*given)
            while fresh:
                last = log[FACTS][-1]
                await (await bus.stream(FACTS)).publish([Message(last.subject, last.data, fresh.pop())])
                await on.save_worlds()
            return answer

        await on.put(0, 5)
        await on.archivist.look(0)
        await on.put(5, 10)
        await on.save_worlds()
        for name in (PARTITION, DEVICE_PARTITION, FACTS):
            await remove(bus, name)
        monkeypatch.setattr(backups, step, amid_a_log_that_goes_on)
        made = await make_backup(bus, on.witness, str(on.archive), str(tmp_path / "backup"))
        assert not fresh and made.streams[PARTITION].first > 1
        assert [one.label.key for one in made.worlds] == [PARTITION, DEVICE_PARTITION, WATCHER]
        for one in made.worlds:
            assert all(upto <= made.streams[name].last for name, upto in one.label.upto.items())


def copied(backup: Path, to: Path) -> Path:
    for file in (one for one in backup.rglob("*") if one.is_file()):
        there = to / file.relative_to(backup)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_bytes(file.read_bytes())
    return to


async def test_a_restored_log_is_the_log_and_goes_on(backup: Path, log: Log, tmp_path: Path) -> None:
    witness, archive = tmp_path / "witness", tmp_path / "archive"
    async with bus_in(tmp_path / "nats") as bus:
        await restore_backup(str(backup), bus, witness, str(archive))
        for folder in (witness, archive):
            assert (folder / APPROVERS).read_bytes() == b"[]", "who may approve of months"
            billed = hashlib.sha256(b"BilledCost\n1\n").hexdigest()
            assert kept((str(folder),), "2026-11", billed) is not None, "what was billed for a closed month"
        found = await read_everything(bus, str(archive))
        for name, entries in log.items():
            assert [(one.subject, one.message_id, one.data) for one in found[name]] == [
                (one.subject, one.message_id, one.data) for one in entries
            ]
        for partition in (PARTITION, DEVICE_PARTITION):
            assert fold_partition(partition, found, verify=True)[1].differences == ()
        assert (await generations(bus.client, PARTITION))[0].first > 1, "what was rolled before stays in the archive"
        before, now = (await bus.stream(FACTS)), await read_everything(archive=str(archive))
        last = await before.get(len(log[FACTS]))
        assert last.stored == now[FACTS][-1].stored > 0, "it is known when a message was stored first"
        assert [one.upto[PARTITION] for one in await bus.shelf.labels(WATCHER)] == [len(log[PARTITION])]
        partition, end = await bus.stream(PARTITION), log[PARTITION][-1]
        commit = decode_commit(end.data)
        fields = {name: getattr(commit, name) for name in commit.__struct_fields__}
        fields |= {"id": "next", "base": end.sequence, "prev_hash": bytes_hash(end.data), "inputs": (), "events": ()}
        data = encode(type(commit)(**fields))
        subject = commit_subject(PARTITION, commit.author)
        assert await partition.append(subject, data, message_id="next", base=end.sequence) == end.sequence + 1
        again = HeadWitness(witness)
        for name in log:
            await again.check(await bus.stream(name))
            await again.witness(await bus.stream(name))
        report = Auditor(load_evidence(str(witness))).examine(await read_everything(bus, str(archive)))
        assert report.findings == ()
        assert {one.stream: one.signed for one in report.streams}[PARTITION] == len(log[PARTITION]) + 1


async def test_the_user_who_restores_may_do_that_on_a_bus_with_the_generated_rights(
    backup: Path, log: Log, tmp_path: Path
) -> None:
    folder = tmp_path / "bus"
    folder.mkdir()
    async with generated_bus(folder) as port:
        for number in ("one", "two"):
            bus = await connect(address(port, "restorer"))
            await restore_backup(str(backup), bus, tmp_path / number, str(tmp_path / f"a-{number}"), force=True)
            assert (await (await bus.stream(PARTITION)).last()).sequence == len(log[PARTITION])
            await bus.close()
        reader = await connect(address(port, "operator"))
        with pytest.raises(NotAllowed, match=r"may not publish to \$JS\.API\.STREAM\.DELETE"):
            await restore_backup(str(backup), reader, tmp_path / "no", str(tmp_path / "a-no"), force=True)
        await reader.close()


def test_a_folder_that_is_in_use_is_not_restored_to(backup: Path, tmp_path: Path) -> None:
    with held(tmp_path):
        done = CliRunner().invoke(app, ["restore", str(backup), "--data", str(tmp_path)], env={"COLUMNS": "400"})
    assert done.exit_code == 2 and f"{tmp_path} is in use by process" in done.output
    assert not (tmp_path / "nats").exists()


async def test_nothing_is_restored_over_a_log_unless_that_is_asked_for(backup: Path, log: Log, tmp_path: Path) -> None:
    witness, archive = tmp_path / "witness", tmp_path / "archive"
    async with bus_in(tmp_path / "nats") as bus:
        partition = await bus.stream(PARTITION)
        await partition.append(commit_subject(PARTITION, "admitter"), b"{}", message_id="mine", base=0)
        with pytest.raises(BackupRefused, match=r"holds a log already \(LOG_0\).*--force"):
            await restore_backup(str(backup), bus, witness, str(archive))
        assert (await partition.last()).message_id == "mine" and not witness.exists()
        await restore_backup(str(backup), bus, witness, str(archive), force=True)
        assert (await partition.last()).sequence == len(log[PARTITION])
        with pytest.raises(BackupRefused, match="holds a log already"):
            await restore_backup(str(backup), bus, tmp_path / "w", str(tmp_path / "a"))
    async with bus_in(tmp_path / "other") as bus:
        with pytest.raises(BackupRefused, match="there is a witness already"):
            await restore_backup(str(backup), bus, witness, str(tmp_path / "a"))


@pytest.mark.parametrize("harm", ["changed file", "missing file", "signed by another", "name outside", "list outside"])
async def test_a_backup_that_is_not_what_was_backed_up_restores_nothing_and_no_path_leaves_it(
    harm: str, backup: Path, tmp_path: Path
) -> None:
    source = copied(backup, tmp_path / "in" / "backup")
    plain = json.loads((source / MANIFEST).read_bytes())
    segment = next(name for name in plain["files"] if name.startswith(PARTITION + "/"))
    trust: tuple[str, ...] = ()
    match harm:
        case "changed file":
            (source / segment).write_bytes((source / segment).read_bytes()[:-1] + b"x")
        case "missing file":
            (source / segment).unlink()
        case "signed by another":
            trust = ("0123456789abcdef",)
        case "name outside":
            plain["files"]["../outside"] = plain["files"].pop(segment)
            (source.parent / "outside").write_bytes((source / segment).read_bytes())
        case _:
            listed = json.loads((source / "archive.json").read_bytes())
            listed[0]["file"] = "../../etc/passwd"
            (source / "archive.json").write_text(json.dumps(listed))
            plain["files"]["archive.json"] = bytes_hash((source / "archive.json").read_bytes())
    (source / MANIFEST).write_text(json.dumps(plain))
    async with bus_in(tmp_path / "nats") as bus:
        with pytest.raises((BackupRefused, ArchiveDamaged)):
            await restore_backup(str(source), bus, tmp_path / "witness", str(tmp_path / "archive"), trust=trust)
        assert await generations(bus.client, PARTITION) == []
    assert {one.name for one in tmp_path.iterdir()} == {"in", "nats"}
