"""A cancellation is never lost, even when the answer comes in the same turn of the event loop."""

import asyncio
import gc

import pytest

from ops.production.log.jetstream.cancellable import cancellable


async def swallowing(answer: "asyncio.Future[str]") -> str:
    """What the client does before Python 3.12: the answer is there, so the cancellation is dropped."""
    try:
        return await answer
    except asyncio.CancelledError:
        return answer.result()


async def wait_for_ever(answer: "asyncio.Future[str]", turns: list[str]) -> None:
    turns.append(await cancellable(swallowing(answer)))
    await asyncio.Event().wait()


async def test_a_cancellation_in_the_turn_of_the_answer_still_cancels() -> None:
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    turns: list[str] = []
    task = asyncio.create_task(wait_for_ever(answer, turns))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    answer.set_result("stored")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not turns


async def refused(answer: "asyncio.Future[str]") -> str:
    """What the client does when it is cancelled as the answer comes, and the answer is an error."""
    try:
        return await answer
    except asyncio.CancelledError:
        raise ConnectionError("stream not found") from None


async def test_what_fails_behind_a_cancellation_is_not_complained_of() -> None:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()
    complaints: list[str] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
    task = asyncio.create_task(cancellable(refused(answer)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    del task
    gc.collect()
    assert complaints == []


async def test_an_answer_and_an_error_come_through() -> None:
    async def fails() -> str:
        raise ConnectionError("gone")

    async def gives() -> str:
        return "stored"

    assert await cancellable(gives()) == "stored"
    with pytest.raises(ConnectionError, match="gone"):
        await cancellable(fails())
