"""Takes our finalizer off Workload objects that nothing needs any more; in spare time.

What is not taken off when a job has ended, because whoever was about to do it is gone, is taken off when somebody deletes the
object: that is on the log until the object is gone.
"""

import asyncio

import msgspec
import structlog

from events.event import Millis
from events.json_object import JsonObject
from projections.workloads.terminating import has_to_stop
from projections.world import World
from services.applier.known_objects import WORKLOADS
from services.applier.low_priority_writes import LowPriorityWrites
from services.applier.manifests import finalizers_left
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing, Writer

log = structlog.get_logger()

_AT_ONCE = 8
_RETRY: Millis = 1000


class _Free(msgspec.Struct, frozen=True):
    """A Workload object that is to be let go, by its key, and its metadata as far as they are known."""

    key: str
    uid: str
    meta: JsonObject | None = None


class WorkloadKeeper:
    """Lets the objects go of jobs that have ended, and those that somebody has deleted once their jobs stand still."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites) -> None:
        self._writer, self._clock, self._spare = writer, clock, spare
        self._wanted: dict[str, _Free] = {}
        self._asked_for: dict[str, str] = {}
        """The UIDs of those that were deleted and may go, until the log tells that they are gone."""
        self._news = asyncio.Event()

    def observe(self, world: World) -> None:
        """Take note of what may go; told after each turn of the lane."""
        free = {
            key: found.uid
            for key, found in world.terminating.items()
            if not has_to_stop(found, world.workloads.get(key))
        }
        for key, uid in free.items():
            if self._asked_for.get(key) != uid:
                self._want(_Free(key, uid))
        self._asked_for = free

    def free(self, key: str, meta: JsonObject) -> None:
        """The job has ended, and the object says so: these are its metadata now."""
        if finalizers_left(meta) is not None:
            self._want(_Free(key, str(meta["uid"]), meta))

    async def run(self) -> None:
        """Let go until cancelled."""
        while True:
            if not self._wanted:
                self._news.clear()
                await self._news.wait()
            async with self._spare.turn():
                some = [self._wanted.pop(key) for key in list(self._wanted)[:_AT_ONCE]]
                done = await asyncio.gather(*(self._try(one) for one in some))
            again = [one for one, well in zip(some, done, strict=True) if not well]
            if again:
                await self._clock.sleep(_RETRY)
            for one in again:
                self._wanted.setdefault(one.key, _Free(one.key, one.uid))

    def _want(self, found: _Free) -> None:
        self._wanted[found.key] = found
        self._news.set()

    async def _try(self, found: _Free) -> bool:
        try:
            await self._let_go(found)
        except ObjectMissing:
            log.debug("gone already", workload=found.key)
        except (ClusterUnavailable, ObjectConflict) as problem:
            log.warning("workload not let go yet", workload=found.key, problem=str(problem))
            return False
        except ObjectInvalid as problem:
            log.error("workload not let go", workload=found.key, problem=str(problem))
        except Exception as problem:  # noqa: BLE001 - whatever a workload holds, all others are let go
            log.error("failed on a workload", workload=found.key, exc_info=problem)
        return True

    async def _let_go(self, found: _Free) -> None:
        namespace, _, name = found.key.partition("/")
        meta = found.meta or (await self._writer.get(WORKLOADS, namespace, name))["metadata"]
        left = finalizers_left(meta)
        if left is None or meta["uid"] != found.uid:
            return
        # Of that very version: nobody's finalizer is taken away that came meanwhile.
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left}}
        await self._writer.merge(WORKLOADS, namespace, name, patch)
