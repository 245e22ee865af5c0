"""Whether the API server can be reached from here: a replica that can't leaves watching and writing to one that can.

It is asked every so often, for a network that swallows what is sent tells nobody, and a watch is silent for minutes.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger()

EVERY_S = 3.0
_PATIENCE_S = 5.0
_MOST_MISSED = 2
"""So many questions in a row without an answer, and it counts as out of reach."""


class ApiReach:
    """Asks an API server again and again; `answers` says whether it has answered anything at all."""

    def __init__(self, answers: Callable[[], Awaitable[bool]]) -> None:
        self.away = False
        """Whether it was out of reach when it was asked last."""
        self._answers = answers

    async def run(self) -> None:
        """Ask until cancelled."""
        missed = 0
        while True:
            missed = 0 if await self._answers_in_time() else missed + 1
            if self.away != (missed >= _MOST_MISSED):
                self.away = not self.away
                log.warning("the Kubernetes API can't be reached" if self.away else "the Kubernetes API answers again")
            await asyncio.sleep(EVERY_S)

    async def _answers_in_time(self) -> bool:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await self._answers()
        except TimeoutError:
            return False
