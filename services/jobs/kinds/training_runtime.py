"""The JobSet that the trainer makes of a TrainJob and its runtime: where no trainer makes it, for one that runs on another cluster, and what has changed since it was made.

Kueue computes it with the trainer's own code. What the trainer's plugins add to containers besides (variables of torchrun,
volumes of MPI) is not part of it there, either.

Rule: docs/rules/multikueue.md#train-jobs
"""

from collections.abc import Sequence

from events.json_object import JsonMapping, JsonObject, is_object, object_at, objects_at
from events.json_path import get, put, whole
from services.jobs.kinds.managed_by import MULTIKUEUE_MANAGER
from services.runtime.cluster_port import Resource

_GROUP = "trainer.kubeflow.org"
RUNTIME = Resource(group=_GROUP, version="v1alpha1", plural="trainingruntimes", kind="TrainingRuntime")
CLUSTER_RUNTIME = Resource(
    group=_GROUP, version="v1alpha1", plural="clustertrainingruntimes", kind="ClusterTrainingRuntime", namespaced=False
)
RUNTIMES = {one.kind: one for one in (RUNTIME, CLUSTER_RUNTIME)}
_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER, _NODE, _LAUNCHER = "trainer", "node", "launcher"
_INITIALIZERS = {"dataset-initializer": "dataset", "model-initializer": "model"}
"""By step, and name of the container, the field of the TrainJob that configures it."""
_KEYS = {
    **dict.fromkeys(("containers", "initContainers", "volumes", "env", "imagePullSecrets", "schedulingGates"), "name"),
    "volumeMounts": "mountPath",
}
"""Lists whose entries are merged by a field of theirs; any other is replaced as a whole."""


def runs_elsewhere(job: JsonMapping) -> bool:
    """Whether no trainer makes anything of a TrainJob here, because it is given to other clusters."""
    return object_at(job, "spec").get("managedBy") == MULTIKUEUE_MANAGER


def runtime_place(job: JsonMapping) -> str:
    """The place, `kind/namespace/name`, of the runtime that a TrainJob names."""
    named = object_at(job, "spec", "runtimeRef")
    kind = str(named.get("kind") or CLUSTER_RUNTIME.kind)
    space = "" if kind == CLUSTER_RUNTIME.kind else str(object_at(job, "metadata").get("namespace", ""))
    return f"{kind}/{space}/{named.get('name', '')}"


def job_set_of(job: JsonObject, runtime: JsonMapping) -> JsonObject:
    """The JobSet of a TrainJob, as far as its pods. Raises `FieldBroken` where a number of it is none."""
    template = object_at(runtime, "spec", "template", "spec")
    given = object_at(runtime, "spec").get("mlPolicy")
    policy = given if is_object(given) else None
    jobs = [_replicated(_patched(one, job), job, policy) for one in objects_at(template, "replicatedJobs")]
    return {"spec": {**template, "replicatedJobs": jobs}}


def as_said_by_now(job_set: JsonObject, job: JsonObject, runtime: JsonMapping) -> JsonObject:
    """The JobSet that a trainer has made of a TrainJob, of as many nodes, with as much each, as the job says by now.

    The trainer changes it only while it is suspended. What the runtime says by now is not heeded: who runs goes on when that changes.
    Raises `FieldBroken` where a number of the job is none.
    """
    policy = object_at(runtime, "spec", "mlPolicy")
    if "flux" in policy:
        return job_set  # How many pods it has then is not known here.
    jobs = [_resized(one, job, policy) for one in objects_at(job_set, "spec", "replicatedJobs")]
    return put(job_set, ("spec", "replicatedJobs"), jobs)


def _resized(found: JsonMapping, job: JsonMapping, policy: JsonMapping) -> JsonMapping:
    trainer = object_at(job, "spec", "trainer")
    at = ("template", "spec", "template", "spec", "containers")
    if trainer.get("numNodes") is not None:
        step = str(object_at(found, "template", "metadata", "labels").get(_ANCESTOR, ""))
        before = whole(found, "template.spec.parallelism", 1)
        count = _count(found, step, job, {**policy, "numNodes": before})
        if count != before:
            found = _with_count(found, count)
    if asked := _resources(trainer):
        containers = [
            {**one, "resources": asked} if one.get("name") == _NODE else one for one in objects_at(found, *at)
        ]
        found = put(found, at, containers)
    return found


def _resources(trainer: JsonMapping) -> JsonObject:
    """What each node of a trainer asks for, where the job says it."""
    asked = object_at(trainer, "resourcesPerNode")
    return {one: asked[one] for one in ("limits", "requests") if asked.get(one)}


