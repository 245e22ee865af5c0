"""What a job of Ray's has to say to be managed, in Kueue's words.

Rule: docs/jobs.md#what-ray-and-spark-must-say
"""

from events.job_kind import JobKind
from events.json_object import JsonObject, objects_at
from events.json_path import dotted, get
from services.jobs.kinds.ray import CLUSTER_AT, WORKER_GROUPS, has_submitter
from services.jobs.kinds.table import RAY_JOB
from services.validation.kinds.definition_bounds import POD_SETS_AT_MOST
from services.validation.problem import Problem, forbidden, invalid, required

MOST_GROUPS = POD_SETS_AT_MOST - 1
"""Of workers: of the pod sets for which a Workload has room (docs/rules/objects.md#validation) the head is one."""
_SHUTDOWN = ("spec", "shutdownAfterJobFinishes")
_SELECTOR = ("spec", "clusterSelector")
_HEAD = "head"


def ray_problems(kind: JobKind, job: JsonObject) -> list[Problem]:
    """What is wrong with a job of one of Ray's kinds; nothing of another kind, and of a RayJob in a cluster that is there."""
    at = CLUSTER_AT.get(kind.reader)
    if at is None:
        return []
    found: list[Problem] = []
    if kind is RAY_JOB:
        cluster, selector = get(job, at), get(job, _SELECTOR)
        if selector and cluster:
            what = "a kueue managed job should not use an existing cluster"
            return [invalid(dotted(_SELECTOR), selector, what, f"either it or {dotted(at)}")]
        if selector:
            return []
        if not cluster:
            what = "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector"
            return [required(dotted(at), what, "the cluster that it runs in")]
        if get(job, _SHUTDOWN) is not True:
            what = "a kueue managed job should delete the cluster after finishing"
            found.append(invalid(dotted(_SHUTDOWN), "false", what, "true: the quota is free when it has ended"))
    groups = objects_at(job, *at, WORKER_GROUPS)
    most = MOST_GROUPS - has_submitter(kind, job)
    if len(groups) > most:
        what = f"must have at most {most} items"
        found.append(invalid(dotted((*at, WORKER_GROUPS)), len(groups), what, "fewer groups"))
    for number, group in enumerate(groups):
        if group.get("groupName") == _HEAD:
            field = dotted((*at, WORKER_GROUPS, number, "groupName"))
            found.append(forbidden(field, '"head" is reserved for the head group', "another name"))
    return found
