"""Writes on each pod what it waits for at its scheduling gates, its own cards or its domain, and takes the gates away.

What was written is seen in the pods themselves: nothing is remembered that a restart would lose. The pods that the log shows
may be older than those of the cluster, though, and to which domain one goes depends on where the others are. So the gated
pods of a workload are read before any of them is written: if one has been let through meanwhile, and not as planned, nothing
is written until the log shows that.

Rule: docs/rules/topology.md#ungating
"""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import structlog

from events.event import Millis
from events.json_object import JsonObject
from events.json_path import difference
from projections.topology.state import TopologyState
from services.applier.pods.pod_openings import Opening, opened, opened_otherwise, openings
from services.applier.pods.start_or_end import PODS
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writes.retried_writes import RetriedWrites
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ObjectInvalid, ObjectMissing, Writer

log = structlog.get_logger()
T = TypeVar("T")

_RETRY: Millis = 500
_AT_ONCE = 8


class PodGates:
    """Opens the gates of pods, several at a time, with retries, and with priority over other writes."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites) -> None:
        self._writer, self._spare = writer, spare
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._opening = RetriedWrites("workload", "gates of pods not opened", self._open, clock, retry=_RETRY)
        self._offered: dict[str, tuple[Opening, ...]] = {}
        """By workload, what was handed on for writing and is not seen in the pods."""

    def observe(self, world: TopologyState, touched: Sequence[str]) -> None:
        """Take up the pods whose gates are to be opened; called after each turn of the partition."""
        for key in touched:
            workload = world.workloads.get(key)
            found = openings(world, workload) if workload is not None else ()
            offered = self._offered.pop(key, ())
            if found:
                self._offered[key] = found
            if any(one not in offered for one in found):
                self._opening.offer(key, found)

    async def run(self) -> None:
        """Take gates off pods that may be scheduled, until cancelled."""
        await self._opening.run()

    async def _open(self, key: str, found: tuple[Opening, ...]) -> None:
        with self._spare.first():
            pods = await asyncio.gather(*(self._read(one) for one in found), return_exceptions=True)
            there = [(one, pod) for one, pod in zip(found, _succeeded(pods), strict=True) if pod is not None]
            if any(opened_otherwise(one, pod) for one, pod in there):
                self._plan_again(key, found)
                return
            _succeeded(await asyncio.gather(*(self._put(one, pod) for one, pod in there), return_exceptions=True))

    def _plan_again(self, key: str, found: tuple[Opening, ...]) -> None:
        """Take what the log shows by now; as long as that is the same, wait for the log."""
        newer = self._offered.get(key, ())
        if newer == found:
            del self._offered[key]
        elif newer:
            self._opening.offer(key, newer)

    async def _read(self, one: Opening) -> JsonObject | None:
        """The pod as it is now; None where it is gone, also if another has its name."""
        async with self._slots:
            try:
                pod = await self._writer.get(PODS, one.namespace, one.pod)
            except ObjectMissing:
                return None
        return pod if pod["metadata"].get("uid") == one.uid else None

    async def _put(self, one: Opening, pod: JsonObject) -> None:
        patch = difference(pod, opened(one, pod))
        if not patch:
            return
        meta = {**patch.get("metadata", {}), "resourceVersion": pod["metadata"]["resourceVersion"]}
        async with self._slots:
            try:
                await self._writer.merge(PODS, one.namespace, one.pod, {**patch, "metadata": meta})
            except ObjectMissing:
                log.debug("gone already", pod=f"{one.namespace}/{one.pod}")
            except ObjectInvalid as problem:
                # The others of its workload go on: this one waits until it, or its place, is another.
                log.error("gates of pod not opened", pod=f"{one.namespace}/{one.pod}", problem=str(problem))


def _succeeded(results: Sequence[T | BaseException]) -> list[T]:
    """The results, once all are there; raises the first error."""
    for one in results:
        if isinstance(one, BaseException):
            raise one
    return [one for one in results if not isinstance(one, BaseException)]
