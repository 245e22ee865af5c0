"""Questions that nobody hears, as while servers choose who leads a stream: they are asked once more, and any answer counts."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import nats
import pytest
from nats.aio.msg import Msg

from events.subjects import FACTS
from ops.production.log.jetstream import connection
from ops.production.log.jetstream.bus import connect
from ops.production.log.jetstream.generations import asked
from ops.production.log.server.server import nats_binary
from services.runtime.log_errors import LogUnavailable
from tests.stage.ports import reserved_port

QUESTION = f"STREAM.INFO.{FACTS}"


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """A NATS server without JetStream: the test answers in its place."""
    port = reserved_port()
    server = await asyncio.create_subprocess_exec(
        nats_binary(), "-a", "127.0.0.1", "-p", str(port), stderr=asyncio.subprocess.DEVNULL
    )
    yield f"nats://127.0.0.1:{port}"
    server.terminate()
    await server.wait()


class Answering:
    """Whoever hears what JetStream is asked: `answers` says by the questions heard so far which of them to answer now, by index."""

    def __init__(self, answers: Callable[[int], int | None]) -> None:
        self.heard: list[Msg] = []
        self._answers = answers

    async def begin(self, url: str) -> Callable[[], Awaitable[None]]:
        """Listen; what ends it again."""
        client = await nats.connect(url)
        await client.subscribe("$JS.API.>", cb=self._hear)
        await client.subscribe("ready", cb=_answer)
        # The client's flush asks the server before it has sent what it subscribes to: only an answer says that those are in place.
        await client.request("ready", timeout=60)
        return client.close

    async def _hear(self, message: Msg) -> None:
        self.heard.append(message)
        which = self._answers(len(self.heard))
        if which is not None:
            await self.heard[which].respond(json.dumps({"heard": which}).encode())


async def _answer(message: Msg) -> None:
    await message.respond(b"")


async def test_a_question_that_was_not_heard_is_asked_once_more(url: str) -> None:
    stream = Answering(lambda heard: 1 if heard == 2 else None)
    end, bus = await stream.begin(url), await connect(url)
    assert await asked(bus.client, QUESTION, {}) == {"heard": 1}
    await bus.close()
    await end()


async def test_a_late_answer_to_the_first_question_counts(url: str) -> None:
    stream = Answering(lambda heard: 0 if heard == 3 else None)
    end, bus = await stream.begin(url), await connect(url)
    assert await asked(bus.client, QUESTION, {}) == {"heard": 0}
    await bus.close()
    await end()


async def test_what_would_be_done_twice_is_asked_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_AGAIN_S", 0.01)
    stream = Answering(lambda _: None)
    end, bus = await stream.begin(url), await connect(url)
    with pytest.raises(LogUnavailable):
        await asked(bus.client, f"STREAM.CREATE.{FACTS}", {})
    assert len(stream.heard) == 1
    await bus.close()
    await end()
