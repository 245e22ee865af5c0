"""Writes with retries: one that the cluster does not accept now is tried again later, while the others go on."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Generic, TypeVar

import structlog

from events.event import Millis
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing

log = structlog.get_logger()
T = TypeVar("T")

_AT_ONCE = 8


class RetriedWrites(Generic[T]):
    """Writes by object, a few at a time; of each object only the newest counts.

    `kind` names the objects in log lines, and `undone` is the log line for a write that failed; `write` is given the key and
    what was offered, and may raise what the port to the cluster raises.
    """

    def __init__(
        self,
        kind: str,
        undone: str,
        write: Callable[[str, T], Awaitable[None]],
        clock: Clock,
        *,
        retry: Millis = 1000,
        turn: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:
        self._kind, self._undone, self._write = kind, undone, write
        self._clock, self._retry, self._turn = clock, retry, turn
        self._wanted: dict[str, T] = {}
        self._news = asyncio.Event()

    def offer(self, key: str, one: T) -> None:
        """Queue a write, in place of one for the same key."""
        self._wanted[key] = one
        self._news.set()

    async def run(self) -> None:
        """Write what is wanted, again until it is written, until cancelled."""
        while True:
            if not self._wanted:
                self._news.clear()
                await self._news.wait()
            async with self._turn():
                some = [(key, self._wanted.pop(key)) for key in list(self._wanted)[:_AT_ONCE]]
                done = await asyncio.gather(*(self._try(key, one) for key, one in some))
            again = [one for one, well in zip(some, done, strict=True) if not well]
            if again:
                await self._clock.sleep(self._retry)
            for key, one in again:
                self._wanted.setdefault(key, one)

    async def _try(self, key: str, one: T) -> bool:
        """Write once; whether it is done with: written, impossible, or the object is gone."""
        named = {self._kind: key}
        try:
            await self._write(key, one)
        except ObjectMissing:
            log.debug("gone already", **named)
        except ObjectConflict as problem:
            # Somebody else has written it meanwhile: nothing is wrong with that.
            log.info(f"{self._undone} yet", problem=str(problem), **named)
            return False
        except ClusterUnavailable as problem:
            log.warning(f"{self._undone} yet", problem=str(problem), **named)
            return False
        except ObjectInvalid as problem:
            log.error(self._undone, problem=str(problem), **named)
        except Exception as problem:  # noqa: BLE001 - whatever one object holds, all others are written
            log.error(f"failed on a {self._kind}", exc_info=problem, **named)
        return True
