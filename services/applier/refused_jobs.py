"""Stops jobs and pods that somebody lets run and that can't be admitted, because what they ask for can't be understood.

Rule: docs/rules/eviction.md#by-hand
"""

import msgspec

from events.api.labels import PREBUILT_WORKLOAD_NAME
from events.control import ObjectRefused
from events.job_kind import JobKind
from events.json_object import JsonObject, object_at
from projections.configuration import refused_because
from services.applier.events.cluster_events import refusal_event
from services.applier.events.event_recorder import EventRecorder
from services.applier.patches import shows_quota
from services.applier.pods.start_or_end import PODS, end_pods
from services.applier.state import ApplierState
from services.applier.workloads.known_objects import WORKLOADS
from services.applier.writes.retried_writes import RetriedWrites
from services.jobs.job_status import is_suspended
from services.jobs.kinds.managed_kinds import kinds_of, resource_of
from services.jobs.kinds.pods import group_of, runs_here
from services.jobs.kinds.table import POD
from services.jobs.start_stop import with_suspend
from services.jobs.workload_name import workload_name
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ObjectMissing, Writer

_STOPPED, _SUSPENDED = "Stopped", "Suspended"
_WITH_OWNER = "Kueue managed child job suspended"
"""Kueue's words on a job that runs while its owner is not admitted."""


class RunningRefused(msgspec.Struct, frozen=True):
    """A job that was refused while it ran, and its kind."""

    kind: JobKind
    refused: ObjectRefused
    owner: JobKind | None = None
    """The kind of the managed job that owns it, where it may run with that and not without."""


class RefusedJobs:
    """Suspends jobs and ends pods, with retries; that it was done is seen in themselves."""

    def __init__(self, writer: Writer, clock: Clock, notices: EventRecorder) -> None:
        self._writer, self._clock, self._notices = writer, clock, notices
        self._stopping = RetriedWrites("job", "job not stopped", self._stop, clock)

    def observe(self, world: ApplierState, place: str, refused: ObjectRefused) -> None:
        """Take up a job that was refused anew."""
        kinds = kinds_of(world.settings).by_place
        kind, owner = kinds.get(refused.kind), kinds.get(refused.owner.partition("/")[0])
        if refused.owner and owner is None:
            return  # Nobody can tell whether it may run.
        if refused.running and kind is not None and not _holds_quota(world, refused.uid):
            self._stopping.offer(place, RunningRefused(kind, refused, owner))

    async def run(self) -> None:
        """Stop those that run, until cancelled."""
        await self._stopping.run()

    async def _stop(self, _place: str, one: RunningRefused) -> None:
        kind, refused = one.kind, one.refused
        if kind.reader == POD.reader:
            await self._end_pod(kind, refused)
            return
        job = await self._writer.get(resource_of(kind), refused.namespace, refused.name)
        meta = object_at(job, "metadata")
        if meta.get("uid") != refused.uid or is_suspended(kind, job) or await self._was_let_in(kind, job):
            return
        if one.owner is not None and not await self._waits(one.owner, refused.owner):
            return
        version = {"metadata": {"resourceVersion": meta["resourceVersion"]}}
        patch = with_suspend(kind, version, suspend=True)
        await self._writer.merge(resource_of(kind), refused.namespace, refused.name, patch)
        self._record(refused)

    async def _end_pod(self, kind: JobKind, refused: ObjectRefused) -> None:
        """End the pod that is named; where another one of its group runs, that is refused next."""
        pod = await self._writer.get(PODS, refused.namespace, refused.pod)
        if pod["metadata"].get("uid") != refused.uid or not runs_here(pod) or await self._was_let_in(kind, pod):
            return
        await end_pods(self._writer, pod, "NoMatchingWorkload", _message(refused))
        self._record(refused)

    async def _waits(self, kind: JobKind, place: str) -> bool:
        """Whether the owner is suspended as it is now: it was looked at after what it owns, so that this did not start with it."""
        _, namespace, name = place.split("/", 2)
        return is_suspended(kind, await self._writer.get(resource_of(kind), namespace, name))

    def _record(self, refused: ObjectRefused) -> None:
        event = refusal_event(refused, self._clock.now())
        reason, message = (_SUSPENDED, _WITH_OWNER) if refused.owner else (_STOPPED, _message(refused))
        self._notices.record(msgspec.structs.replace(event, reason=reason, message=message, warning=False))

    async def _was_let_in(self, kind: JobKind, job: JsonObject) -> bool:
        """Whether its Workload holds quota: then it runs on, whatever was made of it since."""
        meta = job["metadata"]
        named = object_at(meta, "labels").get(PREBUILT_WORKLOAD_NAME)
        group = group_of(job) if kind.reader == POD.reader else ""
        name = str(named or group or workload_name(kind.kind, kind.group, meta["name"], meta["uid"]))
        try:
            return shows_quota(await self._writer.get(WORKLOADS, meta["namespace"], name))
        except ObjectMissing:
            return False


def _message(refused: ObjectRefused) -> str:
    return f"It runs and can't be admitted: {refused_because(refused)}"


def _holds_quota(world: ApplierState, uid: str) -> bool:
    """Whether a workload of a job holds quota on the log: that of a slice is not called as others are."""
    return any(one.reserved and one.owner is not None and one.owner.uid == uid for one in world.workloads.values())
