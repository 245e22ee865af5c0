"""Jobs that run in a Workload which was made before them and which they name.

Rule: docs/rules/objects.md#prebuilt
"""

from collections.abc import Iterator, Mapping

import msgspec

from events.api.labels import PREBUILT_WORKLOAD_NAME, PRIORITY_CLASS
from events.catalogue import Fact
from events.json_object import JsonObject, object_at
from events.pod_set import PodSet
from events.workload import WorkloadChanged, WorkloadDeleted, WorkloadFinished, WorkloadOwned, WorkloadSpec
from projections.workloads.slices import shrinks
from services.watcher.fields.problems import Refused, problem
from services.watcher.jobs.jobs import JobState, submitted
from services.watcher.jobs.workload_source import workload_place
from services.watcher.workloads.reported_state import ReportedState, Reports
from services.watcher.workloads.workload_object_diff import marks_of
from services.watcher.workloads.workload_objects import workload_state

_OUT_OF_SYNC = "The prebuilt workload is out of sync with its user job"
_FIELD = f"metadata.labels[{PREBUILT_WORKLOAD_NAME}]"
_ANOTHER = "name another one that nobody owns"


class NamingJob(msgspec.Struct, frozen=True):
    """A job that names a prebuilt Workload, as it was seen last."""

    kind: str
    """The word for its kind, as in its place."""
    value: JsonObject


class PrebuiltWorkloads:
    """The jobs that name each prebuilt Workload: they are looked at again when the Workload comes, changes or goes."""

    def __init__(self) -> None:
        self._jobs: dict[str, dict[str, NamingJob]] = {}
        """By workload and by the job's place."""
        self._named: dict[str, str] = {}
        """The workload that the job of each place names."""

    def name(self, workload: str, place: str, job: NamingJob) -> None:
        """Note which workload a job names."""
        if self._named.get(place) != workload:
            self.forget(place)
        self._named[place] = workload
        self._jobs.setdefault(workload, {})[place] = job

    def forget(self, place: str) -> None:
        """A job is gone, or names no workload any more."""
        workload = self._named.pop(place, None)
        if workload is not None:
            del self._jobs[workload][place]
            if not self._jobs[workload]:
                del self._jobs[workload]

    def names(self, place: str) -> bool:
        """Whether the job of this place names a Workload."""
        return place in self._named

    def is_named(self, workload: str) -> bool:
        """Whether a job names this workload."""
        return workload in self._jobs

    def jobs_of(self, workload: str) -> Iterator[tuple[str, NamingJob]]:
        """The jobs that name a workload, with their places in order."""
        yield from sorted(self._jobs.get(workload, {}).items())

    def asked_anew(self, workload: str, value: JsonObject, reported: ReportedState) -> list[Fact]:
        """The fact that the Workload in which a job runs asks for fewer pods of it, where it is elastic, or has another class. Raises `Refused`.

        Rule: docs/rules/elastic.md#prebuilt
        """
        if not self.is_named(workload):
            return []
        found, before = workload_state(value).spec, reported.spec
        smaller = _sized(before.pod_sets, {one.name: one.count for one in found.pod_sets})
        spec = before
        if before.elastic and shrinks(before.pod_sets, smaller):
            spec = msgspec.structs.replace(spec, pod_sets=smaller)
        named, jobs = found.workload_class, self._jobs[workload].values()
        told = {name for one in jobs if (name := object_at(one.value, "metadata", "labels").get(PRIORITY_CLASS))}
        if named is not None and told <= {named.name}:
            spec = msgspec.structs.replace(spec, priority=found.priority, priority_class=named)
        return [] if spec == before else [WorkloadChanged(workload=workload, spec=spec)]


def before_it_runs(place: str, state: JobState, reports: Reports, found: JobState | None) -> list[Fact]:
    """The next facts about a job that does not run in the Workload yet that it names, `found` is that of another manager; none once it does.

    Raises `Refused`.
    """
    key, named = state.workload, reports.by_source.get(place)
    reported, before = reports.workloads.get(key), reports.workloads.get(named or "")
    if named is None:
        return _taken_up(state, reported, found)
    after = reported or found
    if (
        named != key
        and before is not None
        and after is not None
        and _is_next_slice(named, before.spec, key, after.spec)
    ):
        return _taken_up(state, reported, found)
    if named != key or reported is None or not _is_owned_by(reported, state):
        return [WorkloadDeleted(workload=named)]
    return []


