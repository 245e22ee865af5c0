"""Work that is awaited in a task of its own, so that whoever awaits it learns that he is to end whatever the work says."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def in_own_task(work: Coroutine[Any, Any, None]) -> None:
    """Await work; a cancellation ends it, and is told even when the work fails at that.

    Before Python 3.13 a group of tasks that fails while it is cancelled tells of the failure alone, and leaves the task
    that awaited it marked as cancelled when nobody has cancelled it.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    task.result()
