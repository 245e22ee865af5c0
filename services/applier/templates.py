"""The pod templates of a workload, read where they are described: in its job, in its pods or in its own object."""

from collections.abc import Sequence
from typing import Protocol

from events.job_kind import JobKind
from events.json_object import JsonObject, object_at, objects_at
from events.workload import Member
from services.jobs.kinds.app_wrapper import counted_part
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.serving import pods_of_parent
from services.jobs.kinds.table import JOB_SET, LEADER_WORKER_SET, POD, STATEFUL_SET
from services.jobs.kinds.train_job import CHILD
from services.jobs.kinds.training_runtime import RUNTIMES, job_set_of, runs_elsewhere, runtime_place
from services.jobs.pod_sets.pod_set import Original
from services.jobs.start_stop import holds_injection, restored
from services.runtime.cluster_port import ObjectMissing, Writer

_OF_ITS_JOB = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid")
"""Labels that the API server puts into the template of a Job and that are not what was asked for.

`batch.kubernetes.io/job-name` stays: affinities of pods name it, and an autoscaler has to find it (Kueue's `PropagateBatchJobLabelsToWorkload`).
"""


class Described(Protocol):
    """A workload, and where its pods are described."""

    @property
    def namespace(self) -> str:
        """The namespace of the workload and its job."""
        ...

    @property
    def described_by(self) -> str:
        """The name of its job; empty when there is none."""
        ...

    @property
    def kind(self) -> JobKind | None:
        """The kind of the job; None where no other object describes the pods."""
        ...

    @property
    def api_version(self) -> str:
        """The API version in which the job was seen."""
        ...

    @property
    def members(self) -> tuple[Member, ...]:
        """Its pods, where no other object describes them."""
        ...

    @property
    def originals(self) -> Sequence[Original]:
        """What its pod sets asked for themselves."""
        ...


class Templates:
    """Reads pod templates in the cluster."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def of(self, asked: Described, workload: JsonObject) -> dict[str, JsonObject]:
        """By pod set, as they were asked for. Raises `FieldBroken`, and `ObjectMissing` when something is gone."""
        if asked.kind in (STATEFUL_SET, LEADER_WORKER_SET):
            return await self._of_parent(asked, asked.kind)
        if asked.members:
            return await self._of_members(asked)
        if asked.kind is not None and asked.kind.reader == POD.reader:
            return {}  # No pod of it is there.
        if asked.kind is None:
            pod_sets = objects_at(workload, "spec", "podSets")
            return {str(one.get("name", "main")): one.get("template") or {} for one in pod_sets}
        return await self.in_job(asked, asked.kind, await self.job_of(asked, asked.kind))

    async def job_of(self, asked: Described, kind: JobKind) -> JsonObject:
        """The job as it is on the API now. Raises `ObjectMissing`."""
        return await self._writer.get(resource_of(kind, asked.api_version), asked.namespace, asked.described_by)

    async def in_job(self, asked: Described, kind: JobKind, job: JsonObject) -> dict[str, JsonObject]:
        """By pod set, as a job describes them, without what was injected into it."""
        if kind.reader == "train job":
            job = {**job, CHILD: await self._made_of(asked, job)}
        elif holds_injection(kind, job):
            job = restored(kind, job, asked.originals)
        names = {one.name for one in asked.originals}
        found = {one.known_as(names): one.template for one in pods_of(kind, job)}
        match kind.reader:
            case "job":
                return {name: _own(template) for name, template in found.items()}
            case "components":
                return {name: counted_part(template) for name, template in found.items()}
            case _:
                return found

    async def _made_of(self, asked: Described, job: JsonObject) -> JsonObject:
        """The JobSet of a TrainJob, which bears its name; of one that runs elsewhere it is what its runtime says."""
        if not runs_elsewhere(job):
            return await self._writer.get(resource_of(JOB_SET), asked.namespace, asked.described_by)
        kind, space, name = runtime_place(job).split("/", 2)
        if kind not in RUNTIMES:
            raise ObjectMissing(f"{kind} {name}")
        return job_set_of(job, await self._writer.get(RUNTIMES[kind], space, name))

    async def _of_parent(self, asked: Described, kind: JobKind) -> dict[str, JsonObject]:
        """Those of something that serves, which says them before its pods are there; of the pods' metadata it says nothing, as under Kueue."""
        parent = await self._writer.get(resource_of(kind, asked.api_version), asked.namespace, asked.described_by)
        found = [{"spec": object_at(one.template, "spec")} for one in pods_of_parent(kind.place, parent)]
        names = [one.name for one in asked.originals]
        return dict(zip(names, found, strict=False))

    async def _of_members(self, asked: Described) -> dict[str, JsonObject]:
        found: dict[str, JsonObject] = {}
        for member in asked.members:
            if member.pod_set not in found:
                pod = await self._writer.get(resource_of(POD), asked.namespace, member.name)
                meta = {name: pod["metadata"].get(name) for name in ("labels", "annotations")}
                found[member.pod_set] = {"metadata": meta, "spec": object_at(pod, "spec")}
        return found


def as_written(template: JsonObject) -> JsonObject:
    """A template as it is written in a Workload object: of its metadata only what is the pods' own."""
    meta = object_at(template, "metadata")
    kept = {name: meta[name] for name in ("labels", "annotations") if meta.get(name)}
    return {"metadata": kept, "spec": object_at(template, "spec")}


def _own(template: JsonObject) -> JsonObject:
    meta = object_at(template, "metadata")
    labels = {name: value for name, value in object_at(meta, "labels").items() if name not in _OF_ITS_JOB}
    return {**template, "metadata": {**meta, "labels": labels}}
