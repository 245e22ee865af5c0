"""A pytest plugin by which the API server and the bus answer late: `pytest -p tests.stage.late_answers --late 7 tests/stories` (`make late SEED=7`).

Requests, lines of watches and stored commits are each held up by chance before and after they are carried out, most of them not at all
and some for long: what is decided, seen and written overtakes each other as on a busy cluster. Which ones it hits hangs on the seed, and on
the machine, too. What a story asks by itself is answered at once.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from ops.production.kubernetes.client import KubeClient
from ops.production.log.jetstream.stream import JetStreamStream

_AT_ONCE, _SOON = 0.6, 0.9
"""How many of all answers come at once, and how many at once or soon."""
_SOON_S = 0.08


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--late", type=int, default=1, help="the seed of what comes late")
    parser.addoption("--latest", type=float, default=0.8, help="by how many seconds the last of them come late")


def pytest_configure(config: pytest.Config) -> None:
    late = late_answers(random.Random(config.getoption("--late")), config.getoption("--latest"))
    late.__enter__()
    config.add_cleanup(lambda: late.__exit__(None, None, None))


@contextmanager
def late_answers(chance: random.Random, latest: float) -> Generator[None]:
    """Have what answers come late meanwhile, the last of it by so many seconds, twice for each request."""

    async def hold_up(whose: Any) -> None:
        if "(tests)" in getattr(whose, "_agent", ""):
            return  # A story sees at once what it waits for.
        drawn = chance.random()
        if drawn >= _AT_ONCE:
            await asyncio.sleep(chance.random() * (_SOON_S if drawn < _SOON else latest))

    def late(ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def asked(self: Any, *given: Any, **named: Any) -> Any:
            await hold_up(self)
            answer = await ask(self, *given, **named)
            await hold_up(self)
            return answer

        return asked

    watch = KubeClient.lines

    async def lines(self: KubeClient, path: str) -> AsyncGenerator[bytes, None]:
        told = watch(self, path)
        try:
            async for line in told:
                await hold_up(self)
                yield line
        finally:
            await told.aclose()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(KubeClient, "once", late(KubeClient.once))
        patched.setattr(JetStreamStream, "append", late(JetStreamStream.append))
        patched.setattr(KubeClient, "lines", lines)
        yield
