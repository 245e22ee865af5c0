"""The applier's shell: the only one that writes to Kubernetes. Every write may be done twice and changes nothing then.

What it did is reported as a fact. A decision that was made and not applied is found on the log by whoever comes next.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog

from events.application import DecisionApplied, DecisionRejected
from events.codec import encode
from events.commit import Sighting
from events.control import ObjectRefused
from events.subjects import fact_subject
from projections.world import World
from services.applier.cluster_events import refusal_event, workload_event
from services.applier.manifests import finalizers_left
from services.applier.patches import JobWrite, job_write, mark_patch, with_checks
from services.applier.plan import Application, plan
from services.applier.pods import steer_pods
from services.clock_port import Clock
from services.cluster_port import (
    ClusterUnavailable,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
    Resource,
    Writer,
)
from services.jobs.paths import FieldBroken
from services.log_errors import LogUnavailable
from services.log_port import Message, Stream

log = structlog.get_logger()

EVENTS = Resource(plural="events", kind="Event")
WORKLOADS = Resource(group="kueue.x-k8s.io", version="v1beta2", plural="workloads", kind="Workload")
_AT_ONCE = 16
_RETRY_MS = 500
_CONFLICTS = 5


class Applier:
    """Applies what a lane's world says, workload by workload, several at once but never one twice at once."""

    def __init__(self, writer: Writer, facts: Stream, clock: Clock, lane: str) -> None:
        self._writer, self._facts, self._clock, self._lane = writer, facts, clock, lane
        self._wanted: dict[str, Application] = {}
        self._busy: set[str] = set()
        self._done: dict[str, tuple[int, bool, tuple[str, ...]]] = {}
        self._refused: dict[str, ObjectRefused] = {}
        self._told: dict[str, ObjectRefused] = {}
        self._news = asyncio.Event()

    def observe(self, world: World, touched: Sequence[str]) -> None:
        """Take note of what is to be applied; told after each turn of the lane."""
        for application in plan(world, self._lane, touched):
            if self._done.get(application.workload) != application.state:
                self._wanted[application.workload] = application
                self._news.set()
        for place, refused in world.refused.items():
            if self._told.get(place) != refused:
                self._told[place] = self._refused[place] = refused
                self._news.set()

    async def run(self) -> None:
        """Apply until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_AT_ONCE):
                tasks.create_task(self._work())

    async def _tell_refusals(self) -> None:
        """An Event on every object that could not be understood; one that is there already was told before."""
        while self._refused:
            _, refused = self._refused.popitem()
            await self._tell(refusal_event(refused, self._clock.now()))

    async def _tell(self, event: dict[str, Any]) -> None:
        try:
            await self._writer.create(EVENTS, event["metadata"]["namespace"], event)
        except ObjectConflict:
            log.debug("told already", object=event["involvedObject"]["name"])
        except (ClusterUnavailable, ObjectInvalid, ObjectMissing) as problem:
            log.warning("not told", object=event["involvedObject"]["name"], problem=str(problem))

    async def _tell_news(self, application: Application, found: dict[str, Any]) -> None:
        uid = (found.get("metadata") or {}).get("uid", "")
        for news in application.news:
            await self._tell(workload_event(application.workload, uid, application.lane, news))

    async def _work(self) -> None:
        while True:
            await self._tell_refusals()
            application = self._next()
            if application is None:
                self._news.clear()
                await self._news.wait()
                continue
            try:
                await self._apply(application)
            finally:
                self._busy.discard(application.workload)
                self._news.set()

    def _next(self) -> Application | None:
        for key, application in self._wanted.items():
            if key not in self._busy:
                self._busy.add(key)
                return self._wanted.pop(key) if application else None
        return None

    async def _apply(self, application: Application) -> None:
        while True:
            try:
                await self._write(application)
                fact = DecisionApplied(
                    workload=application.workload,
                    lane=application.lane,
                    sequence=application.sequence,
                    finished=application.finished,
                )
                break
            except (ClusterUnavailable, ObjectConflict) as problem:
                log.warning("not applied yet", workload=application.workload, problem=str(problem))
                await self._clock.sleep(_RETRY_MS)
                if self._wanted.get(application.workload) is not None:
                    return  # Something newer has been decided meanwhile.
            except ObjectMissing:
                fact = DecisionRejected(
                    workload=application.workload,
                    lane=application.lane,
                    sequence=application.sequence,
                    reason="Missing",
                    message="the job or the workload is not in the cluster any more",
                )
                break
            except ObjectInvalid as problem:
                log.error("rejected", workload=application.workload, problem=str(problem))
                fact = DecisionRejected(
                    workload=application.workload,
                    lane=application.lane,
                    sequence=application.sequence,
                    reason="Invalid",
                    message=str(problem),
                )
                break
        self._done[application.workload] = application.state
        await self._report(application, fact)

    async def _report(self, application: Application, fact: DecisionApplied | DecisionRejected) -> None:
        kind = type(fact).__name__
        sighting = Sighting(
            id=f"{application.workload}:{application.decision}:{kind}{':finished' if application.finished else ''}",
            at=self._clock.now(),
            author="applier",
            cause=application.decision,
            fact=fact,
        )
        message = Message(fact_subject("", kind), encode(sighting), sighting.id)
        while True:
            try:
                await self._facts.publish([message])
                return
            except LogUnavailable as problem:
                log.warning("log unavailable", problem=str(problem))
                await self._clock.sleep(_RETRY_MS)

    async def _write(self, application: Application) -> None:
        """Stop the job before its status says so; start it after. Pods that end take their object with them: they are last."""
        if application.discard:
            await self._discard(application)
            return
        first = not application.run and not application.members
        if first:
            await self._steer_job(application)
        await self._show(application)
        if not first:
            await self._steer_job(application)

    async def _show(self, application: Application) -> None:
        patch: dict[str, Any] = {"status": application.status}
        place = (WORKLOADS, application.namespace, application.name)
        try:
            if application.checks:
                patch = with_checks(patch, await self._writer.get(*place), application)
            found = await self._writer.merge(*place, patch, subresource="status")
        except ObjectMissing:
            if not application.object["metadata"].get("ownerReferences"):
                raise
            try:
                await self._writer.create(WORKLOADS, application.namespace, application.object)
            except ObjectConflict:
                log.debug("there already", workload=application.workload)
            found = await self._writer.merge(*place, patch, subresource="status")
        mark = mark_patch(found, application)
        if mark is not None:
            await self._writer.merge(*place, mark)
        await self._tell_news(application, found)
        if application.release:
            await self._release(application)

    async def _discard(self, application: Application) -> None:
        """Take the object away, and the job with it if nothing is to be tried any more; what is gone is gone."""
        try:
            if application.discard_job and application.job and not application.members:
                await self._writer.delete(application.job_resource, application.namespace, application.job)
        except ObjectMissing:
            log.debug("gone already", job=application.job)
        try:
            if not await self._release(application):
                await self._writer.delete(WORKLOADS, application.namespace, application.name)
        except ObjectMissing:
            log.debug("gone already", workload=application.workload)

    async def _release(self, application: Application) -> bool:
        """Take our hold off the object; whether somebody has deleted it already."""
        found = await self._writer.get(WORKLOADS, application.namespace, application.name)
        meta = found["metadata"]
        if application.discard:
            await self._tell_news(application, found)
        left = finalizers_left(meta)
        if left is not None:
            patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left}}
            await self._writer.merge(WORKLOADS, application.namespace, application.name, patch)
        return meta.get("deletionTimestamp") is not None

    async def _steer_job(self, application: Application) -> None:
        """Bring the job to run or to stop, unless it bears the mark of a later decision."""
        if not application.job:
            return
        if application.members:
            await steer_pods(self._writer, application)
            return
        conflicts = 0
        while conflicts < _CONFLICTS:
            job = await self._writer.get(application.job_resource, application.namespace, application.job)
            try:
                write = job_write(job, application)
            except FieldBroken as broken:
                raise ObjectInvalid(str(broken)) from broken
            if write is None:
                return
            try:
                await self._write_job(application, write)
            except ObjectConflict:
                conflicts += 1
            except ObjectInvalid as problem:
                if not write.optional:
                    raise
                log.info("not restored", workload=application.workload, problem=str(problem))
                return
        raise ObjectConflict(f"job {application.job} keeps changing")

    async def _write_job(self, application: Application, write: JobWrite) -> None:
        place = (application.job_resource, application.namespace, application.job)
        await self._writer.merge(*place, write.patch, subresource=write.subresource)
