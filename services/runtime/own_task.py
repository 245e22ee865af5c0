"""Work awaited in a task of its own, so that the awaiting task is cancelled even when the work fails at the same time."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def in_own_task(work: Coroutine[Any, Any, None]) -> None:
    """Await work; a cancellation ends it as `stopped` does, and is raised even when the work fails while it ends.

    Before Python 3.13 a `TaskGroup` that fails while it is cancelled raises only the failure, and leaves the awaiting
    task marked as cancelled when nobody has cancelled it.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        await stopped(task)
        raise
    task.result()


async def stopped(task: "asyncio.Task[None]") -> None:
    """Cancel the services and wait for their end, but not for ever.

    Before Python 3.12 a client's `wait_for` can swallow a cancellation; the event loop's own end then gets it out.
    What fails while it ends anyway is told to nobody.
    """
    task.cancel()
    await asyncio.wait({asyncio.gather(task, return_exceptions=True)}, timeout=_PATIENCE_S)


_PATIENCE_S = 5.0
