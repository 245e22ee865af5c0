"""Kubernetes Events on their way to the cluster: hints for people, written in spare time and lost when there is none."""

import asyncio
from collections import deque
from typing import Any

import structlog

from services.applier.spare_time import SpareTime
from services.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing, Resource, Writer

log = structlog.get_logger()

EVENTS = Resource(plural="events", kind="Event")
_MOST = 1000


class Notices:
    """Events that are still to be written, warnings before anything else; of too many the oldest are dropped."""

    def __init__(self, writer: Writer, spare: SpareTime) -> None:
        self._writer, self._spare = writer, spare
        self._warnings: deque[dict[str, Any]] = deque(maxlen=_MOST)
        self._others: deque[dict[str, Any]] = deque(maxlen=_MOST)
        self._news = asyncio.Event()

    def tell(self, event: dict[str, Any]) -> None:
        """Have it written some time."""
        (self._warnings if event["type"] == "Warning" else self._others).append(event)
        self._news.set()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            if not self._warnings and not self._others:
                self._news.clear()
                await self._news.wait()
            async with self._spare.turn():
                await self._write((self._warnings or self._others).popleft())

    async def _write(self, event: dict[str, Any]) -> None:
        try:
            await self._writer.create(EVENTS, event["metadata"]["namespace"], event)
        except ObjectConflict:
            log.debug("told already", object=event["involvedObject"]["name"])
        except (ClusterUnavailable, ObjectInvalid, ObjectMissing) as problem:
            log.warning("not told", object=event["involvedObject"]["name"], problem=str(problem))
