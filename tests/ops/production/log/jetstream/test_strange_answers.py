"""Whatever answers in the place of JetStream: what is asked of it ends in one clear error."""

import asyncio

import nats
import pytest
from nats.aio.msg import Msg

from events.subjects import FACTS
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.generations import generations
from ops.production.log.jetstream.stream import JetStreamStream
from ops.production.log.streams import PARTITION
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Message

STRANGE = (b"", b"[", b"5", b"null", b'{"error": 5}', b'{"config": 5, "message": 5}', b"\xff\xfe", b"[" * 100_000)


async def everything(bus: JetStreamBus) -> list[object]:
    partition, facts = JetStreamStream(bus.client, PARTITION), JetStreamStream(bus.client, FACTS)
    return await asyncio.gather(
        generations(bus.client, PARTITION),
        bus.shelf.prepare(),
        bus.shelf.labels(PARTITION),
        bus.shelf.put(PARTITION, [b"world"], upto={}, rules="1"),
        partition.append("kuelog.log.0.admitter", b"{}", message_id="x", base=0),
        facts.publish([Message("kuelog.facts._cluster.PodsGone", b"{}", "x")]),
        return_exceptions=True,
    )


async def test_without_jetstream_that_is_said(url: str) -> None:
    bus = await connect(url)
    for one in await everything(bus):
        assert isinstance(one, LogUnavailable) and "JetStream is off, or just starting" in str(one), one
    await bus.close()


@pytest.mark.parametrize("answer", STRANGE, ids=range(len(STRANGE)))
async def test_an_answer_that_is_none_is_one_clear_error(url: str, answer: bytes) -> None:
    async def reply(message: Msg) -> None:
        await message.respond(answer)

    stranger = await nats.connect(url)
    for subject in ("$JS.API.>", "kuelog.>"):
        await stranger.subscribe(subject, cb=reply)
    # The client's flush asks the server before it has sent what it subscribes to: only an answer says that those are in place.
    await stranger.request("kuelog.answered", timeout=60)
    bus = await connect(url)
    found = [one for one in await everything(bus) if isinstance(one, BaseException)]
    assert found or answer == STRANGE[5]
    for one in found:
        assert isinstance(one, LogUnavailable) and "no NATS server with JetStream that kuelog knows" in str(one), one
    await bus.close()
    await stranger.close()
