"""One application, written to Kubernetes. Every write may be done twice and changes nothing then."""

from typing import TypeAlias

import structlog
from msgspec.structs import replace

from events.api.labels import DECISION
from events.json_object import JsonObject, object_at
from events.json_path import FieldBroken
from events.object_version import version_number
from projections.workloads.preemption_gates import has_gates_of_others
from services.applier.application_events import news_of, turn_of
from services.applier.citations import citation_patch, cites
from services.applier.decisions import Decisions
from services.applier.discarding import delete_job, release_object
from services.applier.events.event_recorder import EventRecorder
from services.applier.events.workload_events import created, deleted, updated
from services.applier.known_jobs import KnownJobs, SeenJobs
from services.applier.later_decisions import is_overtaken
from services.applier.patches import (
    JobWrite,
    changes_told,
    is_another,
    job_write,
    mark_patch,
    owners_patch,
    priority_patch,
    shows_quota,
    spec_differs,
    spec_patch,
    waits_to_be_restored,
    with_checks,
    with_gates_of_others,
)
from services.applier.plan import Application
from services.applier.pods.start_or_end import start_or_end_pods
from services.applier.templates import Templates, as_written
from services.applier.workloads.known_objects import WORKLOADS, KnownObjects
from services.applier.workloads.parent_object import parent_of
from services.applier.workloads.status_parts import StatusPart, decided_part, left_behind, print_of, seen_parts
from services.applier.workloads.workload_finalizers import WorkloadKeeper
from services.applier.workloads.workload_manifest import workload_object
from services.applier.writes.write_limit import WriteLimit
from services.jobs.job_status import is_suspended
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Writer

log = structlog.get_logger()

Ended: TypeAlias = tuple[str, ...]
"""The UIDs of pods that ran when they were ended."""
_CONFLICTS = 5
_MOST_WRITES = 10
"""Of one job until it is where a decision wants it, conflicts included."""


