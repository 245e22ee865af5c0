"""What is not as it has to be once nobody changes anything any more."""

from collections.abc import Iterator

from events.api.labels import ELASTIC_JOB, POD_GROUP_NAME, RESOURCE_IN_USE
from events.json_object import JsonObject
from events.json_path import look
from services.jobs.kinds.pods import is_gated, is_leaving, is_managed, is_over
from tests.stage.stage import Stage
from tests.stories.by_hand.made import QUEUES


class Standing:
    """How jobs, pods and their Workloads stand."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.jobs = {one["metadata"]["uid"]: one for one in stage.of("jobs.batch")}
        self.pods = {one["metadata"]["uid"]: one for one in stage.of("pods")}
        self.workloads = stage.of("workloads.kueue.x-k8s.io")
        self.owned: dict[str, list[JsonObject]] = {uid: [] for uid in (*self.jobs, *self.pods)}
        for value in self.workloads:
            for owner in value["metadata"].get("ownerReferences") or ():
                if owner["uid"] in self.owned:
                    self.owned[owner["uid"]].append(value)

    def going_on(self, uid: str) -> list[JsonObject]:
        """Its Workloads that are not finished."""
        return [one for one in self.owned[uid] if not _is(one, "Finished")]

    def of_job(self, uid: str) -> list[JsonObject]:
        """The pods of a job that live."""
        owners = ((pod, pod["metadata"].get("ownerReferences") or ()) for pod in self.pods.values())
        return [pod for pod, owned_by in owners if owned_by and owned_by[0]["uid"] == uid and not is_over(pod)]


def amiss(stage: Stage) -> list[str]:
    """What is not as it has to be, in words; nothing where all is well."""
    at = Standing(stage)
    return [*_ownerless(at), *_jobs(at), *_pods(at), *_groups(at), *_queues(stage)]


def _ownerless(at: Standing) -> Iterator[str]:
    owners = {name["metadata"]["name"]: [] for name in at.workloads}
    for owned in at.owned.values():
        for value in owned:
            owners[value["metadata"]["name"]].append(value)
    yield from (f"Workload {name} has no job" for name, found in owners.items() if not found)


def _jobs(at: Standing) -> Iterator[str]:
    for uid, job in at.jobs.items():
        if _is(job, "Complete") or _is(job, "Failed"):
            continue
        elastic = ELASTIC_JOB in (job["metadata"].get("annotations") or {})
        yield from (_elastic(at, uid, job) if elastic else _whole(at, uid, job))


def _whole(at: Standing, uid: str, job: JsonObject) -> Iterator[str]:
    name, found = job["metadata"]["name"], at.owned[uid]
    if len(found) != 1:
        yield f"job {name} has {len(found)} Workloads"
    elif _is(found[0], "Admitted") is bool(job["spec"].get("suspend")):
        yield f"job {name} runs without admission, or stands still with one"


def _elastic(at: Standing, uid: str, job: JsonObject) -> Iterator[str]:
    """A slice that runs, and one that is larger and waits; each pod that the one that runs has room for runs, and no other."""
    name, wanted = job["metadata"]["name"], job["spec"]["parallelism"]
    found = at.going_on(uid)
    running = [one for one in found if _is(one, "Admitted")]
    room = sum(each["count"] for one in running for each in one["status"]["admission"]["podSetAssignments"])
    asked = sorted(one["spec"]["podSets"][0]["count"] for one in found)
    expected = sorted({room, wanted} - {0}) if wanted > room else [wanted]
    if len(running) > 1 or asked != expected:
        yield f"elastic job {name} of {wanted} pods has slices of {asked} pods, {len(running)} of them run, with {room} pods"
    elif bool(running) is bool(job["spec"].get("suspend")):
        yield f"elastic job {name} runs without admission, or stands still with one"
    elif running:
        pods = at.of_job(uid)
        through = [pod for pod in pods if not is_gated(pod) and not _waits_for_slice(pod)]
        if len(pods) != wanted or len(through) != min(wanted, room):
            yield f"elastic job {name} of {wanted} pods has {len(pods)}, {len(through)} of them let through, with room for {room}"


def _waits_for_slice(pod: JsonObject) -> bool:
    return {"name": ELASTIC_JOB} in (pod["spec"].get("schedulingGates") or ())


def _pods(at: Standing) -> Iterator[str]:
    """Pods alone."""
    for uid, pod in at.pods.items():
        if not is_managed(pod) or POD_GROUP_NAME in pod["metadata"]["labels"]:
            continue
        name, found = pod["metadata"]["name"], at.owned[uid]
        if is_leaving(pod):
            yield f"pod {name} is held though it was deleted"
        elif not is_over(pod) and len(found) != 1:
            yield f"pod {name} has {len(found)} Workloads"
        elif not is_over(pod) and _is(found[0], "Admitted") is is_gated(pod):
            yield f"pod {name} runs without admission, or stands still with one"


def _groups(at: Standing) -> Iterator[str]:
    groups: dict[str, list[JsonObject]] = {}
    for pod in at.pods.values():
        if is_managed(pod) and (group := pod["metadata"]["labels"].get(POD_GROUP_NAME)):
            groups.setdefault(group, []).append(pod)
    for name, pods in groups.items():
        found = [one for one in at.workloads if one["metadata"]["name"] == name]
        admitted = bool(found) and _is(found[0], "Admitted")
        living = [pod for pod in pods if not is_over(pod) and not is_leaving(pod)]
        if len(pods) >= 2 and not found:
            yield f"group {name} has no Workload"
        elif [pod for pod in living if is_gated(pod) is admitted]:
            yield f"group {name} has pods that run without admission, or stand still with one"


def _queues(stage: Stage) -> Iterator[str]:
    for name in QUEUES:
        held = stage.get("clusterqueues.kueue.x-k8s.io", "", name)["metadata"].get("finalizers") or ()
        if RESOURCE_IN_USE not in held:
            yield f"ClusterQueue {name} may be deleted while it is used"


def _is(value: JsonObject, kind: str) -> bool:
    return look(value, f"status.conditions[{kind}].status") == "True"
