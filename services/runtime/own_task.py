"""Work awaited in a task of its own, so that the awaiting task is cancelled even when the work fails at the same time."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def in_own_task(work: Coroutine[Any, Any, None]) -> None:
    """Await work; a cancellation ends it, and is raised even when the work fails while it ends.

    Before Python 3.13 a `TaskGroup` that fails while it is cancelled raises only the failure, and leaves the awaiting
    task marked as cancelled when nobody has cancelled it.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    task.result()
