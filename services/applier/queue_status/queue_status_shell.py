"""Writes the statuses of queues, quota that follows other clusters, and the finalizers of objects in use, at a pace independent of all other writes.

Changes are gathered for a second; each of these is written one at a time, and after each write there is a
pause as long as it took. People and tools look at queues also while the API server is at its limit, so this goes on however
much else is to be written. A write that failed is retried later.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import structlog

from events.api.labels import RESOURCE_IN_USE
from events.event import Millis
from events.json_object import JsonObject
from events.object_version import object_place
from projections.checks.quota_automation import quotas_to_set
from projections.configuration import Configuration
from projections.object_versions import KnownVersion
from projections.partitions.homes import leads, owns_queue
from projections.partitions.state import PartitionState
from projections.queues.budget_condition import BudgetedQueueState
from projections.queues.objects_in_use import FinalizerWanted, wanted_finalizers
from projections.queues.status import Status
from projections.workloads.state import WorkloadState
from services.applier.queue_status.quota_patch import QuotaWanted, quota_patch
from services.applier.queue_status.status_patches import QueuePlace, Statuses, status_patch
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import (
    ClusterUnavailable,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
    Resource,
    Writer,
)

log = structlog.get_logger()
T = TypeVar("T")

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
    "ResourceFlavor": Resource(
        group=_GROUP, version=_VERSION, plural="resourceflavors", kind="ResourceFlavor", namespaced=False
    ),
    "Topology": Resource(group=_GROUP, version=_VERSION, plural="topologies", kind="Topology", namespaced=False),
}
EVERY: Millis = 1000
"""Milliseconds for which changes are gathered; no status is written more often."""
_HOLDS_EVERY: Millis = 50
"""How often it is looked at most which objects are in use."""
_REST = 100
"""The pause before the next look, as a multiple of the time that the last look took."""
_LONGEST_REST: Millis = 250
_RETRY: Millis = 2000


class QueueStatusWriter:
    """Keeps the statuses of queues and cohorts as the world has them, quota that follows other clusters, and our finalizer on objects in use."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites) -> None:
        self._writer, self._clock, self._spare = writer, clock, spare
        self._statuses = Statuses()
        self._wanted = _Wanted[Status]()
        self._holds = _Wanted[FinalizerWanted]()
        self._quotas = _Wanted[QuotaWanted]()
        self._shown: dict[QueuePlace, JsonObject] = {}
        """The objects as they were last seen here, so that each is read only once."""
        self._next: Millis = 0
        self._next_holds: Millis = 0
        self._asked: Millis = 0

    def observe(self, world: BudgetedQueueState, touched: Sequence[str]) -> None:
        """Take up what has changed; called after each turn of the partition."""
        self._statuses.touch(world, touched)
        self._observe_holds(world)
        now = self._clock.now()
        if now < self._next:
            self._ask(world, self._next)
            return
        self._wanted.put(self._statuses.changed(world, now))
        self._quotas.put_unlike(_unlike_quotas(world), world)
        # The partition waits meanwhile: where there are many queues they are looked at less often.
        self._next = now + max(EVERY, _REST * (self._clock.now() - now))
        rule = world.settings.admission_fair_sharing
        if rule is not None:
            self._ask(world, now - now % max(rule.sampling, EVERY) + max(rule.sampling, EVERY))

    def _observe_holds(self, world: BudgetedQueueState) -> None:
        """Take up which objects are in use: one that is deleted soon after it was made has to bear the finalizer by then."""
        now = self._clock.now()
        if now < self._next_holds:
            self._ask(world, self._next_holds)
            return
        self._holds.put_unlike(_unlike_holds(world), world)
        self._next_holds = now + max(_HOLDS_EVERY, _REST * (self._clock.now() - now))

    async def run(self) -> None:
        """Write statuses and quota of queues, and the finalizers of those in use, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._work(self._wanted, self._write))
            tasks.create_task(self._work(self._holds, self._hold))
            tasks.create_task(self._work(self._quotas, self._set_quota))

    async def _work(self, wanted: "_Wanted[T]", write: Callable[[QueuePlace, T], Awaitable[None]]) -> None:
        while True:
            place, what = await wanted.first()
            began = self._clock.now()
            with self._spare.first():
                await self._try(place, what, wanted, write)
            await self._clock.sleep(min(self._clock.now() - began, _LONGEST_REST))

    async def _try(
        self, place: QueuePlace, what: T, wanted: "_Wanted[T]", write: Callable[[QueuePlace, T], Awaitable[None]]
    ) -> None:
        try:
            await write(place, what)
        except (ClusterUnavailable, ObjectConflict) as problem:
            # That somebody else has just written the object, too, is ordinary: it is read again.
            told = log.debug if isinstance(problem, ObjectConflict) else log.warning
            told("not written yet", object="/".join(place), problem=str(problem))
            wanted.put_back(place, what)
            self._shown.pop(place, None)
            await self._clock.sleep(_RETRY)
        except ObjectMissing:
            # If it comes back, it has another UID and its status is written anew.
            log.debug("gone already", object="/".join(place))
            self._shown.pop(place, None)
        except ObjectInvalid as problem:
            log.error("rejected", object="/".join(place), problem=str(problem))
            self._shown.pop(place, None)
        except Exception as problem:  # noqa: BLE001 - whatever a queue holds, all others are shown
            log.error("failed on a status", object="/".join(place), exc_info=problem)
            self._shown.pop(place, None)

    def _ask(self, world: WorkloadState, due: Millis) -> None:
        """Have the partition take a turn then, also when nothing else happens."""
        if self._asked <= self._clock.now() or due < self._asked:
            self._asked = due
            world.look_again(due)

    async def _set_quota(self, place: QueuePlace, wanted: QuotaWanted) -> None:
        kind, namespace, name = place
        found = await self._writer.get(RESOURCES[kind], namespace, name)
        patch = quota_patch(found, wanted)
        if patch is not None:
            self._shown.pop(place, None)
            await self._writer.merge(RESOURCES[kind], namespace, name, patch)

    async def _hold(self, place: QueuePlace, hold: FinalizerWanted) -> None:
        kind, namespace, name = place
        found = await self._writer.get(RESOURCES[kind], namespace, name)
        meta = found["metadata"]
        if hold.uid and meta["uid"] != hold.uid:
            raise ObjectMissing(f"{kind} {name} is another one by now")
        borne: list[str] = list(meta.get("finalizers") or ())
        if (RESOURCE_IN_USE in borne) is hold.wanted or (hold.wanted and meta.get("deletionTimestamp")):
            return
        left = [*borne, RESOURCE_IN_USE] if hold.wanted else [one for one in borne if one != RESOURCE_IN_USE]
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left}}
        self._shown.pop(place, None)
        await self._writer.merge(RESOURCES[kind], namespace, name, patch)

    async def _write(self, place: QueuePlace, status: Status) -> None:
        kind, namespace, name = place
        found = self._shown.get(place)
        if found is None or found["metadata"]["uid"] != status.uid:
            found = await self._writer.get(RESOURCES[kind], namespace, name)
        if status.uid and found["metadata"]["uid"] != status.uid:
            raise ObjectMissing(f"{kind} {name} is another one by now")
        patch = status_patch(place, status, found, self._clock.now())
        if patch is not None:
            if "conditions" in patch["status"]:
                # The whole list is written: finalizers that others have added since must not be undone.
                patch = {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, **patch}
            found = await self._writer.merge(RESOURCES[kind], namespace, name, patch, subresource="status")
        meta = {name: found["metadata"][name] for name in ("uid", "resourceVersion")}
        self._shown[place] = {"metadata": meta, "status": found.get("status")}


class _Asked(NamedTuple, Generic[T]):
    """What was put of an object, and of which version of it."""

    what: T
    version: KnownVersion | None


class _Wanted(Generic[T]):
    """What is to be written of one kind, the last for each object; which was wanted first comes first."""

    def __init__(self) -> None:
        self._wanted: dict[QueuePlace, T] = {}
        self._asked: dict[QueuePlace, _Asked[T]] = {}
        """Of objects that are not as they should be, what was put."""
        self._news = asyncio.Event()

    def put(self, found: Mapping[QueuePlace, T]) -> None:
        """Have these written, in place of what was wanted of the same objects before."""
        if found:
            self._wanted.update(found)
            self._news.set()

    def put_unlike(self, found: Mapping[QueuePlace, T], world: Configuration) -> None:
        """These are all objects that are not as they should be: each is written once for every version of which that is on the log.

        Of a version that comes after the write somebody else may have undone it, before it was seen here.
        """
        asked = {place: _Asked(what, world.versions.known.get(object_place(*place))) for place, what in found.items()}
        self.put({place: one.what for place, one in asked.items() if self._asked.get(place) != one})
        for place in self._asked.keys() - asked.keys():
            # It is as it should be, or nobody wants that any more: what could not be written until now is of the past.
            self._wanted.pop(place, None)
        self._asked = asked

    async def first(self) -> tuple[QueuePlace, T]:
        """The next one, as soon as there is any; it is taken out."""
        while not self._wanted:
            self._news.clear()
            await self._news.wait()
        place = next(iter(self._wanted))
        return place, self._wanted.pop(place)

    def put_back(self, place: QueuePlace, what: T) -> None:
        """It was not written: it is tried again, unless something else is wanted there by now."""
        self._wanted.setdefault(place, what)


def _unlike_holds(world: PartitionState) -> dict[QueuePlace, FinalizerWanted]:
    return {(hold.kind, "", hold.name): hold for hold in wanted_finalizers(world) if _is_ours(world, hold)}


def _unlike_quotas(world: BudgetedQueueState) -> dict[QueuePlace, QuotaWanted]:
    found: dict[QueuePlace, QuotaWanted] = {}
    for name in world.quota_automation:
        if name in world.cluster_queues and (quotas := quotas_to_set(world, name)) is not None:
            found["ClusterQueue", "", name] = QuotaWanted(uid=world.cluster_queues[name].uid, quotas=quotas)
    return found


def _is_ours(world: PartitionState, hold: FinalizerWanted) -> bool:
    return owns_queue(world, hold.name) if hold.kind == "ClusterQueue" else leads(world)
