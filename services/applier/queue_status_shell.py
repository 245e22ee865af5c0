"""Writes the statuses of queues: seldom, and in spare time.

Nobody waits for a status of a queue, so changes are gathered for a second. A write that failed is tried again later.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog

from events.event import Millis
from projections.queue_status import Status
from projections.world import World
from services.applier.queue_status import Place, Statuses, status_patch
from services.applier.spare_time import SpareTime
from services.clock_port import Clock
from services.cluster_port import (
    ClusterUnavailable,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
    Resource,
    Writer,
)

log = structlog.get_logger()

_GROUP, _VERSION = "kueue.x-k8s.io", "v1beta2"
RESOURCES = {
    "ClusterQueue": Resource(
        group=_GROUP, version=_VERSION, plural="clusterqueues", kind="ClusterQueue", namespaced=False
    ),
    "Cohort": Resource(group=_GROUP, version=_VERSION, plural="cohorts", kind="Cohort", namespaced=False),
    "AdmissionCheck": Resource(
        group=_GROUP, version=_VERSION, plural="admissionchecks", kind="AdmissionCheck", namespaced=False
    ),
    "LocalQueue": Resource(group=_GROUP, version=_VERSION, plural="localqueues", kind="LocalQueue"),
}
EVERY: Millis = 1000
"""So long changes are gathered; no status is written more often."""
_REST = 100
"""So many times as long as looking took nothing is looked at."""
_RETRY: Millis = 2000


class QueueStatusWriter:
    """Keeps the statuses of queues and cohorts as the world has them."""

    def __init__(self, writer: Writer, clock: Clock, spare: SpareTime) -> None:
        self._writer, self._clock, self._spare = writer, clock, spare
        self._statuses = Statuses()
        self._wanted: dict[Place, Status] = {}
        self._shown: dict[Place, dict[str, Any]] = {}
        """The objects as they were last seen here, so that each is read only once."""
        self._next: Millis = 0
        self._asked: Millis = 0
        self._news = asyncio.Event()

    def observe(self, world: World, touched: Sequence[str]) -> None:
        """Take note of what has changed; told after each turn of the lane."""
        self._statuses.touch(world, touched)
        now = self._clock.now()
        if now < self._next:
            self._ask(world, self._next)
            return
        found = self._statuses.changed(world, now)
        # The lane waits meanwhile: where there are many queues they are looked at less often.
        self._next = now + max(EVERY, _REST * (self._clock.now() - now))
        rule = world.settings.admission_fair_sharing
        if rule is not None:
            self._ask(world, now - now % max(rule.sampling, EVERY) + max(rule.sampling, EVERY))
        if found:
            self._wanted.update(found)
            self._news.set()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            if not self._wanted:
                self._news.clear()
                await self._news.wait()
            async with self._spare.turn():
                # What was gathered while others had their turn is written, too.
                place = next(iter(self._wanted))
                await self._try(place, self._wanted.pop(place))

    async def _try(self, place: Place, status: Status) -> None:
        try:
            await self._write(place, status)
        except (ClusterUnavailable, ObjectConflict) as problem:
            log.warning("status not written yet", object="/".join(place), problem=str(problem))
            self._wanted.setdefault(place, status)
            self._shown.pop(place, None)
            await self._clock.sleep(_RETRY)
        except ObjectMissing:
            # If it comes back, it comes under another UID and is told anew.
            log.debug("gone already", object="/".join(place))
            self._shown.pop(place, None)
        except ObjectInvalid as problem:
            log.error("status rejected", object="/".join(place), problem=str(problem))
            self._shown.pop(place, None)

    def _ask(self, world: World, due: Millis) -> None:
        """Have the lane take a turn then, also when nothing else happens."""
        if self._asked <= self._clock.now() or due < self._asked:
            self._asked = due
            world.look_again(due)

    async def _write(self, place: Place, status: Status) -> None:
        kind, namespace, name = place
        found = self._shown.get(place)
        if found is None or found["metadata"]["uid"] != status.uid:
            found = await self._writer.get(RESOURCES[kind], namespace, name)
        if status.uid and found["metadata"]["uid"] != status.uid:
            raise ObjectMissing(f"{kind} {name} is another one by now")
        patch = status_patch(place, status, found, self._clock.now())
        if patch is not None:
            if "conditions" in patch["status"]:
                # The whole list is written: whoever has added to it since is not to be undone.
                patch = {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, **patch}
            found = await self._writer.merge(RESOURCES[kind], namespace, name, patch, subresource="status")
        meta = {name: found["metadata"][name] for name in ("uid", "resourceVersion")}
        self._shown[place] = {"metadata": meta, "status": found.get("status")}
