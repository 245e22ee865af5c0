"""A job of each kind as people write it, and what its controller shows of it."""

from collections.abc import Callable

from events.job_kind import JobKind, Sign
from events.json_object import JsonObject
from events.json_path import put
from services.jobs.kinds.table import KINDS

CARD = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 20000, "nvidia.com/gpucores": 60}


def pod(*, card: bool = False) -> JsonObject:
    """A pod template that has a selector, a toleration and a label of its own."""
    resources = {"limits": CARD if card else {"cpu": "1"}}
    return {
        "metadata": {"labels": {"app": "x"}},
        "spec": {
            "nodeSelector": {"own": "yes"},
            "tolerations": [{"key": "own", "operator": "Exists"}],
            "containers": [{"name": "main", "image": "x", "resources": resources}],
        },
    }


def _roles(field: str, *roles: str) -> Callable[[], JsonObject]:
    """Kubeflow's way: one list of pods per role, the last of them with a card."""

    def spec() -> JsonObject:
        replicas = {role: {"replicas": 1, "template": pod(card=role == roles[-1])} for role in roles}
        return {"runPolicy": {"cleanPodPolicy": "Running"}, field: replicas}

    return spec


def _job_set() -> JsonObject:
    def one(name: str, *, card: bool) -> JsonObject:
        return {"name": name, "replicas": 1, "template": {"spec": {"parallelism": 1, "template": pod(card=card)}}}

    return {"replicatedJobs": [one("leader", card=False), one("worker", card=True)]}


def _ray() -> JsonObject:
    group = {"groupName": "Big", "replicas": 1, "numOfHosts": 1, "template": pod(card=True)}
    return {"headGroupSpec": {"template": pod()}, "workerGroupSpecs": [group]}


def _spark() -> JsonObject:
    memory = {"nvidia.com/gpumem": 20000, "nvidia.com/gpucores": 60}
    card = {
        "instances": 1,
        "cores": 1,
        "memory": "1g",
        "gpu": {"name": "nvidia.com/gpu", "quantity": 1},
        "template": {"spec": {"containers": [{"name": "e", "resources": {"limits": memory}}]}},
    }
    return {"type": "Scala", "driver": {"cores": 1, "memory": "512m", "nodeSelector": {"own": "yes"}}, "executor": card}


def _wrapper() -> JsonObject:
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": 1, "template": pod(card=True)}}
    bare = {"apiVersion": "v1", "kind": "Pod", **pod()}
    return {"components": [{"template": job}, {"template": bare}]}


SPECS: dict[str, Callable[[], JsonObject]] = {
    "JobSet": _job_set,
    "TrainJob": lambda: {"runtimeRef": {"name": "torch"}},
    "MPIJob": _roles("mpiReplicaSpecs", "Launcher", "Worker"),
    "PyTorchJob": _roles("pytorchReplicaSpecs", "Master", "Worker"),
    "TFJob": _roles("tfReplicaSpecs", "Chief", "PS", "Worker"),
    "XGBoostJob": _roles("xgbReplicaSpecs", "Master", "Worker"),
    "PaddleJob": _roles("paddleReplicaSpecs", "Master", "Worker"),
    "JAXJob": _roles("jaxReplicaSpecs", "Worker"),
    "RayJob": lambda: {
        "entrypoint": "python x.py",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": _ray(),
    },
    "RayCluster": _ray,
    "RayService": lambda: {"rayClusterConfig": _ray()},
    "AppWrapper": _wrapper,
    "SparkApplication": _spark,
}
POD_SETS = {
    "JobSet": ["leader", "worker"],
    "TrainJob": ["leader", "worker"],
    "MPIJob": ["launcher", "worker"],
    "PyTorchJob": ["master", "worker"],
    "TFJob": ["chief", "ps", "worker"],
    "XGBoostJob": ["master", "worker"],
    "PaddleJob": ["master", "worker"],
    "JAXJob": ["worker"],
    "RayJob": ["head", "big", "submitter"],
    "RayCluster": ["head", "big"],
    "RayService": ["head", "big"],
    "AppWrapper": ["patient-0", "patient-1"],
    "SparkApplication": ["driver", "executor"],
}
SAMPLED = [kind for kind in KINDS if kind.kind in SPECS]
"""Job and Pod have controllers in the embedded cluster, and their own stories."""


def manifest(kind: JobKind, name: str, *, queue: str = "team", urgent: bool = False) -> JsonObject:
    labels = {"kueue.x-k8s.io/queue-name": queue} | ({"kueue.x-k8s.io/priority-class": "urgent"} if urgent else {})
    return {
        "apiVersion": f"{kind.group}/{kind.versions[0]}",
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": SPECS[kind.kind](),
    }


def child(job: JsonObject) -> JsonObject:
    """The JobSet that the trainer's controller makes of a TrainJob."""
    meta = job["metadata"]
    owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": meta["name"], "namespace": "default", "ownerReferences": [{**owner, "controller": True}]},
        "spec": {**_job_set(), "suspend": True},
    }


def training_runtime(name: str) -> JsonObject:
    """The runtime of which the trainer makes that JobSet."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": _job_set()}},
    }


def definition(kind: JobKind) -> JsonObject:
    """A CustomResourceDefinition that lets everything through."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": kind.versions[0],
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            # Groups below k8s.io belong to Kubernetes, and who takes one has to say so.
            "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"},
        },
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"kind": kind.kind, "plural": kind.plural},
            "versions": [version],
        },
    }


def shown(*signs: Sign | None) -> JsonObject:
    """A status that bears these signs and no others."""
    status: JsonObject = {"status": {"conditions": []}}
    for sign in signs:
        if sign is None:
            continue
        head, _, rest = sign.at.partition("[")
        if rest:
            condition = {"type": rest.partition("]")[0], "status": sign.values[0], "reason": "x", "message": "said so"}
            status["status"]["conditions"].append(condition)
        else:
            status = put(status, tuple(head.split(".")), sign.values[0])
    return status


def ended_well(kind: JobKind) -> JsonObject:
    """The status of a job that has ended well, with what tells that from another end."""
    ending = next(one for one in kind.endings if one.succeeded)
    return shown(ending.sign, *(one.unless for one in kind.endings if one.sign == ending.sign))


def running(kind: JobKind, *, succeeded: int = 0) -> JsonObject:
    """The status of a job all of whose pods are ready."""
    status = shown(kind.ready)
    if kind.counter == "replicas":
        field = kind.replicas.split(".")[1]
        counts = {"ready": 1, "active": 1, "succeeded": 0}
        done = {"ready": 1 - succeeded, "active": 1 - succeeded, "succeeded": succeeded}
        status["status"][field] = [{"name": "leader", **done}, {"name": "worker", **counts}]
    return status


def stopped(kind: JobKind) -> JsonObject:
    status = shown(kind.stopped)
    if kind.counter == "replicas":
        status["status"][kind.replicas.split(".")[1]] = []
    return status
