"""The size that Ray's autoscaler gives a job in another cluster, which the job here then wants, too.

Rule: docs/rules/multikueue.md#slices-of-ray
"""

from events.job_kind import JobKind
from events.json_object import JsonObject, array_at
from events.json_path import put
from services.jobs.job_status import is_suspended
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.ray import CLUSTER_AT, WORKER_GROUPS, cluster_name, groups_of, is_autoscaled
from services.jobs.kinds.table import RAY_CLUSTER
from services.runtime.cluster_port import ObjectMissing, Writer


def autoscaled_patch(kind: JobKind, local: JsonObject, cluster: JsonObject) -> JsonObject | None:
    """The merge patch by which a job here wants the size that Ray's autoscaler has given its RayCluster there; None where it does."""
    groups = groups_of(kind, local, cluster)
    if groups == array_at(local, *CLUSTER_AT[kind.reader], WORKER_GROUPS):
        return None
    version: JsonObject = {"metadata": {"resourceVersion": local["metadata"]["resourceVersion"]}}
    return put(version, (*CLUSTER_AT[kind.reader], WORKER_GROUPS), groups)


def is_scaled_there(kind: JobKind, local: JsonObject, remote: JsonObject) -> bool:
    """Whether Ray's autoscaler says in the other cluster how many workers a job has; of one that is stopped it does not."""
    return is_autoscaled(kind, local) and not is_suspended(kind, remote) and not is_suspended(kind, local)


async def cluster_there(remote: Writer, kind: JobKind, job: JsonObject) -> JsonObject | None:
    """The RayCluster in which a job of Ray's runs there: itself if it is one; None while there is none."""
    name = cluster_name(kind, job)
    if kind is RAY_CLUSTER or not name:
        return job if name else None
    try:
        return await remote.get(resource_of(RAY_CLUSTER, job["apiVersion"]), job["metadata"]["namespace"], name)
    except ObjectMissing:
        return None