class ApplicationWriter:
    """Writes one application's objects. Each call may raise what the port to the cluster raises."""

    def __init__(
        self,
        writer: Writer,
        notices: EventRecorder,
        keeper: WorkloadKeeper,
        seen: SeenJobs = lambda _: None,
        decisions: Decisions | None = None,
    ) -> None:
        """`decisions`: those of the partition, to cite commits and to see later ones; None where neither is done."""
        self.limit = WriteLimit()
        """How many applications may be written at once."""
        self._writer, self._notices, self._keeper, self._decisions = writer, notices, keeper, decisions
        self._known, self._jobs = KnownObjects(), KnownJobs(seen)
        self._templates = Templates(writer)

    async def write(self, application: Application) -> Ended:
        """Stop the job before its status says so; start it after. Pods come last, because the object of a group goes with them."""
        if application.discard:
            await self._discard(application)
            return ()
        first = not application.run and not application.made_of_pods
        if first:
            await self.steer_job(application)
        await self.show(application)
        return () if first else await self.steer_job(application)

    def version_of(self, workload: str) -> int:
        """The resourceVersion of a Workload object as it was answered last; 0 when it is not known."""
        known = self._known.of(workload)
        return 0 if known is None else version_number(known.version)

    def forget(self, workload: str) -> None:
        """Let go of what is known of a workload's objects: it has ended and they say so, or it is gone."""
        self._known.forget(workload)
        self._jobs.forget(workload)

    async def show(self, application: Application) -> Ended:
        """Bring the Workload object to where it should be; one that belongs to a job is made when it is not there."""
        ours = application.is_ours
        fresh = ours and application.fresh and self._known.of(application.workload) is None
        made = await self._create(application) if fresh else None
        # Whoever has made it may know more, where nothing is decided here that it has to show.
        others = fresh and made is None and not application.sequence
        try:
            await self._cite(application)
            await self._ask_first(application)
            found = await self._show(application, made, others=others)
        except ObjectMissing:
            self._known.forget(application.workload)
            if not ours or application.aside:
                raise  # What was shown before and is gone went with its job.
            found = await self._show(application, await self._create(application))
        if found is None:
            return ()
        if (owners := owners_patch(found, application)) is not None:
            found = await self._merge(application, owners)
        found = await self._mark(application, found)
        await self._refresh(application, found)
        self._record_news(application, found)
        if application.release:
            await release_object(self._writer, application, found["metadata"])
        elif application.finished and application.of.owner is not None:
            self._keeper.free(application.workload, found["metadata"])
        return ()

    async def _mark(self, application: Application, found: JsonObject) -> JsonObject:
        """Say what was written: checks are set once, so what their controllers say right after that is not taken back by another try."""
        for _ in range(_CONFLICTS):
            mark = mark_patch(found, await self._without_lost_mark(application, found))
            if mark is None:
                return found
            try:
                return await self._merge(application, mark)
            except ObjectConflict:
                found = await self._read(application)
        raise ObjectConflict(f"workload {application.workload} keeps changing")

    async def _ask_first(self, application: Application) -> None:
        """Have an object ask for what quota was given for before it shows that it was: after that it can't ask for anything else."""
        of = application.of
        if application.nothing_decided or not of.reserved or of.finished:
            return
        if not (self._known.asks_for_others(of) or self._known.names_another_class(of)):
            return
        found = await self._read(application)
        if shows_quota(found) and (between := application.status_between) is not None:
            found = await self._apply(application, decided_part(between), found["metadata"]["resourceVersion"])
        if not shows_quota(found):
            await self._rewrite(application, found)

    async def _cite(self, application: Application) -> None:
        """Have a copy from another cluster say which commit its status is about to show."""
        if self._decisions is None or not cites(application):
            return
        found = await self._read(application)
        if (patch := await citation_patch(found, application, self._decisions)) is not None:
            await self._merge(application, patch)

    async def _show(
        self, application: Application, made: JsonObject | None, *, others: bool = False
    ) -> JsonObject | None:
        """Each part of the status that may have changed; the object as it is then, if it was answered.

        An object that was made just now shows what nobody has considered yet. With `others` what is decided is left as it is.
        """
        status = application.status
        if made is not None and print_of(decided_part(status).status) == print_of({}):
            found = made
        else:
            found = None if application.nothing_decided or others else await self._show_decided(application, status)
        pods = application.shows_pods_ready
        for part in seen_parts(status, found, pods=pods):
            if part in seen_parts(status, found, pods=pods):
                found = await self._show_seen(application, part)
        of = application.of
        if found is None and (application.group or of.in_cluster.prebuilt or self._known.asks_otherwise(of)):
            found = await self._read(application)
            self._known.note_asked(application.workload, found)
        return found

    async def _show_seen(self, application: Application, part: StatusPart) -> JsonObject:
        """A part that tells of the job: where the object was there before that, it may be of another one by now."""
        known = None if application.is_ours else self._known.of(application.workload)
        try:
            return await self._apply(application, part, known.version if known is not None else "")
        except ObjectConflict:
            self._known.note(application.workload, await self._read(application))
            raise

    async def _read(self, application: Application) -> JsonObject:
        """The object as it is now. Raises `ObjectMissing`, also where it is another one than was there before the job."""
        found = await self._writer.get(WORKLOADS, application.namespace, application.name)
        if not application.is_ours and found["metadata"]["uid"] != application.of.uid:
            raise ObjectMissing(f"workload {application.workload} is another one by now")
        return found

    async def _show_decided(self, application: Application, status: JsonObject) -> JsonObject:
        """What was decided, on the object as it was when it was last written from here.

        On a conflict the object is read: if others have changed only what is not decided here, that is kept and this is
        written on top. If a decided field has changed, there may be a newer decision: that is read first.
        """
        known = self._known.of(application.workload)
        for _ in range(_CONFLICTS):
            if application.checks or has_gates_of_others(application.of):
                found = await self._read(application)
                known = self._known.note(application.workload, found)
                marked = await self._without_lost_mark(application, found)
                if application.checks:
                    status = with_checks(status, found, marked)
                status = with_gates_of_others(status, found, marked)
            part = decided_part(status)
            try:
                found = await self._apply(application, part, known.version if known is not None else "")
            except ObjectConflict:
                found = await self._read(application)
                before, known = known, self._known.note(application.workload, found)
                if known.shows == print_of(part.status):
                    return found
                if before is None or before.shows != known.shows:
                    if before is not None and await self._is_overtaken(application):
                        self._known.restore(application.workload, before)
                    raise
                continue
            behind = left_behind(part.status, found.get("status") or {}, others_nominate=application.others_nominate)
            return found if behind is None else await self._merge(application, {"status": behind}, "status")
        raise ObjectConflict(f"workload {application.workload} keeps changing")

    async def _apply(self, application: Application, part: StatusPart, version: str = "") -> JsonObject:
        meta = {"name": application.name, "namespace": application.namespace}
        value: JsonObject = {
            "apiVersion": f"{WORKLOADS.group}/{WORKLOADS.version}",
            "kind": WORKLOADS.kind,
            "metadata": {**meta, "resourceVersion": version} if version else meta,
            "status": part.status,
        }
        began = self._notices.now
        found = await self._writer.apply(
            WORKLOADS, application.namespace, value, manager=part.manager, subresource="status"
        )
        self.limit.took(self._notices.now - began)
        self._known.note(application.workload, found)
        return found

    async def _merge(self, application: Application, patch: JsonObject, subresource: str = "") -> JsonObject:
        place = (WORKLOADS, application.namespace, application.name)
        found = await self._writer.merge(*place, patch, subresource=subresource)
        self._known.note(application.workload, found)
        return found

    async def steer_job(self, application: Application) -> Ended:
        """Bring the job to run or to stop, unless it bears the mark of a later decision."""
        if not application.job:
            return ()
        if application.made_of_pods:
            return await self._steer_pods(application)
        if self._jobs.needs_nothing(application):
            return ()
        turned = False
        job = await self._job(application)
        application = await self._without_lost_mark(application, job)
        for _ in range(_MOST_WRITES):
            write = self._next_write(job, application)
            if write is None:
                return self._steered(application, turned=turned)
            try:
                answer = await self._write_job(application, write)
                turned, job = turned or application.turns(job), answer
                if write.last:
                    return self._steered(application, turned=turned)
            except ObjectConflict:
                self._jobs.forget(application.workload)
                job = await self._job(application)
            except ObjectInvalid as problem:
                if not write.optional:
                    raise
                log.info("not restored", workload=application.workload, problem=str(problem))
                return self._steered(application, turned=turned)
        raise ObjectConflict(f"job {application.job} keeps changing")

    async def _without_lost_mark(self, application: Application, found: JsonObject) -> Application:
        """The same; a later decision that an object is marked with, and that this log has not made, was lost with its end and counts as another log's."""
        mark = object_at(found, "metadata", "annotations").get(DECISION, "")
        later = application.since(mark) > application.sequence
        if not later or self._decisions is None or await self._is_overtaken(application):
            return application
        of = application.of
        marked = replace(of.in_cluster, marks=(*of.in_cluster.marks, mark))
        return replace(application, of=replace(of, in_cluster=marked))

    def _steered(self, application: Application, *, turned: bool) -> Ended:
        if turned:
            self._notices.record_all(turn_of(application, self._notices.now))
        return ()

    def _next_write(self, job: JsonObject, application: Application) -> JobWrite | None:
        try:
            write = job_write(job, application)
        except FieldBroken as broken:
            raise ObjectInvalid(str(broken)) from broken
        kind = application.kind
        if write is None and kind is not None and is_suspended(kind, job) and not waits_to_be_restored(kind, job):
            self._jobs.note_still(application, job)
        return write

    async def _job(self, application: Application) -> JsonObject:
        """The job, at least as new as the log has it; a later change by others shows as a conflict when it is written."""
        job = self._jobs.of(application)
        if job is None:
            job = await self._writer.get(application.job_resource, application.namespace, application.job)
            self._jobs.note(application, job)
        if is_another(job, application):
            raise ObjectMissing(f"job {application.job} is another one by now")
        return job

    async def _steer_pods(self, application: Application) -> Ended:
        ended = await start_or_end_pods(self._writer, application, self._without_lost_mark)
        if application.gate or ended:
            self._notices.record_all(turn_of(application, self._notices.now))
        return ended

    async def _write_job(self, application: Application, write: JobWrite) -> JsonObject:
        place = (application.job_resource, application.namespace, application.job)
        job = await self._writer.merge(*place, write.patch, subresource=write.subresource)
        self._jobs.note(application, job)
        return job

    async def _create(self, application: Application) -> JsonObject | None:
        """The object as it was made; None when it is there already.

        Raises `ObjectConflict` where whoever made it may show a decision that was not read here yet.
        """
        parent = await parent_of(self._writer, application.of)
        value = workload_object(application.of, await self._described(application), parent)
        try:
            made = await self._writer.create(WORKLOADS, application.namespace, value)
            self._known.note(application.workload, made)
            self._notices.record_all(created(application.of, self._notices.now))
        except ObjectConflict:
            if application.sequence and await self._is_overtaken(application):
                raise
            log.debug("there already", workload=application.workload)
            return None
        return made

    async def _is_overtaken(self, application: Application) -> bool:
        """Whether what is there may show a later decision than this, which is to be read first."""
        return self._decisions is not None and await is_overtaken(application, self._decisions)

    async def _described(self, application: Application) -> dict[str, JsonObject]:
        """The templates of its pods; none where nobody describes them any more."""
        try:
            found = await self._templates_of(application)
        except (ObjectMissing, FieldBroken) as problem:
            log.info("pods not described", workload=application.workload, problem=str(problem))
            return {}
        return {name: as_written(template) for name, template in found.items()}

    async def _templates_of(self, application: Application) -> dict[str, JsonObject]:
        kind = application.kind
        if application.made_of_pods or kind is None:
            return await self._templates.of(application, {})
        job = self._jobs.of(application)
        if job is None:
            job = await self._templates.job_of(application, kind)
            self._jobs.note(application, job)
        return await self._templates.in_job(application, kind, job)

    async def _refresh(self, application: Application, found: JsonObject) -> None:
        """Bring what is asked for in the object to where the job has it, while it holds no quota; without a job its priority alone."""
        if application.of.owner is None:
            ranked = priority_patch(found, application.of)
            if ranked is not None:
                await self._merge(application, ranked)
            return
        if spec_differs(found, application.of):
            await self._rewrite(application, found)

    async def _rewrite(self, application: Application, found: JsonObject) -> None:
        """Have the object ask for what its job does, and tell that."""
        patch = spec_patch(found, application.of, await self._described(application))
        await self._merge(application, patch)
        self._notices.record_all(updated(application.of, changes_told(found, application.of), self._notices.now))

    async def _discard(self, application: Application) -> None:
        """Take the object away, and the job with it if nothing is to be tried any more; what is gone is gone."""
        if application.discard_job and application.job and await delete_job(self._writer, application):
            self._notices.record_all(deleted(application.of, self._notices.now))
        try:
            found = await self._read(application)
            self._record_news(application, found)
            meta = found["metadata"]
            await release_object(self._writer, application, meta)
            if meta.get("deletionTimestamp") is None:
                await self._writer.delete(WORKLOADS, application.namespace, application.name, uid=meta.get("uid", ""))
        except ObjectMissing:
            log.debug("gone already", workload=application.workload)

    def _record_news(self, application: Application, found: JsonObject) -> None:
        uid = object_at(found, "metadata").get("uid", "")
        self._notices.record_all(news_of(application, uid, self._notices.now))
