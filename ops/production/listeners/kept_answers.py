"""Answers that are good for some seconds: asked for once by however many wait for the same, and kept within bounds."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class KeptAnswers(Generic[T]):
    """At most `most` answers, each for as long as `good_s` says of it; nobody asks about a thing while another does."""

    def __init__(self, now: Callable[[], float], good_s: Callable[[T], float], most: int) -> None:
        self._now, self._good_s, self._most = now, good_s, most
        self._kept: dict[bytes, tuple[float, T]] = {}
        self._asking: dict[bytes, asyncio.Task[T]] = {}

    def known(self, key: bytes) -> T | None:
        """The answer that is still good; None where there is none."""
        until, answer = self._kept.get(key, (0.0, None))
        return answer if self._now() < until else None

    def of(self, key: bytes, ask: Callable[[], Coroutine[Any, Any, T]]) -> Awaitable[T]:
        """The answer to be asked for now, by whoever comes first. Raises what `ask` raises."""
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._asked(key, ask))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        # Who gives up waiting doesn't take the answer from the others.
        return asyncio.shield(task)

    @property
    def asking(self) -> int:
        """How many are being asked for."""
        return len(self._asking)

    async def _asked(self, key: bytes, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        answer = await ask()
        self._kept.pop(key, None)
        self._kept[key] = (self._now() + self._good_s(answer), answer)
        if len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return answer