def _is_next_slice(one: str, spec: WorkloadSpec, other: str, beside: WorkloadSpec) -> bool:
    """Whether two Workloads are slices of the same elastic job, by the first slice that they name: the job goes on in the other."""
    first, second = spec.slice_name or _name(one), beside.slice_name or _name(other)
    return spec.elastic and beside.elastic and first == second


def _name(workload: str) -> str:
    return workload.partition("/")[2]


def _taken_up(state: JobState, reported: ReportedState | None, found: JobState | None) -> list[Fact]:
    """The facts by which a job owns the Workload that it names, as `reported` or, where another owned it before us, as `found`.

    Raises `Refused` where there is no such Workload, or another job owns it: the job waits.
    """
    key = state.workload
    facts: list[Fact] = []
    if reported is not None:
        if reported.source != workload_place(key):
            raise _refused(f"Workload {key} belongs to {reported.source}", _ANOTHER)
    elif found is not None:
        if found.owner is not None and found.owner.uid != state.uid:
            raise _refused(f"Workload {key} belongs to {found.owner.kind}/{found.owner.name}", _ANOTHER)
        facts.append(submitted(msgspec.structs.replace(found, owner=None), marks_of(state, found)))
    else:
        raise _refused(
            f"Workload {key} doesn't exist", "the name of one that is there, or create it: the job waits for it"
        )
    return facts if state.owner is None else [*facts, WorkloadOwned(workload=key, owner=state.owner)]


def _refused(message: str, instead: str) -> Refused:
    return Refused([problem(_FIELD, message, instead)])


def with_prebuilt(state: JobState, workload: WorkloadSpec) -> JobState:
    """A job that asks for what its prebuilt Workload says: the job itself says its queue, and a class of Kueue's if it names one.

    One that is elastic keeps the size of its Workload, and further pods of it wait at their gate.
    """
    job = state.spec
    named = job.workload_class
    if named is not None and named != workload.priority_class:
        workload = msgspec.structs.replace(workload, priority=job.priority, priority_class=named)
    spec = msgspec.structs.replace(
        workload,
        queue=job.queue,
        members=job.members,
        waits_for_pods=job.waits_for_pods,
        managed_by=job.managed_by,
        leaving=job.leaving,
        user=job.user or workload.user,
        elastic=job.elastic or workload.elastic,
        job_uid="",
        orphaned=False,
    )
    return msgspec.structs.replace(state, spec=spec)


def _sized(pod_sets: tuple[PodSet, ...], counts: Mapping[str, int]) -> tuple[PodSet, ...]:
    return tuple(msgspec.structs.replace(one, count=counts.get(one.name, one.count)) for one in pod_sets)


def _is_owned_by(reported: ReportedState, state: JobState) -> bool:
    """Whether it is this job that owns the Workload; the pods of a group own it together, whichever of them is the oldest now."""
    return state.owner is None or state.owner.kind == "PodGroup" or state.owner.uid == reported.own_object.owner_uid


def out_of_sync(place: str, state: JobState, reported: ReportedState) -> list[Fact]:
    """The fact that a job that was not started has other pods than its Workload, or another limit of time, and ends it; nothing otherwise.

    Pods say what they request in full, and templates of what serves may leave out what is implied: these are not compared.
    Neither are tolerations: they may differ from those of a Workload that is admitted, of which the watcher does not know.
    """
    if reported.job.finished or place.startswith(("Pod/", "PodGroup/")):
        return []
    if state.started or _same(state.spec, reported.spec):
        return []
    return [WorkloadFinished(workload=state.workload, reason="OutOfSync", message=_OUT_OF_SYNC)]


def _same(job: WorkloadSpec, workload: WorkloadSpec) -> bool:
    pods = [[_compared(one) for one in spec.pod_sets] for spec in (job, workload)]
    return job.max_execution == workload.max_execution and pods[0] == pods[1]


def _compared(one: PodSet) -> tuple[object, ...]:
    return one.name, one.count, one.minimum, one.shape.containers, one.shape.init_containers
