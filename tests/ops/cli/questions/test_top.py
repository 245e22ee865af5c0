"""`kuelog top` on a log that was left, on one that goes on, and on a real terminal."""

import asyncio
import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest_asyncio
import yaml
from rich.cells import cell_len
from typer.testing import CliRunner

from events.subjects import FACTS
from ops.cli.main import app
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.server.server import NatsServer
from ops.sandbox.bench.day import played, small_day
from services.runtime.log_port import Entry, Message
from tests.ops.console.served import PATIENCE_S, store
from tests.places import ROOT

SEED, AT = 20, "+3h"
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()][A-Z0-9]")
LEFT_SCREEN, CURSOR = "\x1b[?1049l", "\x1b[?25h"


class Running(NamedTuple):
    """A bus with the log of a day."""

    url: str
    bus: JetStreamBus
    facts: Sequence[Entry]

    async def has_a_newcomer(self) -> None:
        """Somebody more submits a job: as the first one, under another name."""
        first = next(one for one in self.facts if b'"day/w0"' in one.data)
        data = first.data.replace(b"day/w0", b"day/newcomer").replace(b"uid-w0", b"uid-newcomer")
        data = data.replace(b'"name":"w0"', b'"name":"newcomer"')
        await (await self.bus.stream(FACTS)).publish([Message(first.subject, data, "newcomer")])


def top(url: str, *words: str) -> str:
    done = CliRunner().invoke(app, ["top", "--nats", url, *words], env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest_asyncio.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Running, None]:
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    log, _ = played(small_day(SEED))
    await store(bus, log)
    yield Running(server.url, bus, log[FACTS])
    await bus.close()
    await server.stop()


async def test_it_prints_once_what_replay_says_of_the_same_moment(on: Running) -> None:
    told = json.loads(await asyncio.to_thread(top, on.url, "--at", AT, "-o", "json"))
    done = await asyncio.to_thread(
        CliRunner().invoke, app, ["replay", "--nats", on.url, "--until", AT, "--show", "workloads", "-o", "json"]
    )
    rows = {one["key"]: one for one in json.loads(done.stdout)["workloads"] if one["state"] != "finished"}
    assert {one["workload"]: one["state"] for one in told["workloads"]} == {
        key: row["state"] for key, row in rows.items()
    }
    assert yaml.safe_load(await asyncio.to_thread(top, on.url, "--at", AT, "-o", "yaml")) == told
    waiting = [one for one in told["workloads"] if one["state"] == "pending"]
    assert any(one["starts"] for one in waiting) and told["foreseen"]["known_runs"] > 0
    text = await asyncio.to_thread(top, on.url, "--at", AT)
    assert all(one["job"] in text for one in told["workloads"]) and "in line" in text


async def test_workloads_come_in_the_order_and_of_the_queue_that_was_asked_for(on: Running) -> None:
    async def asked(*words: str) -> list[dict[str, int | str]]:
        return json.loads(await asyncio.to_thread(top, on.url, "--at", AT, "-o", "json", *words))["workloads"]

    everybody = await asked("--sort", "cards")
    assert [one["cards"] for one in everybody] == sorted((one["cards"] for one in everybody), reverse=True)
    assert [one["workload"] for one in await asked("--sort", "job", "--reverse")] == sorted(
        (one["workload"] for one in everybody), reverse=True
    )
    queue = str(everybody[0]["cluster_queue"])
    assert {one["cluster_queue"] for one in await asked("-q", queue)} == {queue}
    assert not await asked("-n", "nowhere")


async def test_a_queue_that_is_not_there_is_one_clear_message(on: Running) -> None:
    words = ["top", "--nats", on.url, "--once", "-q", "nope"]
    done = await asyncio.to_thread(CliRunner().invoke, app, words, env={"COLUMNS": "300"})
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the log knows no clusterqueue nope; it knows " in done.stderr


class Terminal:
    """`kuelog top` on a terminal of 80 columns."""

    def __init__(self, process: asyncio.subprocess.Process, ours: int) -> None:
        self.process, self._ours, self.told = process, ours, ""
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(ours, self._read)

    def _read(self) -> None:
        try:
            while data := os.read(self._ours, 65536):
                self.told += data.decode(errors="replace")
        except BlockingIOError:
            pass
        except OSError:
            asyncio.get_running_loop().remove_reader(self._ours)
        self._news.set()

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    async def shows(self, text: str) -> str:
        """The first frame from now on that shows a text."""
        begun = len(self.told)
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for frame in self.told[begun:].split("\x1b[H")[1:]:
                    if text in CONTROLS.sub("", frame):
                        return CONTROLS.sub("", frame)
                await self._news.wait()
                self._news.clear()

    async def ends(self) -> int:
        async with asyncio.timeout(PATIENCE_S):
            code = await self.process.wait()
        self._read()
        return code


@pytest_asyncio.fixture
async def terminal(on: Running) -> AsyncGenerator[Terminal, None]:
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(theirs)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ops.cli.main", "top", "--nats", on.url),
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={"PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "HOME": str(ROOT)},
        preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
    )
    shown = Terminal(process, ours)
    try:
        yield shown
        assert termios.tcgetattr(theirs) == before, "the terminal is as it was"
        assert LEFT_SCREEN in shown.told and shown.told.rfind(CURSOR) > shown.told.rfind("\x1b[?25l")
        assert "Traceback" not in shown.told
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)
        os.close(theirs)


async def test_on_a_terminal_it_goes_on_with_the_log_fits_and_obeys_keys(on: Running, terminal: Terminal) -> None:
    frame = await terminal.shows("q quit")
    assert max(cell_len(line) for line in frame.split("\r\n")) <= 80
    assert "by queue" in frame and "day/newcomer" not in frame
    terminal.press(b"s\x1b[B")
    await terminal.shows("by starts")
    await on.has_a_newcomer()
    await terminal.shows("day/newcomer")
    terminal.press(b"r")
    await terminal.shows("reversed")
    terminal.press(b"q")
    assert await terminal.ends() == 0


async def test_ctrl_c_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    await terminal.shows("q quit")
    terminal.press(b"\x03")
    assert await terminal.ends() == 130
