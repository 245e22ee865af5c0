"""Checkpoints go to every kind of place by themselves, are tried again where they did not get through, and bear a time stamp that is checked."""

import asyncio
import random
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import fsspec
import msgspec
import pytest
from aiohttp import web
from nats.js.api import StreamConfig
from typer.testing import CliRunner

from ops.cli.main import app
from ops.production.archive.errors import FolderUnreadable, StampRefused
from ops.production.archive.folder import Folder
from ops.production.archive.proof.evidence import Statement, load_statement, save_evidence, stamped_text
from ops.production.archive.proof.handing_out import AGAIN_MS, EVERY_MS, HandingOut, file_of, shown, statement_in
from ops.production.archive.proof.timestamps import check_stamp, roots_in, stamp, stamped
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from tests.ops.production.archive.stamping import StampServer
from tests.ops.queries.audit.logs import evidence_of, key_of, log_of
from tests.ops.queries.audit.test_audit_commands import stored
from tests.stage.ports import reserved_port


def witness_of(commits: int, folder: Path) -> Path:
    save_evidence(evidence_of(log_of(commits), key_of(1)), Folder(str(folder)))
    return folder


async def _elsewhere(_: web.Request) -> web.Response:
    return web.Response(status=302, headers={"Location": "/"})


async def _page(_: web.Request) -> web.Response:
    return web.Response(text="please log in")


