"""One application, written to Kubernetes. Every write may be done twice and changes nothing then."""

from typing import Any, TypeAlias

import structlog

from services.applier.cluster_events import workload_notice
from services.applier.manifests import finalizers_left
from services.applier.notices import Notices
from services.applier.patches import JobWrite, job_write, mark_patch, owners_patch, with_checks
from services.applier.plan import Application
from services.applier.pods import steer_pods
from services.applier.tidings import created, finished, started, stopped, tidings
from services.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource, Writer
from services.jobs.paths import FieldBroken

log = structlog.get_logger()

Ended: TypeAlias = tuple[str, ...]
"""The UIDs of pods that ran when they were told to end."""
WORKLOADS = Resource(group="kueue.x-k8s.io", version="v1beta2", plural="workloads", kind="Workload")
_CONFLICTS = 5


class ApplicationWriter:
    """Writes what an application says. Each call may raise what the port to the cluster raises."""

    def __init__(self, writer: Writer, notices: Notices) -> None:
        self._writer, self._notices = writer, notices

    async def write(self, application: Application) -> Ended:
        """Stop the job before its status says so; start it after. Pods that end take their object with them: they are last."""
        if application.discard:
            await self._discard(application)
            return ()
        first = not application.run and not application.made_of_pods
        if first:
            await self.steer_job(application)
        await self.show(application)
        return () if first else await self.steer_job(application)

    async def show(self, application: Application) -> Ended:
        """Bring the Workload object to where it should be; one that belongs to a job is made when it is not there."""
        patch: dict[str, Any] = {"status": application.status}
        place = (WORKLOADS, application.namespace, application.name)
        ours = application.of.owner is not None
        if ours and application.fresh:
            await self._create(application)
        try:
            if application.checks:
                patch = with_checks(patch, await self._writer.get(*place), application)
            found = await self._writer.merge(*place, patch, subresource="status")
        except ObjectMissing:
            if not ours or application.aside:
                raise  # What was shown before and is gone went with its job.
            await self._create(application)
            found = await self._writer.merge(*place, patch, subresource="status")
        owners = owners_patch(found, application)
        if owners is not None:
            found = await self._writer.merge(*place, owners)
        mark = mark_patch(found, application)
        if mark is not None:
            await self._writer.merge(*place, mark)
        self._tell_news(application, found)
        if application.release:
            await self._release(application)
        return ()

    async def steer_job(self, application: Application) -> Ended:
        """Bring the job to run or to stop, unless it bears the mark of a later decision."""
        if not application.job:
            return ()
        if application.made_of_pods:
            return await self._steer_pods(application)
        conflicts, turned = 0, False
        while conflicts < _CONFLICTS:
            job = await self._writer.get(application.job_resource, application.namespace, application.job)
            try:
                write = job_write(job, application)
            except FieldBroken as broken:
                raise ObjectInvalid(str(broken)) from broken
            if write is None:
                if turned:
                    self._tell_turn(application)
                return ()
            try:
                await self._write_job(application, write)
                turned = turned or application.turns(job)
            except ObjectConflict:
                conflicts += 1
            except ObjectInvalid as problem:
                if not write.optional:
                    raise
                log.info("not restored", workload=application.workload, problem=str(problem))
                return ()
        raise ObjectConflict(f"job {application.job} keeps changing")

    async def _steer_pods(self, application: Application) -> Ended:
        ended = await steer_pods(self._writer, application)
        if application.gate or ended:
            self._tell_turn(application)
        return ended

    async def _write_job(self, application: Application, write: JobWrite) -> None:
        place = (application.job_resource, application.namespace, application.job)
        await self._writer.merge(*place, write.patch, subresource=write.subresource)

    async def _create(self, application: Application) -> None:
        try:
            await self._writer.create(WORKLOADS, application.namespace, application.object)
            self._notices.tell_all(created(application.of, self._notices.now))
        except ObjectConflict:
            log.debug("there already", workload=application.workload)

    async def _discard(self, application: Application) -> None:
        """Take the object away, and the job with it if nothing is to be tried any more; what is gone is gone."""
        try:
            if application.discard_job and application.job and not application.made_of_pods:
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
            self._tell_news(application, found)
        left = finalizers_left(meta)
        if left is not None:
            patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left}}
            await self._writer.merge(WORKLOADS, application.namespace, application.name, patch)
        return meta.get("deletionTimestamp") is not None

    def _tell_news(self, application: Application, found: dict[str, Any]) -> None:
        uid = (found.get("metadata") or {}).get("uid", "")
        fresh = () if application.discard else tidings(application.of)
        self._notices.tell_all(
            workload_notice(application.workload, uid, application.lane, news) for news in (*application.news, *fresh)
        )
        if application.finished and not application.of.finish_shown:
            self._notices.tell_all(finished(application.of, self._notices.now))

    def _tell_turn(self, application: Application) -> None:
        """The job was let run or stopped just now."""
        now = self._notices.now
        told = started(application.of, application.gate, now) if application.run else stopped(application.of, now)
        self._notices.tell_all(told)
