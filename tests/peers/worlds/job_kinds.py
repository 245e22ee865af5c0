"""Jobs of other kinds than batch Jobs in the place of Workloads, by the definitions of those who make them.

No controller of any kind is there: who plays the world shows on a job what its controller would.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from events.api.labels import (
    ADMISSION_GATED_BY,
    MAX_EXEC_TIME_SECONDS,
    PODSET_SLICE_REQUIRED_TOPOLOGY,
    PODSET_SLICE_SIZE,
)
from events.event import Millis
from events.json_object import JsonObject
from events.json_path import get, look, put
from events.timestamp import format_timestamp
from ops.production.kubernetes.client import ApiRequests
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource
from tests.peers.worlds.drawn import Step, World
from tests.peers.worlds.jobs import (
    annotated,
    but_for_ours,
    filled,
    insert_changes,
    job_labels,
    of_job,
    topology_notes,
    with_classes,
)
from tests.peers.worlds.trainer import more_nodes, training_spec, with_runtimes

Objects = Mapping[tuple[str, str], JsonObject]
"""By namespace and name."""
PodSets = Sequence[JsonObject]
"""Of each set its `name`, its `count`, and the `template` of its pods."""


class PlayedKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of jobs, and what its controller shows."""

    resource: Resource
    framework: str
    """What Kueue's configuration calls it."""
    spec: Callable[[PodSets, random.Random], JsonObject]
    most: int
    """How many pod sets it can have."""
    resized: Callable[[JsonObject, int], None]
    """Have a spec ask for so many more pods of its last set."""
    suspended: Callable[[str], JsonObject]
    """What it shows, at a time, when it is suspended."""
    running: Callable[[str], JsonObject]
    ended: Callable[[str, bool], JsonObject]
    """What it shows when it has ended: at a time, and whether it has failed; nothing where a kind has no end."""
    is_over: Callable[[JsonObject], bool]
    one_done: Callable[[JsonObject], JsonObject] = lambda _job: {}
    """What a job shows when one more part of it is done; nothing where a kind does not count them."""
    suspend: tuple[str, ...] = ("spec", "suspend")


def _told(at: str, kind: str, status: str, reason: str) -> JsonObject:
    found = {"type": kind, "status": status, "reason": reason, "message": f"it says {reason}"}
    return {**found, "lastTransitionTime": at}


