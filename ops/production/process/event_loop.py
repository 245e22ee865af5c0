"""The event loop under every service: uvloop, whose sockets and TLS cost a fraction of the standard library's."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

_T = TypeVar("_T")


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run to the end, as `asyncio.run` does."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)
