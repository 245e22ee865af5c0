"""Waiting for a client whose own waits can swallow a cancellation.

nats-py waits with `asyncio.wait_for`, which before Python 3.12 drops a cancellation that comes in the very turn of the
event loop in which the answer comes; a service that was cancelled would then run on for ever.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def cancellable(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; a cancellation ends the wait at once, whatever `work` makes of it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_take_note)
        task.cancel()
        raise


def _take_note(task: "asyncio.Task[Any]") -> None:
    """What it still fails with concerns nobody any more; the event loop would complain that nobody has looked at it."""
    if not task.cancelled():
        task.exception()
