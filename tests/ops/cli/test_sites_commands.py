"""`kuelog sites` as somebody meets it who has one machine: a hub, a site's bus that joins it, and how its copy stands."""

import asyncio
import json
import socket
import sys
from pathlib import Path

from typer.testing import CliRunner

from ops.cli.main import app
from ops.production.log.jetstream.bus import connect
from ops.production.log.sites import embedded_server, joining_of
from ops.production.log.streams import SOLE
from tests.places import ROOT
from tests.stage.ports import reserved_port


async def test_a_hub_says_how_a_site_joins_and_how_its_copy_stands(tmp_path: Path) -> None:
    hub, leaf, nats = tmp_path / "hub", str(reserved_port()), str(reserved_port())
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "ops.cli.main", "sites", "serve", "east", "west", "--data", str(hub), "--port", leaf, "--nats", nats),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "HOME": str(ROOT), "COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(100):
            while b"nothing of it is copied yet" not in (said := await process.stdout.readline()):
                assert said
            assert (hub / "east.leaf").stat().st_mode & 0o077 == 0, "it holds a password"
            site = embedded_server(tmp_path / "east", joining_of((hub / "east.leaf").read_text().strip()))
            await site.start()
            bus = await connect(site.url)
            for name in SOLE.every:
                await bus.stream(name)
            while said != b"east: connected, the copy is whole\n":
                said = await process.stdout.readline()
                assert said
            await bus.close()
            options = [f"--site={one}={(hub / f'{one}.reader').read_text().strip()}" for one in ("east", "west")]
            whole, both = [
                await asyncio.to_thread(CliRunner().invoke, app, ["sites", "show", *some, "-o", "json"])
                for some in (options[:1], options)
            ]
            await site.stop()
    finally:
        process.terminate()
        await process.communicate()
    assert process.returncode == 0
    assert whole.exit_code == 0, whole.output
    (east,) = json.loads(whole.stdout)
    assert (east["site"], east["connected"], east["behind"]) == ("east", True, 0)
    assert both.exit_code == 1, "one of them is not connected"
    assert [one["connected"] for one in json.loads(both.stdout)] == [True, False]


def test_what_names_no_site_or_no_hub_is_one_message() -> None:
    for words, says in (
        (("sites", "show"), "name at least one site with --site NAME=ADDRESS"),
        (("sites", "show", "--site", "east"), "--site east says nothing"),
        (("sites", "show", "--site", "east=nats://reader-west:p@h:1"), "the address is that of the copy of west"),
        (("up", "--hub", "nats-leaf://hub:7422"), "write nats-leaf://site-NAME:PASSWORD@HOST:PORT"),
        (
            ("up", "--nats", "nats://a:1", "--hub", "nats-leaf://site-a:p@h:1"),
            "--hub is for the bus that is started here",
        ),
        (("sites", "serve", "hub"), "site hub: it is the JetStream domain of its bus"),
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert says in " ".join(done.output.replace("│", "").split())


def test_a_hub_that_is_away_and_a_user_whom_it_does_not_know_are_told_in_a_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["sites", "show", "--site", "east=nats://reader-east:p@127.0.0.1:1"])
    assert (done.exit_code, done.output) == (1, "east: nats://127.0.0.1:1 can't be reached: nobody listens there\n")


def test_a_hub_on_a_port_of_somebody_else_says_so_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for option, what in (("--port", "leaf connections"), ("--nats", "the copies")):
            free = ("--nats", "--port")[option == "--nats"]
            words = ("sites", "serve", "east", "--data", str(tmp_path), option, port, free, str(reserved_port()))
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 2
            assert f"error: {what} can't be served on port {port}: " in done.output
