"""A console on a log of a random day, and what `kuelog` prints about the same log."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from typer.testing import CliRunner

from events.codec import decode_commit
from events.subjects import FACTS
from events.timestamp import format_timestamp
from ops.cli.main import app
from ops.console.gate import AskersAccess
from ops.console.server import Door, console_served
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import PARTITION
from ops.sandbox.bench.day import played, small_day
from services.runtime.log_port import Entry, Message

PATIENCE_S = 60


class Console:
    """A console, and the log that it shows."""

    def __init__(self, folder: Path, url: str, bus: JetStreamBus, log: Mapping[str, Sequence[Entry]]) -> None:
        self.folder, self.url, self.bus, self.log = folder, url, bus, log
        self.port = 0

    async def ask(
        self, path: str, method: str = "GET", *, sent: Any = None, **headers: str
    ) -> tuple[int, Any, Mapping[str, str]]:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, f"http://127.0.0.1:{self.port}{path}", headers=headers, json=sent) as answer,
        ):
            body = await answer.read()
            plain = json.loads(body) if answer.content_type == "application/json" and body else body.decode()
            return answer.status, plain, answer.headers

    async def answer(self, path: str) -> Any:
        status, plain, _ = await self.ask(f"/api/v1/{path}")
        assert status == 200, plain
        return plain

    async def printed(self, *words: str) -> Any:
        """What `kuelog` prints about the same log."""
        asked = (*words, "--nats", self.url, "-o", "json")
        done = await asyncio.to_thread(CliRunner().invoke, app, list(asked), env={"COLUMNS": "300"})
        assert done.exit_code in (0, 1), done.output
        return json.loads(done.stdout)

    async def printed_lines(self, *words: str) -> list[Any]:
        """What `kuelog` prints as a line for each value."""
        asked = (*words, "--nats", self.url, "-o", "json")
        done = await asyncio.to_thread(CliRunner().invoke, app, list(asked), env={"COLUMNS": "300"})
        assert done.exit_code == 0, done.output
        return [json.loads(line) for line in done.stdout.splitlines()]


async def store(bus: JetStreamBus, log: Mapping[str, Sequence[Entry]]) -> None:
    for name, entries in log.items():
        stream = await bus.stream(name)
        for entry in entries:
            if name == FACTS:
                await stream.publish([Message(entry.subject, entry.data, entry.message_id)])
            else:
                base = entry.sequence - 1
                await stream.append(entry.subject, entry.data, message_id=entry.message_id, base=base)


async def nothing(bus: JetStreamBus) -> None:
    """The log is enough."""


@asynccontextmanager
async def served(
    tmp_path: Path,
    *,
    access: AskersAccess | None = None,
    namespaces: Sequence[str] = ("day",),
    log: Mapping[str, Sequence[Entry]] | None = None,
    prepare: Callable[[JetStreamBus], Awaitable[None]] = nothing,
) -> AsyncGenerator[Console, None]:
    """A console on a log, or on that of the twelfth random day, which has preemptions, with a server of its own.

    What else has to be on the bus is put there by `prepare` before the console begins.
    """
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    log = log if log is not None else played(small_day(12, namespaces))[0]
    await store(bus, log)
    await prepare(bus)
    found = Console(tmp_path, server.url, bus, log)
    async with console_served(bus, Door(port=0, access=access)) as served:
        found.port = served.port
        async with asyncio.timeout(PATIENCE_S):
            while (await found.ask("/readyz"))[0] != 200:  # noqa: ASYNC110 - only its answers tell
                await asyncio.sleep(0.05)
        yield found
    await bus.close()
    await server.stop()


def middle(log: Mapping[str, Sequence[Entry]]) -> str:
    """A time at which much is under way."""
    commits = log[PARTITION]
    return format_timestamp(decode_commit(commits[len(commits) // 2].data).at)
