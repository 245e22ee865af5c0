"""TrainJobs of a world, their runtimes, and the trainer, which makes a JobSet of each and is played.

What Kueue knows of their pods it computes with the trainer's own code; kuelog goes by the JobSets that are made here.
"""

import random
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from events.json_object import JsonObject
from events.json_path import get, look, put
from ops.production.kubernetes.client import ApiRequests
from ops.sandbox.embedded_cluster.failures import denied
from ops.sandbox.embedded_cluster.kinds import ApiKind
from services.jobs.kinds.training_runtime import CLUSTER_RUNTIME, RUNTIME, RUNTIMES, job_set_of, runtime_place
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource
from tests.peers.worlds.drawn import Step, World

Objects = Mapping[tuple[str, str], JsonObject]
TRAIN_JOB, JOB_SET = "TrainJob", "JobSet"
JOB_SETS = Resource(group="jobset.x-k8s.io", version="v1alpha2", plural="jobsets", kind=JOB_SET)
RUNTIMES_STORED_AT = {kind: f"{one.plural}.{one.group}" for kind, one in RUNTIMES.items()}
"""By kind of runtime, how those who hold objects call its place."""
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_MADE_FROM = "example.com/made-from"
"""The annotation by which the trainer that is played knows what it has made a JobSet from."""
_NOT_OURS = "a.io/somebody"


