"""A witness folder on a full disk: one clear message, nothing half-written, and all goes on when there is room."""

import asyncio
import resource
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from events.subjects import FACTS
from ops.files.run_folder import FolderUnusable
from ops.production.archive.proof.approvers import ApproverRefused, make_key
from ops.production.archive.proof.evidence import load_evidence
from ops.production.archive.proof.witness import HeadWitness
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from services.runtime.log_port import Message
from tests.ops.queries.audit.logs import fact
from tests.ops.queries.audit.test_audit_commands import kuelog


@contextmanager
def no_room(left: int = 10) -> Generator[None, None, None]:
    """No file takes more than so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_first_key_that_did_not_fit_on_the_disk_is_made_when_there_is_room(tmp_path: Path) -> None:
    with no_room(), pytest.raises(FolderUnusable, match="File too large"):
        HeadWitness(tmp_path)
    HeadWitness(tmp_path)
    assert stat.S_IMODE((tmp_path / "witness.key").stat().st_mode) == 0o600
    person = tmp_path / "ann.key"
    with no_room(), pytest.raises(ApproverRefused, match="File too large"):
        make_key(person)
    make_key(person)
    with pytest.raises(ApproverRefused, match="name a file that is not there yet"):
        make_key(person)


async def test_what_can_not_be_signed_on_a_full_disk_is_one_message_and_is_signed_when_there_is_room(
    tmp_path: Path,
) -> None:
    server = NatsServer(tmp_path / "nats")
    await server.start()
    try:
        bus = await connect(server.url)
        facts = await bus.stream(FACTS)
        witness = tmp_path / "witness"
        for number in (1, 2):
            one = fact(number, 1000 + number)
            await facts.publish([Message(one.subject, one.data, one.message_id)])
            if number == 1:
                await HeadWitness(witness).witness(facts)
        await bus.close()
        place = ("--nats", server.url, "--witness", str(witness))
        commands = (
            ("audit", "checkpoint", *place),
            ("audit", "archive", str(tmp_path / "archive"), *place),
            ("audit", "rotate-key", "--witness", str(witness)),
            ("audit", "rotate-key", "--witness", str(witness), "--lost", "fire"),
            ("bill", "approver", "ann", "ab" * 32, "--witness", str(witness)),
        )
        for words in commands:
            with no_room():
                code, told = await asyncio.to_thread(kuelog, *words)
            assert code == 2 and f"error: {witness} can't be used: File too large" in " ".join(told.split()), told
        assert load_evidence(str(witness)).heads[FACTS].sequence == 1
        code, told = await asyncio.to_thread(kuelog, "audit", "checkpoint", *place)
        assert code == 0 and load_evidence(str(witness)).heads[FACTS].sequence == 2, told
        code, told = await asyncio.to_thread(kuelog, "audit", "verify", *place)
        assert code == 0, told
    finally:
        await server.stop()
