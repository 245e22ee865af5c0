"""Questions that nobody hears, as while servers choose who leads a stream: they are asked once more, and any answer counts."""

import json
from collections.abc import Awaitable, Callable

import nats
import pytest
from nats.aio.msg import Msg

from events.subjects import FACTS
from ops.production.log.jetstream import connection
from ops.production.log.jetstream.bus import connect
from ops.production.log.jetstream.generations import asked
from services.runtime.log_errors import LogUnavailable

QUESTION = f"STREAM.INFO.{FACTS}"


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


@pytest.mark.parametrize("answered, heard", [(1, 2), (0, 3)], ids=["once more", "a late answer to the first"])
async def test_a_question_that_nobody_hears_is_asked_again_and_any_answer_counts(
    url: str, answered: int, heard: int
) -> None:
    stream = Answering(lambda count: answered if count == heard else None)
    end, bus = await stream.begin(url), await connect(url)
    assert await asked(bus.client, QUESTION, {}) == {"heard": answered}
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