def training_spec(pod_sets: Iterable[JsonObject], chance: random.Random) -> JsonObject:
    """The spec of a TrainJob with that of its runtime in it, until `with_runtimes` takes it out."""
    jobs: list[JsonObject] = []
    many = list(pod_sets)
    trainer = chance.choice((*range(len(many)), len(many)))
    """Which of them is the trainer; none, where a runtime does not say."""
    named: JsonObject = {}
    policy: JsonObject = chance.choice(({}, {}, {"torch": {}}, {"torch": {}}))
    for number, one in enumerate(many):
        pods = one["count"]
        spec: JsonObject = {"template": one["template"]}
        job: JsonObject = {"name": one["name"]}
        if number == trainer:
            told = chance.choice(("policy", "job", "runtime"))
            policy = {**policy, **({"numNodes": pods} if told == "policy" else {})}
            if told == "job":
                named["numNodes"] = pods
            if told == "runtime" and not policy:
                spec["parallelism"] = pods
            job["template"] = {"metadata": {"labels": {_STEP: "trainer"}}, "spec": spec}
        else:
            size = chance.choice([size for size in range(1, pods + 1) if pods % size == 0])
            spec |= {"parallelism": size, "completions": size}
            job |= {"replicas": pods // size, "template": {"spec": spec}}
        jobs.append(job)
    found: JsonObject = {"runtime": {"template": {"spec": {"replicatedJobs": jobs}}}}
    if policy:
        found["runtime"]["mlPolicy"] = policy
    if chance.random() < 0.3:
        named["env"] = [{"name": "A", "value": "b"}]
    if named:
        found["trainer"] = named
    if chance.random() < 0.3:
        patch = {"name": many[-1]["name"], "template": {"spec": {"template": {"metadata": {"labels": {"by": "a"}}}}}}
        template = {"metadata": {"labels": {"by": "a"}}, "spec": {"replicatedJobs": [patch]}}
        found["runtimePatches"] = [{"manager": _NOT_OURS, "trainingRuntimeSpec": {"template": template}}]
    return found


def with_runtimes(world: World, chance: random.Random) -> World:
    """The world with a runtime for each of its TrainJobs, which names it."""
    runtimes: list[JsonObject] = []

    def named(step: Step) -> Step:
        if step.kind != TRAIN_JOB or step.verb != "create":
            return step
        spec = dict(step.value["spec"])
        resource = chance.choice((RUNTIME, CLUSTER_RUNTIME))
        meta = {"name": f"{world.space}-{step.name}"}
        if resource.namespaced:
            meta["namespace"] = world.space
        api_version = f"{resource.group}/{resource.version}"
        runtimes.append(
            {"apiVersion": api_version, "kind": resource.kind, "metadata": meta, "spec": spec.pop("runtime")}
        )
        spec["runtimeRef"] = {"name": meta["name"], "kind": resource.kind}
        return replace(step, value={**step.value, "spec": spec})

    steps = tuple(named(step) for step in world.steps)
    return replace(world, steps=steps, objects=(*world.objects, *runtimes))


def more_nodes(spec: JsonObject, more: int) -> None:
    """Have a TrainJob ask for other nodes; what it says of its trainer it says for ever."""
    if "trainer" not in spec:
        spec["trainer"] = {"numNodes": max(1 + more, 1)}


def is_made(job: JsonObject) -> bool:
    """Whether something else owns a job, which alone is asked about."""
    return any(one.get("controller") for one in job["metadata"].get("ownerReferences") or ())


async def train(client: ApiRequests, jobs: Mapping[str, Objects], runtimes: Mapping[str, Objects]) -> None:
    """Make the JobSets of TrainJobs as they are now, as the trainer does; those whose TrainJob is gone go, too."""
    trained, made = jobs.get(TRAIN_JOB, {}), jobs.get(JOB_SET, {})
    for place, job in list(trained.items()):
        kind, space, name = runtime_place(job).split("/", 2)
        runtime = runtimes.get(kind, {}).get((space, name))
        if runtime is None or _is_over(job):
            continue
        with suppress(ObjectConflict, ObjectMissing, ObjectInvalid):
            await _make(client, job, runtime, made.get(place))
    uids = {one["metadata"]["uid"] for one in trained.values()}
    for (space, name), one in list(made.items()):
        owner = next(iter(one["metadata"].get("ownerReferences") or ()), None)
        if owner is not None and owner["uid"] not in uids:
            with suppress(ObjectMissing):
                await client.delete(JOB_SETS, space, name)


async def _make(client: ApiRequests, job: JsonObject, runtime: JsonObject, there: JsonObject | None) -> None:
    suspended = bool(get(job, ("spec", "suspend")))
    if there is not None and not suspended and not get(there, ("spec", "suspend")):
        return
    meta = job["metadata"]
    spec = {**job_set_of(job, runtime)["spec"], "suspend": suspended}
    made_from = sha256(msgspec.json.encode(spec)).hexdigest()
    labels: dict[str, str] = {}
    for patch in job["spec"].get("runtimePatches") or ():
        labels |= look(patch, "trainingRuntimeSpec.template.metadata.labels") or {}
    if there is None:
        owner = {"apiVersion": job["apiVersion"], "kind": TRAIN_JOB, "name": meta["name"], "uid": meta["uid"]}
        head = {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": {_MADE_FROM: made_from},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        }
        value = {"apiVersion": f"{JOB_SETS.group}/{JOB_SETS.version}", "kind": JOB_SET, "metadata": head, "spec": spec}
        await client.create(JOB_SETS, meta["namespace"], value)
    elif (
        get(there, ("metadata", "annotations", _MADE_FROM)) != made_from
        or bool(get(there, ("spec", "suspend"))) != suspended
    ):
        patch = {"metadata": {"annotations": {_MADE_FROM: made_from}, "labels": labels}, "spec": spec}
        await client.merge(JOB_SETS, meta["namespace"], meta["name"], patch)


def _is_over(job: JsonObject) -> bool:
    return any(look(job, f"status.conditions[{kind}].status") == "True" for kind in ("Complete", "Failed"))


def refuse_patches(operation: str, kind: ApiKind, value: JsonObject, before: JsonObject | None) -> None:
    """As the trainer's webhook has it: runtime patches change of a TrainJob alone that is suspended."""
    if kind.kind != TRAIN_JOB or operation != "UPDATE" or before is None or get(value, ("spec", "suspend")):
        return
    told, was = (one["spec"].get("runtimePatches") for one in (value, before))
    if told != was:
        message = "spec.runtimePatches: Forbidden: RuntimePatches can only be modified when the TrainJob is suspended"
        status = {"message": message, "code": 422, "reason": "Invalid"}
        raise denied("validator.trainjob.trainer.kubeflow.org", status)


def completed(step: Step, spec: JsonObject) -> JsonObject:
    """The spec of a TrainJob as a real API server has stored it, with those runtime patches that it was drawn with."""
    return put(spec, ("runtimePatches",), step.value["spec"].get("runtimePatches"))
