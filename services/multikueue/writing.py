"""What is written about one workload in other clusters, and shown of its job here, step by step as a plan wants it.

What is written is told by what is seen afterwards; only that the job is there is told at once, for the decision waits for it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import structlog
from msgspec.structs import replace

from events.api.labels import POD_SETS
from events.event import Millis
from events.job_kind import JobKind
from events.json_object import JsonObject, object_at
from events.multikueue import RemoteJobRefused, RemoteJobSynced, RemoteWorkloadGone
from projections.checks.dispatch import has_ended
from projections.workloads.lifecycle import EVICTED
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.pods import is_leaving
from services.jobs.kinds.table import POD
from services.multikueue.answering import Answering, AnsweringCluster
from services.multikueue.autoscaled import autoscaled_patch, cluster_there, is_scaled_there
from services.multikueue.connection import LONGEST, ClusterConnection
from services.multikueue.estimates import question
from services.multikueue.objects import (
    amended,
    is_deferred,
    is_of_origin,
    may_be_made,
    parked_patch,
    remote_job,
    remote_workload,
    status_patch,
    step_patch,
)
from services.multikueue.remote_plan import RemoteJob, RemotePlan
from services.multikueue.remote_workloads import (
    WORKLOADS,
    remote_workload_fact,
    told_to_stop,
    with_open_gate,
)
from services.multikueue.removing import Removal
from services.multikueue.seen import SeenElsewhere
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import (
    AccessRefused,
    ClusterUnavailable,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
    Writer,
)

log = structlog.get_logger()

_SOON: Millis = 500
_DEFERRED: Millis = 2_000
_LATER: Millis = 10_000
_PATIENCE_S = 10.0
"""No cluster keeps the others waiting for longer."""


class RemoteWriter:
    """Writes in the clusters that are connected."""

    def __init__(
        self, home: Writer, clock: Clock, connections: Mapping[str, ClusterConnection], seen: SeenElsewhere
    ) -> None:
        self._home, self._clock, self._connections, self._seen = home, clock, connections, seen
        self.removal = Removal(home, partial(log.warning, "job left there"))
        """What takes copies away, with their jobs."""
        self._synced: dict[str, str] = {}
        """By workload, the choice of which it was told that its job is there."""
        self._behind: dict[str, Millis] = {}
        """By workload, since when its object asks for other pods than its job."""
        self._answering = defaultdict[str, Answering](Answering)
        """By cluster."""

    def forget(self, key: str) -> None:
        """A workload is sent nowhere any more."""
        self._behind.pop(key, None)
        self._synced.pop(key, None)

    async def write(self, wanted: RemotePlan) -> Millis:
        """Write all of it; how long to wait before it is looked at again, which is soon enough after it was begun."""
        if wanted.broken:
            log.error("not planned", workload=wanted.workload, problem=wanted.broken)
        wait, latest = _LATER, self._clock.now() + _LATER
        steps: list[tuple[str, Callable[[], Awaitable[Millis]]]] = [
            *((cluster, partial(self._remove, wanted, cluster, uid)) for cluster, uid in wanted.remove),
            *((cluster, partial(self._make, wanted, cluster)) for cluster in wanted.make),
            *((cluster, partial(self._make, wanted, cluster, asks=True)) for cluster in wanted.ask),
            *((cluster, partial(self._amend, wanted, cluster, uid)) for cluster, uid in wanted.amend),
            *((cluster, partial(self._open_gate, wanted, cluster)) for cluster in wanted.open),
            *([(wanted.run.cluster, partial(self._run, wanted, wanted.run))] if wanted.run is not None else []),
            *([(wanted.look, partial(self._look, wanted))] if wanted.look else []),
            *([("", partial(self._park, wanted))] if wanted.park else []),
        ]
        # One cluster that does not answer must not keep the others from what is wanted of them.
        for _, step in sorted(steps, key=lambda one: self._answering[one[0]].silent):
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    wait = min(wait, await step())
            except AccessRefused as problem:  # Rights take a while.
                log.warning("may not be written", workload=wanted.workload, problem=str(problem))
            except (ClusterUnavailable, ObjectConflict, ObjectMissing, TimeoutError) as problem:
                log.info("not written yet", workload=wanted.workload, problem=str(problem) or "no answer in time")
                wait = min(wait, _SOON)
            except ObjectInvalid as problem:
                log.error("refused", workload=wanted.workload, problem=str(problem))
                await self._refused(wanted, str(problem))
            except Exception as problem:  # noqa: BLE001 - whatever a workload holds, all others are served
                log.error("failed on a workload", workload=wanted.workload, exc_info=problem)
        return min(wait, latest - self._clock.now())

    def _remote(self, cluster: str) -> Writer:
        connection = self._connections.get(cluster)
        if connection is None or connection.remote is None:
            raise ClusterUnavailable(f"cluster {cluster}: no remote client for nominated cluster")
        answering = self._answering[cluster]
        answering.check()
        return AnsweringCluster(connection.remote, answering, partial(connection.give_up, connection.remote, answering))

    async def _make(self, wanted: RemotePlan, cluster: str, *, asks: bool = False) -> Millis:
        remote = self._remote(cluster)
        self.removal.note_known(wanted.workload)
        local = await self._home.get(WORKLOADS, wanted.namespace, wanted.name)
        if self._is_behind(wanted, local) or (
            wanted.again and cluster not in wanted.keep_job and await self.removal.remove_jobs(remote, wanted)
        ):
            return _SOON
        copy = remote_workload(
            local,
            wanted.origin,
            asks=wanted.asks,
            queue=wanted.queue,
            max_execution=wanted.max_execution,
            gated=wanted.gated and not asks,
        )
        try:
            await remote.create(WORKLOADS, wanted.namespace, question(copy) if asks else copy)
        except ObjectConflict:
            log.debug("there already", workload=wanted.workload, cluster=cluster)
        except ObjectMissing as problem:
            log.warning("no namespace there", workload=wanted.workload, cluster=cluster, problem=str(problem))
        return _LATER

    def _is_behind(self, wanted: RemotePlan, local: JsonObject) -> bool:
        """Whether the object here asks for other pods than its job by now: it is written soon; one that is not for some seconds is taken as it is."""
        shown = object_at(local, "metadata", "annotations").get(POD_SETS, wanted.asks)
        if not wanted.asks or shown == wanted.asks:
            self._behind.pop(wanted.workload, None)
            return False
        since = self._behind.setdefault(wanted.workload, self._clock.now())
        return self._clock.now() < since + _LATER

    async def _amend(self, wanted: RemotePlan, cluster: str, uid: str) -> Millis:
        """Have the copy ask for what the workload asks for by now, where that can be changed in place."""
        remote = self._remote(cluster)
        copy = await remote.get(WORKLOADS, wanted.namespace, wanted.name)
        if copy["metadata"]["uid"] != uid or not is_of_origin(copy, wanted.origin) or wanted.outline is None:
            return _LATER
        patch = amended(copy, wanted.outline)
        if patch is not None:
            await remote.merge(WORKLOADS, wanted.namespace, wanted.name, patch)
        return _LATER

    async def _open_gate(self, wanted: RemotePlan, cluster: str) -> Millis:
        """Let the copy preempt there."""
        remote = self._remote(cluster)
        copy = await remote.get(WORKLOADS, wanted.namespace, wanted.name)
        patch = with_open_gate(copy, self._clock.now()) if is_of_origin(copy, wanted.origin) else None
        if patch is not None:
            await remote.merge(WORKLOADS, wanted.namespace, wanted.name, patch, subresource="status")
        return _LATER

    async def _remove(self, wanted: RemotePlan, cluster: str, uid: str) -> Millis:
        gone = await self.removal.remove(self._remote(cluster), wanted, cluster, uid)
        return _LATER if gone else _SOON

    async def _look(self, wanted: RemotePlan) -> Millis:
        """Tell how the copy stands where the workload is said to run; what is on the log of it may be older than that."""
        remote = self._remote(wanted.look)
        try:
            copy = await remote.get(WORKLOADS, wanted.namespace, wanted.name)
        except ObjectMissing:
            copy = None
        mark = f"{wanted.look}:looked:{self._clock.now()}"
        if copy is None or not is_of_origin(copy, wanted.origin):
            await self._seen.tell(
                wanted.workload, RemoteWorkloadGone(cluster=wanted.look, workload=wanted.workload), mark
            )
        else:
            await self._seen.tell(wanted.workload, remote_workload_fact(wanted.look, copy), mark)
        return _LATER

    async def _run(self, wanted: RemotePlan, run: RemoteJob) -> Millis:
        """Make the job, and show its status here; or have it stopped there."""
        remote = self._remote(run.cluster)
        if run.stop:
            await self._stop(remote, wanted, run.stop)
        if wanted.kind is None:
            return _LATER
        self._connections[run.cluster].follow(resource_of(wanted.kind, wanted.api_version))
        there = [
            (local, found)
            for name in wanted.jobs
            for local in (await self._local(wanted, wanted.kind, name),)
            if local is not None and (found := await self._there(remote, wanted, wanted.kind, run, local)) is not None
        ]
        other = next((found for _, found in there if not is_of_origin(found, wanted.origin)), None)
        if other is not None:
            where = f"{wanted.namespace}/{other['metadata']['name']}"
            await self._refused(wanted, f"remote object is not owned by MultiKueue: {wanted.kind.kind} {where}")
            return _LATER
        in_step = await self._put_in_step(remote, wanted, wanted.kind, run, there)
        if there and in_step and run.decision and self._synced.get(wanted.workload) != run.decision:
            synced = RemoteJobSynced(workload=wanted.workload, cluster=run.cluster, decision=run.decision)
            await self._seen.tell(wanted.workload, synced, run.decision, run.decision)
            self._synced[wanted.workload] = run.decision
        showed = False
        for local, found in there:
            if await self._take_size(remote, wanted, wanted.kind, local, found):
                return _SOON
            patch = status_patch(wanted.kind, local, found, self._clock.now())
            if patch is not None:
                showed = True
                await self._show(wanted, wanted.kind, local, patch)
        if run.over:
            # Who has seen the end of the job itself says so before.
            return _DEFERRED if showed else await self._tell_end(remote, wanted, run)
        if len(there) < len(wanted.jobs) and not run.make:
            return _SOON
        return _DEFERRED if any(is_deferred(wanted.kind, *pair) for pair in there) else _LATER

    async def _tell_end(self, remote: Writer, wanted: RemotePlan, run: RemoteJob) -> Millis:
        """Tell that all is shown here that there is to show of what has ended there, if its copy still says so."""
        copy = await remote.get(WORKLOADS, wanted.namespace, wanted.name)
        fact = remote_workload_fact(run.cluster, copy)
        if fact.uid == run.over and has_ended(fact) and is_of_origin(copy, wanted.origin):
            mark = f"{run.cluster}:{fact.uid}:{fact.version}:shown"
            await self._seen.tell(wanted.workload, replace(fact, shown=True), mark)
        return _LATER

    async def _put_in_step(
        self,
        remote: Writer,
        wanted: RemotePlan,
        kind: JobKind,
        run: RemoteJob,
        there: list[tuple[JsonObject, JsonObject]],
    ) -> bool:
        """Have jobs there run in the slice, in the size and in the priority class of now; whether those do whose slice says so."""
        for local, found in there:
            patch = step_patch(kind, local, found, wanted.name, run.counts, serves=wanted.serves)
            if patch is None:
                continue
            resource, name = resource_of(kind, wanted.api_version), found["metadata"]["name"]
            try:
                await remote.merge(resource, wanted.namespace, name, patch)
            except AccessRefused as problem:
                log.warning(
                    "not put in step there", workload=wanted.workload, cluster=run.cluster, problem=str(problem)
                )
                if run.counts:
                    await self._refused(wanted, str(problem))
                    return False
        return True

    async def _take_size(
        self, remote: Writer, wanted: RemotePlan, kind: JobKind, local: JsonObject, found: JsonObject
    ) -> bool:
        """Have the job here want the size that Ray's autoscaler has given it there; whether it wanted another one."""
        cluster = await cluster_there(remote, kind, found) if is_scaled_there(kind, local, found) else None
        patch = autoscaled_patch(kind, local, cluster) if cluster is not None else None
        if patch is None:
            return False
        resource, name = resource_of(kind, wanted.api_version), local["metadata"]["name"]
        log.info("another size by its autoscaler there", workload=wanted.workload)
        await self._home.merge(resource, wanted.namespace, name, patch)
        return True

    async def _local(self, wanted: RemotePlan, kind: JobKind, name: str) -> JsonObject | None:
        """The job here; None for a pod that is gone: its group may go on with others."""
        try:
            return await self._home.get(resource_of(kind, wanted.api_version), wanted.namespace, name)
        except ObjectMissing:
            if kind is not POD:
                raise
            return None

    async def _there(
        self, remote: Writer, wanted: RemotePlan, kind: JobKind, run: RemoteJob, local: JsonObject
    ) -> JsonObject | None:
        """The job there, which is made where it is missing; None where it is not to be made: then it looks stopped here.

        Raises `ObjectInvalid` where that cluster does not let it be made.
        """
        resource = resource_of(kind, wanted.api_version)
        try:
            found = await remote.get(resource, wanted.namespace, local["metadata"]["name"])
            if run.make and kind is not POD and is_leaving(found):
                raise ObjectConflict(f"the job of {wanted.workload} that is there is being deleted")
            return found
        except ObjectMissing:
            if run.over:
                return None  # It looks as it did when it ended, as far as that was seen.
            await self._check_alone(wanted)
            if not run.make or not may_be_made(kind, local):
                await self._park_one(wanted, kind, local)
                return None
        except AccessRefused as problem:
            if not run.make or self._synced.get(wanted.workload) == run.decision:
                raise
            raise ObjectInvalid(str(problem)) from problem
        made = remote_job(kind, local, wanted.name, wanted.origin, managed_by=wanted.managed_by, counts=run.counts)
        await self._check_copy(remote, wanted)
        try:
            return await remote.create(resource, wanted.namespace, made)
        except AccessRefused as problem:
            raise ObjectInvalid(str(problem)) from problem
        except ObjectMissing as problem:
            what = f"{wanted.api_version} {kind.kind}"
            raise ObjectInvalid(f"no {what} can be made there: {problem}") from problem

    async def _check_copy(self, remote: Writer, wanted: RemotePlan) -> None:
        """Whether the copy is still there, of which what was seen last may be older: a job without one would stay for ever.

        Raises `ObjectMissing`.
        """
        copy = await remote.get(WORKLOADS, wanted.namespace, wanted.name)
        if object_at(copy, "metadata").get("deletionTimestamp") or not is_of_origin(copy, wanted.origin):
            raise ObjectMissing(f"the copy of {wanted.workload} is being deleted")
        if EVICTED in remote_workload_fact("", copy).conditions:
            raise ObjectMissing(f"the copy of {wanted.workload} is evicted there")

    async def _check_alone(self, wanted: RemotePlan) -> None:
        """Whether no other cluster that can be reached has a copy: this log may not know of one that another log has had made.

        Raises `ObjectConflict`, `ClusterUnavailable` where one can't be asked just now, and `ObjectInvalid` where one may not be.
        """
        for cluster in wanted.elsewhere:
            try:
                copy = await self._remote(cluster).get(WORKLOADS, wanted.namespace, wanted.name)
            except ObjectMissing:
                continue
            except AccessRefused as problem:
                raise ObjectInvalid(f"cluster {cluster}: {problem}") from problem
            if is_of_origin(copy, wanted.origin):
                raise ObjectConflict(f"cluster {cluster} has a copy of {wanted.workload} still")

    async def _park(self, wanted: RemotePlan) -> Millis:
        """Show the job here as stopped: where it ran can't be asked, or does not know it any more."""
        if wanted.kind is None:
            return _LATER
        await self._check_alone(wanted)
        for name in wanted.jobs:
            local = await self._local(wanted, wanted.kind, name)
            if local is not None:
                await self._park_one(wanted, wanted.kind, local)
        return _SOON

    async def _park_one(self, wanted: RemotePlan, kind: JobKind, local: JsonObject) -> None:
        patch = parked_patch(kind, local, self._clock.now())
        if patch is not None:
            await self._show(wanted, kind, local, patch)

    async def _show(self, wanted: RemotePlan, kind: JobKind, local: JsonObject, patch: JsonObject) -> None:
        resource, name = resource_of(kind, wanted.api_version), local["metadata"]["name"]
        version = {"metadata": {"resourceVersion": local["metadata"]["resourceVersion"]}}
        await self._home.merge(resource, wanted.namespace, name, {**version, **patch}, subresource="status")

    async def _stop(self, remote: Writer, wanted: RemotePlan, why: str) -> None:
        """Have the copy deactivated there, so that its job ends gracefully."""
        copy = await remote.get(WORKLOADS, wanted.namespace, wanted.name)
        if object_at(copy, "spec").get("active") is False:
            return
        try:
            told = told_to_stop(copy, why, self._clock.now())
            copy = await remote.merge(WORKLOADS, wanted.namespace, wanted.name, told, subresource="status")
        except AccessRefused as problem:
            log.warning("stopped without saying why", workload=wanted.workload, problem=str(problem))
        version = {"resourceVersion": copy["metadata"]["resourceVersion"]}
        patch = {"metadata": version, "spec": {"active": False}}
        log.info("stopped where it runs", workload=wanted.workload, why=why)
        await remote.merge(WORKLOADS, wanted.namespace, wanted.name, patch)

    async def _refused(self, wanted: RemotePlan, problem: str) -> None:
        if wanted.run is None:
            return
        problem = problem[:LONGEST]
        refused = RemoteJobRefused(
            workload=wanted.workload, cluster=wanted.run.cluster, decision=wanted.run.decision, message=problem
        )
        await self._seen.tell(wanted.workload, refused, f"{wanted.run.decision}:{problem}", wanted.run.decision)