def _job_set(pod_sets: PodSets, chance: random.Random) -> JsonObject:
    jobs: list[JsonObject] = []
    for one in pod_sets:
        size = chance.choice([size for size in range(1, one["count"] + 1) if one["count"] % size == 0])
        spec: JsonObject = {"parallelism": size, "template": one["template"]}
        if chance.random() < 0.5:
            spec["completions"] = size + chance.choice((0, 1))
        jobs.append({"name": one["name"], "replicas": one["count"] // size, "template": {"spec": spec}})
    return {"replicatedJobs": jobs}


def _add(those: JsonObject, more: int) -> None:
    """Have more replicas of those, or fewer; one of them at least."""
    those["replicas"] = max(those["replicas"] + more, 1)


def _more_of_job_set(spec: JsonObject, more: int) -> None:
    _add(spec["replicatedJobs"][-1], more)


def _job_set_says(kind: str, status: str, reason: str) -> Callable[[str], JsonObject]:
    return lambda at: {"conditions": [_told(at, kind, status, reason)]}


def _job_set_ended(at: str, fails: bool) -> JsonObject:  # noqa: FBT001 - as all kinds say it
    told = ("Failed", "True", "FailedJobs") if fails else ("Completed", "True", "AllJobsCompleted")
    return _job_set_says(*told)(at)


def _one_job_done(job: JsonObject) -> JsonObject:
    """One more Job of its first kind has succeeded, if it has another one."""
    (first, *_) = job["spec"]["replicatedJobs"]
    done = 1 + (get(job, ("status", "replicatedJobsStatus", 0, "succeeded")) or 0)
    if done >= first["replicas"]:
        return {}
    left = dict.fromkeys(("active", "failed", "ready", "suspended"), 0)
    return {"replicatedJobsStatus": [{"name": first["name"], "succeeded": done, **left}]}


def _says(*kinds: str) -> Callable[[JsonObject], bool]:
    """Whether one of these conditions is true."""
    return lambda job: any(look(job, f"status.conditions[{kind}].status") == "True" for kind in kinds)


def _phase(at: str, *values: str) -> Callable[[JsonObject], bool]:
    """Whether a field has one of these values."""
    return lambda job: look(job, at) in values


def _training(kind: str, specs: str, *roles: str, version: str = "v1") -> PlayedKind:
    """One of Kubeflow's kinds."""

    def spec(pod_sets: PodSets, _chance: random.Random) -> JsonObject:
        # A single set of pods is that of the workers, which all kinds have.
        named = roles[-len(pod_sets) :] if len(pod_sets) == 1 else roles[: len(pod_sets) - 1] + roles[-1:]
        return {
            "runPolicy": {"cleanPodPolicy": "Running"},
            specs: {
                role: {"replicas": one["count"], "template": one["template"]}
                for role, one in zip(named, pod_sets, strict=True)
            },
        }

    def resized(spec: JsonObject, more: int) -> None:
        _add(spec[specs][roles[-1]], more)

    def said(kind: str, active: int | None) -> Callable[[str], JsonObject]:
        def shown(at: str) -> JsonObject:
            condition = {**_told(at, kind, "True", kind), "lastUpdateTime": at}
            return {"conditions": [condition], "replicaStatuses": {roles[-1]: {"active": active}}}

        return shown

    return PlayedKind(
        resource=Resource(group="kubeflow.org", version=version, plural=f"{kind.lower()}s", kind=kind),
        framework=f"kubeflow.org/{kind.lower()}",
        spec=spec,
        most=len(roles),
        resized=resized,
        suspended=said("Suspended", None),
        running=said("Running", 1),
        ended=lambda at, fails: said("Failed" if fails else "Succeeded", None)(at),
        is_over=_says("Failed", "Succeeded"),
        suspend=("spec", "runPolicy", "suspend"),
    )


def _ray_cluster(pod_sets: PodSets, chance: random.Random) -> JsonObject:
    head, *workers = pod_sets
    template = head["template"]
    for one in (PODSET_SLICE_SIZE, PODSET_SLICE_REQUIRED_TOPOLOGY):  # It is one pod, whatever was drawn.
        template = put(template, ("metadata", "annotations", one), None)
    return {
        "headGroupSpec": {"rayStartParams": {}, "template": template},
        "workerGroupSpecs": [
            {
                "groupName": one["name"],
                "replicas": one["count"],
                "minReplicas": 0,
                "maxReplicas": 9,
                "numOfHosts": chance.choice((1, 1, 2)),
                "rayStartParams": {},
                "template": one["template"],
            }
            for one in workers
        ],
    }


def _ray_job(pod_sets: PodSets, chance: random.Random) -> JsonObject:
    spec: JsonObject = {
        "entrypoint": "python x.py",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": _ray_cluster(pod_sets, chance),
    }
    mode = chance.choice((None, "K8sJobMode", "HTTPMode"))
    if mode:
        spec["submissionMode"] = mode
    if mode != "HTTPMode" and chance.random() < 0.4:
        spec["submitterPodTemplate"] = pod_sets[0]["template"]
    return spec


def _ray_service(pod_sets: PodSets, chance: random.Random) -> JsonObject:
    return {"rayClusterConfig": _ray_cluster(pod_sets, chance)}


def _service_says(at: str, state: str, ready: str) -> JsonObject:
    active = {"rayClusterStatus": {"state": state}}
    return {"activeServiceStatus": active, "conditions": [_told(at, "Ready", ready, state)]}


def _more_of_ray(spec: JsonObject, more: int) -> None:
    groups = (spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec).get("workerGroupSpecs")
    if groups:
        _add(groups[-1], more)


def _app_wrapper(pod_sets: PodSets, chance: random.Random) -> JsonObject:
    return {"components": [_component(one, number, chance) for number, one in enumerate(pod_sets)]}


def _component(pod_set: JsonObject, number: int, chance: random.Random) -> JsonObject:
    # Kueue leaves it out of the Workloads of AppWrappers, and does not count what it takes beside the pods, nor what sidecars do.
    template, count = put(pod_set["template"], ("spec", "runtimeClassName"), None), pod_set["count"]
    for index, _ in enumerate(template["spec"].get("initContainers", ())):
        template = put(template, ("spec", "initContainers", index, "restartPolicy"), None)
    meta = {"name": f"component-{number}"}
    if count == 1 and chance.random() < 0.5:
        return {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}}
    job = {"parallelism": count, "completions": count, "template": template}
    found: JsonObject = {"template": {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": job}}
    if chance.random() < 0.6:
        found["podSets"] = [{"replicas": count, "path": "template.spec.template"}]
    return found


def _more_of_wrapper(spec: JsonObject, more: int) -> None:
    for one in spec["components"][-1].get("podSets") or ():
        _add(one, more)


def _wrapper_phase(phase: str, *, active: str) -> Callable[[str], JsonObject]:
    return lambda at: {
        "phase": phase,
        "conditions": [_told(at, kind, active, phase) for kind in ("QuotaReserved", "ResourcesDeployed")],
    }


def _wrapper_ended(at: str, fails: bool) -> JsonObject:  # noqa: FBT001 - as all kinds say it
    return _wrapper_phase("Failed" if fails else "Succeeded", active="False")(at)


def _one_node_done(job: JsonObject) -> JsonObject:
    """The only Job of its first kind has succeeded."""
    if look(job, "status.jobsStatus"):
        return {}
    left = dict.fromkeys(("active", "failed", "ready", "suspended"), 0)
    return {"jobsStatus": [{"name": "main", "succeeded": 1, **left}]}


def _train_job_ended(at: str, fails: bool) -> JsonObject:  # noqa: FBT001 - as all kinds say it
    told = ("Failed", "True", "FailedJobs") if fails else ("Complete", "True", "AllJobsCompleted")
    return _job_set_says(*told)(at)


_KINDS = (
    PlayedKind(
        resource=Resource(group="jobset.x-k8s.io", version="v1alpha2", plural="jobsets", kind="JobSet"),
        framework="jobset.x-k8s.io/jobset",
        spec=_job_set,
        most=3,
        resized=_more_of_job_set,
        suspended=_job_set_says("Suspended", "True", "SuspendedJobs"),
        running=_job_set_says("Suspended", "False", "ResumeJobs"),
        ended=_job_set_ended,
        is_over=_says("Failed", "Completed"),
        one_done=_one_job_done,
    ),
    PlayedKind(
        resource=Resource(group="trainer.kubeflow.org", version="v1alpha1", plural="trainjobs", kind="TrainJob"),
        framework="trainer.kubeflow.org/trainjob",
        spec=training_spec,
        most=3,
        resized=more_nodes,
        suspended=_job_set_says("Suspended", "True", "Suspended"),
        running=_job_set_says("Suspended", "False", "Resumed"),
        ended=_train_job_ended,
        is_over=_says("Failed", "Complete"),
        one_done=_one_node_done,
    ),
    _training("MPIJob", "mpiReplicaSpecs", "Launcher", "Worker", version="v2beta1"),
    _training("PyTorchJob", "pytorchReplicaSpecs", "Master", "Worker"),
    _training("TFJob", "tfReplicaSpecs", "Chief", "PS", "Worker"),
    _training("XGBoostJob", "xgbReplicaSpecs", "Master", "Worker"),
    _training("PaddleJob", "paddleReplicaSpecs", "Master", "Worker"),
    _training("JAXJob", "jaxReplicaSpecs", "Worker"),
    PlayedKind(
        resource=Resource(group="ray.io", version="v1", plural="rayjobs", kind="RayJob"),
        framework="ray.io/rayjob",
        spec=_ray_job,
        most=3,
        resized=_more_of_ray,
        suspended=lambda _at: {"jobDeploymentStatus": "Suspended", "rayClusterStatus": {"state": "suspended"}},
        running=lambda _at: {
            "jobDeploymentStatus": "Running",
            "jobStatus": "RUNNING",
            "rayClusterStatus": {"state": "ready"},
        },
        ended=lambda _at, fails: {
            "jobDeploymentStatus": "Complete",
            "jobStatus": "STOPPED" if fails else "SUCCEEDED",
            "message": "it has ended",
        },
        is_over=_phase("status.jobDeploymentStatus", "Failed", "Complete"),
    ),
    PlayedKind(
        resource=Resource(group="ray.io", version="v1", plural="rayclusters", kind="RayCluster"),
        framework="ray.io/raycluster",
        spec=_ray_cluster,
        most=3,
        resized=_more_of_ray,
        suspended=lambda _at: {"state": "suspended"},
        running=lambda _at: {"state": "ready"},
        ended=lambda _at, _fails: {},
        is_over=lambda _job: False,
    ),
    PlayedKind(
        resource=Resource(group="ray.io", version="v1", plural="rayservices", kind="RayService"),
        framework="ray.io/rayservice",
        spec=_ray_service,
        most=3,
        resized=_more_of_ray,
        suspended=lambda at: _service_says(at, "suspended", "False"),
        running=lambda at: _service_says(at, "ready", "True"),
        ended=lambda _at, _fails: {},
        is_over=lambda _job: False,
        suspend=("spec", "rayClusterConfig", "suspend"),
    ),
    PlayedKind(
        resource=Resource(group="workload.codeflare.dev", version="v1beta2", plural="appwrappers", kind="AppWrapper"),
        framework="workload.codeflare.dev/appwrapper",
        spec=_app_wrapper,
        most=3,
        resized=_more_of_wrapper,
        suspended=_wrapper_phase("Suspended", active="False"),
        running=_wrapper_phase("Running", active="True"),
        ended=_wrapper_ended,
        is_over=_phase("status.phase", "Failed", "Succeeded"),
    ),
)
PLAYED: Mapping[str, PlayedKind] = {one.resource.kind: one for one in _KINDS}
"""By kind."""
STORED_AT: Mapping[str, str] = {kind: f"{one.resource.plural}.{one.resource.group}" for kind, one in PLAYED.items()}
"""By kind, how those who hold objects call its place."""


def with_train_jobs(world: World, chance: random.Random) -> World:
    """The world with TrainJobs in the place of most Workloads, and with what people do to them."""
    return with_job_kinds(world, chance, ("TrainJob",))


def with_job_kinds(world: World, chance: random.Random, of: Sequence[str] = tuple(PLAYED)) -> World:
    """The world with jobs of these kinds in the place of most Workloads, and with what people do to them."""
    kinds: dict[str, str] = {}
    classes: dict[int, str] = {}
    steps: list[Step] = []
    for step in world.steps:
        if step.kind == "Workload" and step.verb == "create" and chance.random() < 0.9:
            many = len(step.value["spec"]["podSets"])
            kinds[step.name] = chance.choice([name for name in of if PLAYED[name].most >= many])
        kind = kinds.get(step.name, "") if step.kind == "Workload" else ""
        steps.append(of_job(step, kind, world, classes, chance, partial(_job, kind)) if kind else step)
    insert_changes(steps, kinds, lambda made: _change(world, made, chance), chance)
    return with_runtimes(with_classes(replace(world, steps=tuple(steps)), classes), chance)


def _job(kind: str, workload: JsonObject, priority_class: str, chance: random.Random) -> JsonObject:
    played, meta = PLAYED[kind], workload["metadata"]
    labels = job_labels(workload, priority_class, chance)
    pod_sets = [{**one, "template": _template(one, meta["name"], chance)} for one in workload["spec"]["podSets"]]
    found = {
        "apiVersion": f"{played.resource.group}/{played.resource.version}",
        "kind": kind,
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": dict(meta.get("annotations") or {}),
        },
        "spec": played.spec(pod_sets, chance),
    }
    return put(found, played.suspend, chance.random() < 0.8)


def _template(pod_set: JsonObject, name: str, chance: random.Random) -> JsonObject:
    plain = not topology_notes(pod_set) and chance.random() < 0.5
    return pod_set["template"] if plain else annotated(pod_set, name)


def _change(world: World, made: Step, chance: random.Random) -> Step:
    """What somebody does to a job by hand."""
    suspend = PLAYED[made.kind].suspend
    step = Step(verb="merge", kind=made.kind, name=made.name, namespace=world.space)
    return chance.choice(
        (
            replace(step, verb="resize", value={"more": 1}),
            replace(step, verb="resize", value={"more": chance.choice((1, 2, -1))}),
            replace(step, value=put({}, suspend, False)),
            replace(step, value=put({}, suspend, True)),
            replace(step, value={"metadata": {"annotations": {ADMISSION_GATED_BY: "a.io/x"}}}),
            replace(step, value={"metadata": {"annotations": {ADMISSION_GATED_BY: None}}}),
            replace(step, value={"metadata": {"labels": {MAX_EXEC_TIME_SECONDS: "9000"}}}),
            replace(step, value={"metadata": {"labels": {"team": "b"}}}),
        )
    )


async def do_to_job_kind(client: ApiRequests, step: Step, now: Millis) -> None:
    """Do it to a job; what may not be done so is let be."""
    played = PLAYED[step.kind]
    place = played.resource
    found = await client.get(place, step.namespace, step.name)
    over, runs = played.is_over(found), not get(found, played.suspend)
    try:
        match step.verb:
            case "delete":
                await client.delete(place, step.namespace, step.name)
            case "finish" if runs and not over:
                await _show(client, played, found, played.ended(format_timestamp(now), step.value["fails"]))
            case "reclaim" if runs and not over:
                await _show(client, played, found, played.one_done(found))
            case "resize" if not over:
                spec = deepcopy(found["spec"])
                played.resized(spec, step.value["more"])
                await client.merge(place, step.namespace, step.name, {"spec": spec})
            case "move" if not runs:
                await client.merge(place, step.namespace, step.name, step.value)
            case "merge" if not over:
                await client.merge(place, step.namespace, step.name, step.value)
            case _:
                return
    except (ObjectInvalid, ObjectConflict):
        return


async def show_as_controllers(client: ApiRequests, jobs: Mapping[str, Objects], now: Millis) -> None:
    """Have jobs, by kind and name, show that they are suspended or run, as their controllers do."""
    at = format_timestamp(now)
    for kind, those in jobs.items():
        if kind not in PLAYED:
            continue
        played = PLAYED[kind]
        for job in list(those.values()):
            wanted = played.suspended(at) if get(job, played.suspend) else played.running(at)
            if not played.is_over(job) and not _shows(job.get("status") or {}, wanted):
                with suppress(ObjectConflict, ObjectMissing):
                    await _show(client, played, job, wanted)


def _shows(status: Any, wanted: Any) -> bool:
    """Whether a status has what is wanted, whenever that was."""
    match wanted:
        case dict():
            return isinstance(status, dict) and all(
                _shows(status.get(name), one) for name, one in wanted.items() if not name.endswith("Time")
            )
        case list():
            return isinstance(status, list) and len(status) == len(wanted) and all(map(_shows, status, wanted))
        case _:
            return status == wanted


async def _show(client: ApiRequests, played: PlayedKind, job: JsonObject, status: JsonObject) -> None:
    if status:
        meta = job["metadata"]
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": status}
        await client.merge(played.resource, meta["namespace"], meta["name"], patch, subresource="status")


def seen_of_job_kind(kind: str, job: JsonObject) -> dict[str, Any]:
    """What is seen of a job."""
    meta = job["metadata"]
    return {
        "kind": kind,
        "suspend": bool(get(job, PLAYED[kind].suspend)),
        "labels": meta.get("labels") or {},
        "annotations": but_for_ours(meta),
        "spec": filled(_by_group(_without_ours(put(job, PLAYED[kind].suspend, None)["spec"]))),
    }


def _by_group(spec: JsonObject) -> JsonObject:
    """A spec of Ray's with its groups of workers by their names."""
    for at in ((), ("rayClusterSpec",), ("rayClusterConfig",)):
        if (groups := get(spec, (*at, "workerGroupSpecs"))) is not None:
            spec = put(spec, (*at, "workerGroupSpecs"), {one["groupName"]: one for one in groups})
    return spec


def _without_ours(value: Any) -> Any:
    """But for annotations of ours, for the order of gates, and for what tolerations say that say nothing."""
    match value:
        case dict():
            found = {name: _without_ours(one) for name, one in value.items()}
            if "annotations" in value:
                found["annotations"] = but_for_ours(value)
            if "schedulingGates" in value:
                found["schedulingGates"] = sorted(value["schedulingGates"] or (), key=lambda one: one["name"])
            if "tolerations" in value:
                found["tolerations"] = [{"operator": "Equal", **one} for one in value["tolerations"]]
            return found
        case list():
            return [_without_ours(one) for one in value]
        case _:
            return value