class Inbox:
    """Somebody else's service that takes checkpoints, while it is not told to refuse."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, bytes]] = []
        self.refuses = False

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[str, None]:
        app, port = web.Application(), reserved_port()
        app.router.add_post("/checkpoints", self._take)
        app.router.add_post("/login", _elsewhere)
        app.router.add_get("/", _page)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        try:
            yield f"http://ann:secret@127.0.0.1:{port}/checkpoints"
        finally:
            await runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        if self.refuses:
            return web.Response(status=500)
        assert request.headers["Authorization"].startswith("Basic ")
        self.taken.append((request.headers["Kuelog-Checkpoint"], await request.read()))
        return web.Response(status=201)


async def test_every_kind_of_place_is_handed_the_same_file(tmp_path: Path) -> None:
    witness = witness_of(6, tmp_path / "witness")
    server = NatsServer(tmp_path / "second-bus")
    await server.start()
    inbox = Inbox()
    try:
        bus = await connect(server.url)
        await bus.client.jetstream().add_stream(StreamConfig(name="PROOFS", subjects=["proofs.>"]))
        async with inbox.serving() as address:
            places = [str(tmp_path / "folder"), "memory://checkpoints", address, f"{server.url}/proofs.kuelog"]
            giving = HandingOut(witness, places)
            assert set(giving.handed.values()) == {0}
            await giving.look(EVERY_MS)
            assert giving.problems == {} and set(giving.handed.values()) == {EVERY_MS}
        statement = statement_in(witness)
        assert statement is not None
        name, data = file_of(statement)
        assert (tmp_path / "folder" / name).read_bytes() == data
        assert fsspec.filesystem("memory").cat_file(f"/checkpoints/{name}") == data
        assert inbox.taken == [(name, data)]
        message = await bus.client.jetstream().get_last_msg("PROOFS", "proofs.kuelog")
        assert message.data == data
        await bus.close()
    finally:
        await server.stop()
    assert load_statement(str(tmp_path / "folder" / name)).heads["LOG_0"].sequence == 6


async def test_what_did_not_get_through_is_tried_again_and_told_without_its_password(tmp_path: Path) -> None:
    inbox, witness = Inbox(), witness_of(6, tmp_path / "witness")
    async with inbox.serving() as address:
        giving = HandingOut(witness, [address, str(tmp_path / "folder")])
        inbox.refuses = True
        await giving.look(EVERY_MS)
        assert len(list((tmp_path / "folder").iterdir())) == 1, "one that refuses keeps no other from it"
        (told,) = giving.worth_knowing
        assert giving.outstanding == {shown(address): True, str(tmp_path / "folder"): False}
        assert "it answers with 500" in told and "secret" not in told and "ann@127.0.0.1" in told
        inbox.refuses = False
        await giving.look(EVERY_MS + AGAIN_MS)
        assert giving.worth_knowing == [] and len(inbox.taken) == 1
        await giving.look(3 * EVERY_MS)
        assert len(inbox.taken) == 1, "nothing was signed meanwhile"
        assert not any(giving.outstanding.values()), "and nobody has to look why, however long ago it was handed out"
        witness_of(9, witness)
        await giving.look(3 * EVERY_MS + AGAIN_MS)
        assert len(inbox.taken) == 2
        witness_of(12, witness)
        await giving.look(3 * EVERY_MS + 2 * AGAIN_MS)
        assert len(inbox.taken) == 2, "once an hour is enough"
    assert shown("s3://bucket/kuelog") == "s3://bucket/kuelog"
    assert shown("nats://u:a/S3cret@there:4222/sub.ject") == "nats://u@there:4222/sub.ject"
    assert shown("https://ann@there/checkpoints?token=S3cret") == "https://ann@there/checkpoints?…"


async def test_a_bus_that_keeps_nothing_and_one_that_is_not_there_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    witness, nowhere = witness_of(3, tmp_path / "witness"), f"nats://127.0.0.1:{reserved_port()}"
    server = NatsServer(tmp_path / "second-bus")
    await server.start()
    try:
        giving = HandingOut(witness, [server.url, nowhere, "gopher://x"])
        await giving.look(EVERY_MS)
        assert set(giving.problems) == {server.url, nowhere, "gopher://x"}
    finally:
        await server.stop()
    assert set(giving.handed.values()) == {0}
    assert "Traceback" not in caplog.text


async def test_a_witness_that_has_signed_nothing_hands_out_nothing(tmp_path: Path) -> None:
    giving = HandingOut(tmp_path / "none", [str(tmp_path / "folder")])
    await giving.look(EVERY_MS)
    assert not (tmp_path / "folder").exists() and giving.problems == {}


async def test_a_time_stamp_is_held_against_the_bytes_and_the_roots_that_are_named(tmp_path: Path) -> None:
    server, forger = StampServer(tmp_path / "tsa"), StampServer(tmp_path / "forger")
    async with server.serving() as url, forger.serving() as other:
        token, forged = await stamp(url, b"bytes"), await stamp(other, b"bytes")
        server.refuses = True
        with pytest.raises(StampRefused, match="it answers with 503"):
            await stamp(url, b"bytes")
    roots = roots_in([server.root])
    assert check_stamp(token, b"bytes", roots) == stamped(token)
    assert stamped(token).by == "CN=a server of stamps"
    with pytest.raises(StampRefused, match="does not hold"):
        check_stamp(token, b"other", roots)
    with pytest.raises(StampRefused, match="does not hold"):
        check_stamp(forged, b"bytes", roots)
    for broken in ("", "AAAA", "no base64", token[:-40]):
        with pytest.raises(StampRefused):
            check_stamp(broken, b"bytes", roots)
    with pytest.raises(StampRefused, match="holds no certificates"):
        roots_in([tmp_path / "none.pem"])


async def test_who_sends_elsewhere_has_not_received_it(tmp_path: Path) -> None:
    inbox, witness = Inbox(), witness_of(6, tmp_path / "witness")
    async with inbox.serving() as address:
        giving = HandingOut(witness, [address.replace("/checkpoints", "/login")])
        await giving.look(EVERY_MS)
        (told,) = giving.worth_knowing
        assert "it answers with 302" in told and inbox.taken == [] and set(giving.handed.values()) == {0}


async def test_while_no_server_stamps_a_place_is_handed_one_an_hour_as_ever(tmp_path: Path) -> None:
    server, inbox, witness = StampServer(tmp_path / "tsa"), Inbox(), witness_of(3, tmp_path / "witness")
    server.refuses = True
    async with server.serving() as url, inbox.serving() as address:
        giving = HandingOut(witness, [address], url)
        for number in range(4):
            await giving.look(EVERY_MS + number * AGAIN_MS)
            witness_of(6 + number, witness)
        assert len(inbox.taken) == 1 and server.asked == 4
        await giving.look(2 * EVERY_MS)
        assert len(inbox.taken) == 2
        server.refuses = False
        await giving.look(2 * EVERY_MS + AGAIN_MS)
        assert len(inbox.taken) == 3 and giving.worth_knowing == []


async def test_an_answer_that_comes_in_pieces_is_read_whole(tmp_path: Path) -> None:
    server = StampServer(tmp_path / "tsa")
    server.in_pieces = True
    async with server.serving() as url:
        token = await stamp(url, b"bytes")
    assert check_stamp(token, b"bytes", roots_in([server.root])).by == "CN=a server of stamps"


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
async def test_a_time_stamp_of_which_any_bit_was_flipped_is_refused_or_says_the_same(tmp_path: Path) -> None:
    server, chance = StampServer(tmp_path / "tsa"), random.Random(20261130)
    async with server.serving() as url:
        token = await stamp(url, b"bytes")
    roots, right = roots_in([server.root]), stamped(token)
    for _ in range(1_500):
        harmed = bytearray(b64decode(token))
        harmed[chance.randrange(len(harmed))] ^= 1 << chance.randrange(8)
        with suppress(StampRefused):
            stamped(b64encode(harmed).decode())
        with suppress(StampRefused):
            assert check_stamp(b64encode(harmed).decode(), b"bytes", roots) == right


async def test_without_its_server_a_checkpoint_goes_out_unstamped_and_again_when_it_answers(tmp_path: Path) -> None:
    server, witness, to = StampServer(tmp_path / "tsa"), witness_of(3, tmp_path / "witness"), tmp_path / "folder"
    async with server.serving() as url:
        giving = HandingOut(witness, [str(to)], url)
        server.refuses = True
        await giving.look(EVERY_MS)
        (told,) = giving.worth_knowing
        assert "no time stamp: it answers with 503" in told
        (first,) = to.iterdir()
        assert load_statement(str(first)).timestamps == ()
        server.refuses = False
        await giving.look(EVERY_MS + AGAIN_MS)
        assert giving.worth_knowing == [] and len(list(to.iterdir())) == 2
        asked = server.asked
        await giving.look(EVERY_MS + 2 * AGAIN_MS)
        assert server.asked == asked
    (second,) = [one for one in to.iterdir() if one != first]
    statement = load_statement(str(second))
    assert check_stamp(statement.timestamps[0], stamped_text(statement), roots_in([server.root]))


def test_a_file_of_checkpoints_without_any_is_none(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_bytes(b'{"keys":[],"heads":{}}')
    with pytest.raises(FolderUnreadable, match="holds no checkpoint"):
        load_statement(str(tmp_path / "empty.json"))


async def test_an_audit_checks_the_time_stamps_of_what_was_handed_out(tmp_path: Path) -> None:
    server, data, to = StampServer(tmp_path / "tsa"), tmp_path / "run", tmp_path / "handed"
    await stored(data, log_of(6))
    async with server.serving() as url:
        words = ("checkpoint", "--data", str(data), "--to", str(to), "--timestamp", url)
        code, told = await asyncio.to_thread(kuelog, *words)
        assert code == 0, told
    (file,) = to.iterdir()
    verify = ("verify", "--data", str(data), "--checkpoint", str(file))
    code, told = await asyncio.to_thread(kuelog, *verify, "--timestamp-root", str(server.root))
    assert code == 0 and "says CN=a server of stamps" in told and "not held against" not in told, told
    code, told = await asyncio.to_thread(kuelog, *verify)
    assert code == 0 and "name its certificate with --timestamp-root" in told
    bare = tmp_path / "bare.json"
    bare.write_bytes(msgspec.json.encode(msgspec.structs.replace(load_statement(str(file)), timestamps=())))
    words = ("verify", "--data", str(data), "--timestamp-root", str(server.root))
    code, told = await asyncio.to_thread(kuelog, *words, "--checkpoint", str(bare))
    assert code == 1 and "bare.json: has no time stamp" in told, "whoever takes the stamp away is found"
    code, told = await asyncio.to_thread(kuelog, *words)
    assert code == 2 and "--checkpoint" in told
    other = StampServer(tmp_path / "other")
    code, told = await asyncio.to_thread(kuelog, *verify, "--timestamp-root", str(other.root))
    assert code == 1 and "the time stamp of CN=a server of stamps does not hold" in told
    statement = load_statement(str(file))
    one = statement.heads["LOG_0"]
    older = msgspec.structs.replace(statement, heads={"LOG_0": one})
    assert isinstance(older, Statement)
    file.write_bytes(msgspec.json.encode(older, order="deterministic"))
    code, told = await asyncio.to_thread(kuelog, *verify, "--timestamp-root", str(server.root))
    assert code == 1 and "does not hold" in told, "it is of another statement"


def kuelog(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["audit", *words], env={"COLUMNS": "400"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output
