"""Facts on their way to the log: how many, and since when the oldest of them."""

import asyncio
from typing import Any, cast

from ops.production.log.memory import MemoryBus
from services.runtime.log_port import Message
from services.runtime.outbox import Outbox, OutboxMessage


class Held:
    """A clock that stands until somebody sets it."""

    at = 0

    def now(self) -> int:
        return self.at


def letter(about: str, number: int) -> OutboxMessage:
    return OutboxMessage(about, Message("kuelog.facts._cluster.X", b"{}", f"{about}{number}"))


async def test_the_oldest_message_that_is_not_stored_says_since_when_the_log_lags_behind() -> None:
    clock, stream = Held(), await MemoryBus().stream("FACTS")
    outbox = Outbox(stream, cast(Any, clock))
    assert (outbox.waiting, outbox.oldest) == (0, None)
    clock.at = 100
    await outbox.put([letter("a", 1), letter("b", 1)])
    clock.at = 200
    await outbox.put([])
    await outbox.put([letter("a", 2)])
    assert (outbox.waiting, outbox.oldest) == (3, 100)
    task = asyncio.create_task(outbox.run())
    await outbox.stored()
    assert (outbox.waiting, outbox.oldest) == (0, None)
    task.cancel()
    await asyncio.wait({task})


async def test_a_batch_that_is_stored_leaves_what_was_put_later() -> None:
    clock, stream = Held(), await MemoryBus().stream("FACTS")
    outbox = Outbox(stream, cast(Any, clock))
    clock.at = 100
    await outbox.put([letter("a", 1)])
    clock.at = 200
    await outbox.put([letter("a", 2)])
    seen: list[int | None] = []
    publish = stream.publish

    async def watched(messages: list[Message]) -> None:
        seen.append(outbox.oldest)
        await publish(messages)

    cast(Any, stream).publish = watched
    task = asyncio.create_task(outbox.run())
    await outbox.stored()
    assert seen == [100, 200]
    task.cancel()
    await asyncio.wait({task})