def _patched(replicated: JsonMapping, job: JsonMapping) -> JsonMapping:
    """One of its jobs with the patches that the TrainJob has for it."""
    for patch in objects_at(job, "spec", "runtimePatches"):
        for one in objects_at(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs"):
            if one.get("name") == replicated.get("name"):
                template = _merged(object_at(replicated, "template"), object_at(one, "template"))
                replicated = {**replicated, "template": template}
    return replicated


def _merged(value: JsonMapping, patch: JsonMapping) -> JsonObject:
    """A strategic merge, as far as what such patches may hold."""
    found = dict(value)
    for name, wanted in patch.items():
        before = found.get(name)
        if wanted is None:
            found.pop(name, None)
        elif is_object(wanted) and is_object(before):
            found[name] = _merged(before, wanted)
        elif name in _KEYS and before:
            found[name] = _merged_by(_KEYS[name], objects_at(value, name), objects_at(patch, name))
        else:
            found[name] = wanted
    return found


def _merged_by(key: str, before: Sequence[JsonMapping], wanted: Sequence[JsonMapping]) -> list[JsonMapping]:
    found: dict[object, JsonMapping] = {one.get(key): one for one in before}
    for one in wanted:
        found[one.get(key)] = _merged(found.get(one.get(key), {}), one)
    return list(found.values())


def _replicated(found: JsonMapping, job: JsonMapping, policy: JsonMapping | None) -> JsonObject:
    """One of its jobs with the number of its pods, and with what the TrainJob says of their containers."""
    labels = object_at(found, "template", "metadata", "labels")
    step = str(labels.get(_ANCESTOR, ""))
    count = _count(found, step, job, policy)
    made = _with_count(found, count)
    if step == _TRAINER or step in _INITIALIZERS:
        made = put(made, ("replicas",), 1)
    if not labels:
        return made
    as_node = bool(object_at(policy, "mpi").get("runLauncherAsNode"))
    containers = [
        _container(one, step, job, as_node=as_node)
        for one in objects_at(found, "template", "spec", "template", "spec", "containers")
    ]
    return put(made, ("template", "spec", "template", "spec", "containers"), containers)


def _with_count(found: JsonMapping, count: int) -> JsonObject:
    return put(put(found, ("template", "spec", "parallelism"), count), ("template", "spec", "completions"), count)


def _count(found: JsonMapping, step: str, job: JsonMapping, policy: JsonMapping | None) -> int:
    """How many pods one of its jobs has."""
    count = whole(found, "template.spec.parallelism", 1)
    if step == _TRAINER and policy is not None:
        count = whole(policy, "numNodes", 1)
    count = max(count, 1)
    if object_at(job, "spec", "trainer").get("numNodes") is None:
        return count
    nodes = whole(job, "spec.trainer.numNodes", 1)
    if policy is None or policy.get("mpi") is None:
        return nodes if step == _TRAINER else count
    if found.get("name") != _NODE:
        return count
    return max(nodes - 1, 1) if object_at(policy, "mpi").get("runLauncherAsNode") else nodes


def _container(found: JsonMapping, step: str, job: JsonMapping, *, as_node: bool) -> JsonMapping:
    name = str(found.get("name", ""))
    if name == step and step in _INITIALIZERS:
        return _initializer(found, object_at(job, "spec", "initializer", _INITIALIZERS[step]))
    if name != _NODE and not (name == _LAUNCHER and as_node):
        return found
    trainer = object_at(job, "spec", "trainer")
    said = {one: trainer[one] for one in ("image", "command", "args") if trainer.get(one) is not None}
    resources = _resources(trainer)
    found = {**found, **said, **({"resources": resources} if resources else {})}
    return _with_variables(found, objects_at(trainer, "env"))


def _initializer(found: JsonMapping, asked: JsonMapping) -> JsonMapping:
    if asked.get("storageUri") is not None:
        found = _with_variables(found, [{"name": "STORAGE_URI", "value": asked["storageUri"]}])
    found = _with_variables(found, objects_at(asked, "env"))
    secret = get(asked, ("secretRef", "name"))
    if secret is None:
        return found
    return {**found, "envFrom": [*objects_at(found, "envFrom"), {"secretRef": {"name": secret}}]}


def _with_variables(found: JsonMapping, more: Sequence[JsonMapping]) -> JsonMapping:
    """A container with these variables; those of the same name are replaced where they stand."""
    if not more:
        return found
    by_name: dict[object, JsonMapping] = {one.get("name"): one for one in objects_at(found, "env")}
    return {**found, "env": list((by_name | {one.get("name"): one for one in more}).values())}
