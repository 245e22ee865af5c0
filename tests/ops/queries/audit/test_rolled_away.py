"""A log whose beginning was rolled away is audited, signed and archived on with its archive; without, it is said which is to be named."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from events.subjects import FACTS
from ops.production.archive.archive import segments_of
from ops.production.archive.folder import Folder
from ops.production.archive.proof.evidence import load_evidence
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from services.runtime.log_port import Message
from tests.ops.production.archive.test_archivist import Place
from tests.ops.queries.audit.logs import fact
from tests.ops.queries.audit.test_audit_commands import kuelog


@pytest.fixture
async def rolled(tmp_path: Path) -> AsyncIterator[tuple[Place, tuple[str, ...]]]:
    """A log of which three streams begin in the archive alone, and how to name bus and witness; its last fact is not signed."""
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    await bus.shelf.prepare()
    on = Place(bus, tmp_path)
    for begin, end in ((0, 4), (4, 10)):
        await on.put(begin, end)
        await on.archivist.look(0)
    await on.save_worlds()
    await on.archivist.look(0)
    late = fact(len(on.log[FACTS]) + 1, 5_000)
    await (await bus.stream(FACTS)).publish([Message(late.subject, late.data, late.message_id)])
    yield on, ("--nats", server.url, "--witness", str(on.witness))
    await bus.close()
    await server.stop()


async def asked(*words: str) -> tuple[int, str]:
    return await asyncio.to_thread(kuelog, "audit", *words)


async def test_what_was_rolled_away_is_signed_on_and_archived_on_with_its_archive(
    rolled: tuple[Place, tuple[str, ...]], tmp_path: Path
) -> None:
    on, place = rolled
    signed = load_evidence(str(on.witness)).heads[FACTS].sequence
    other = str(tmp_path / "other")
    for words in (("verify",), ("checkpoint",), ("archive", other)):
        code, told = await asked(*words, *place)
        assert code == 1 and "FACTS, LOG_0 was rolled away: name the archive that holds it" in told, told
    assert load_evidence(str(on.witness)).heads[FACTS].sequence == signed, "nothing is signed that was not audited"
    code, told = await asked("checkpoint", *place, "--archive", str(on.archive))
    assert code == 0, told
    assert load_evidence(str(on.witness)).heads[FACTS].sequence == signed + 1
    code, told = await asked("archive", str(on.archive), *place)
    assert code == 0, told
    assert max(one.last for one in segments_of(Folder(str(on.archive))) if one.stream == FACTS) == signed + 1
    code, told = await asked("verify", "--archive", str(on.archive))
    assert code == 0, told


async def test_an_archive_alone_is_not_signed(rolled: tuple[Place, tuple[str, ...]]) -> None:
    on, _ = rolled
    code, told = await asked("checkpoint", "--archive", str(on.archive))
    assert code == 2 and "name its log with --data or --nats" in told
    assert not (on.archive / "witness.key").exists()
