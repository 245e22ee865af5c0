"""A manifest of each kind that is watched, as people and controllers write it, and what can be broken in it."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from events.json_object import JsonObject
from services.jobs.kinds.table import KINDS
from tests.stories.job_samples import CARD, SPECS, child, manifest, pod

TEAM = "default"
QUEUE = {"kueue.x-k8s.io/queue-name": "team"}
KUEUE = "kueue.x-k8s.io/v1beta2"
_REGISTER = json.dumps(
    [
        {
            "id": "GPU-1",
            "count": 10,
            "devmem": 32768,
            "devcore": 100,
            "type": "NVIDIA-V100",
            "numa": 0,
            "health": True,
            "index": 0,
            "mode": "hami-core",
        }
    ]
)


def _object(kind: str, name: str, namespace: str = "", **parts: Any) -> JsonObject:
    meta: JsonObject = {"name": name, "uid": f"uid-{kind}-{name}", "generation": 1, **parts.pop("meta", {})}
    if namespace:
        meta["namespace"] = namespace
    return {"metadata": {**meta, "creationTimestamp": "2026-01-01T00:00:00Z"}, **parts}


def _queues() -> Iterator[tuple[str, JsonObject]]:
    quotas = [
        {"name": name, "nominalQuota": amount, "borrowingLimit": "5", "lendingLimit": 2}
        for name, amount in (("nvidia.com/gpu", 4), ("nvidia.com/gpumem", 64000), ("nvidia.com/gpucores", "200"))
    ]
    group = {"coveredResources": [one["name"] for one in quotas], "flavors": [{"name": "v100", "resources": quotas}]}
    rest = {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": "8500m"}]}
    cpu = {"coveredResources": ["cpu"], "flavors": [rest]}
    yield (
        "ClusterQueue",
        _object(
            "ClusterQueue",
            "team",
            meta={
                "annotations": {
                    "kuelog.io/quota-check-strategy": "IgnoreUndeclared",
                    "kuelog.io/minimum-runtime": "10m",
                    "kuelog.io/preemption-cooldown": "90s",
                    "kuelog.io/preemption-claims": "true",
                    "kuelog.io/max-concurrent-workloads": "7",
                    "kuelog.io/budget": "nvidia.com/gpu=500h per month",
                }
            },
            spec={
                "cohortName": "pool",
                "resourceGroups": [group, cpu],
                "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
                "queueingStrategy": "BestEffortFIFO",
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
                "preemption": {
                    "withinClusterQueue": "LowerPriority",
                    "reclaimWithinCohort": "Any",
                    "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 5},
                },
                "admissionChecksStrategy": {"admissionChecks": [{"name": "check", "onFlavors": ["v100"]}]},
                "stopPolicy": "None",
                "fairSharing": {"weight": "1500m"},
                "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"},
            },
        ),
    )
    yield (
        "Cohort",
        _object(
            "Cohort",
            "pool",
            spec={"parentName": "root", "resourceGroups": [cpu], "fairSharing": {"weight": 2}},
        ),
    )
    yield (
        "LocalQueue",
        _object(
            "LocalQueue",
            "team",
            TEAM,
            spec={"clusterQueue": "team", "stopPolicy": "None", "fairSharing": {"weight": "1"}},
            status={
                "fairSharing": {
                    "admissionFairSharingStatus": {
                        "consumedResources": {"cpu": "1"},
                        "lastUpdate": "2026-01-01T00:00:00Z",
                    }
                }
            },
        ),
    )
    yield (
        "ResourceFlavor",
        _object(
            "ResourceFlavor",
            "v100",
            meta={"annotations": {"kuelog.io/device-policy": "Cap"}},
            spec={
                "nodeLabels": {"zone": "a"},
                "nodeTaints": [{"key": "own", "value": "x", "effect": "NoSchedule"}],
                "tolerations": [{"key": "own", "operator": "Exists", "tolerationSeconds": 30}],
            },
        ),
    )

    yield (
        "Topology",
        _object("Topology", "racks", spec={"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "kubernetes.io/hostname"}]}),
    )


def _around() -> Iterator[tuple[str, JsonObject]]:
    yield (
        "Namespace",
        _object(
            "Namespace", TEAM, meta={"labels": {"a-team": "x"}, "annotations": {"kuelog.io/budget": "cpu=5h per day"}}
        ),
    )
    yield "PriorityClass", {**_object("PriorityClass", "high"), "value": 1000, "globalDefault": True}
    yield "WorkloadPriorityClass", {**_object("WorkloadPriorityClass", "urgent"), "value": 100}
    yield (
        "AdmissionCheck",
        _object(
            "AdmissionCheck",
            "check",
            spec={
                "controllerName": "kueue.x-k8s.io/provisioning-request",
                "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "conf"},
            },
            status={"conditions": [{"type": "Active", "status": "True"}]},
        ),
    )
    yield (
        "ProvisioningRequestConfig",
        _object(
            "ProvisioningRequestConfig",
            "conf",
            spec={
                "provisioningClassName": "c",
                "parameters": {"a": "b"},
                "managedResources": ["cpu"],
                "retryStrategy": {"backoffLimitCount": 2, "backoffBaseSeconds": 5, "backoffMaxSeconds": 60},
                "podSetMergePolicy": "IdenticalPodTemplates",
            },
        ),
    )
    owner = {"apiVersion": KUEUE, "kind": "Workload", "name": "direct", "uid": "u"}
    yield (
        "ProvisioningRequest",
        _object(
            "ProvisioningRequest",
            "direct-check-1",
            TEAM,
            meta={
                "ownerReferences": [owner],
                "labels": {"kueue.x-k8s.io/managed": "true"},
                "annotations": {"kuelog.io/decision": "LOG_0/3"},
            },
            spec={"provisioningClassName": "c", "parameters": {"a": "b"}},
            status={
                "conditions": [{"type": "Provisioned", "status": "True", "message": "m"}],
                "provisioningClassDetails": {"x": "y"},
            },
        ),
    )
    limits = {
        "type": "Container",
        "default": {"cpu": "2"},
        "defaultRequest": {"cpu": "1"},
        "max": {"cpu": 4},
        "min": {},
    }
    yield "MultiKueueConfig", _object("MultiKueueConfig", "all", spec={"clusters": ["w1", "w2"]})
    yield (
        "MultiKueueCluster",
        _object(
            "MultiKueueCluster",
            "w1",
            spec={"clusterSource": {"kubeConfig": {"location": "w1", "locationType": "Secret"}}},
            status={"conditions": [{"type": "Active", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}]},
        ),
    )
    yield "LimitRange", _object("LimitRange", "limits", TEAM, spec={"limits": [limits]})
    yield "ResourceQuota", _object("ResourceQuota", "cards", TEAM, spec={"hard": {"limits.nvidia.com/gpumem": "1000"}})
    yield "RuntimeClass", {**_object("RuntimeClass", "kata"), "overhead": {"podFixed": {"cpu": "250m"}}}
    yield "Topology", _object("Topology", "racks", spec={"levels": [{"nodeLabel": "rack"}]})
    yield (
        "Node",
        _object(
            "Node",
            "n1",
            meta={
                "labels": {"zone": "a", "kubernetes.io/hostname": "n1"},
                "annotations": {
                    "hami.io/node-nvidia-register": _REGISTER,
                    "hami.io/node-handshake": "Reported 2026.01.01 00:00:00",
                    "kuelog.io/card-cordon": "GPU-9",
                },
            },
            spec={"taints": [{"key": "own", "effect": "NoSchedule"}], "unschedulable": False},
            status={
                "allocatable": {"cpu": "16", "nvidia.com/gpu": 10},
                "capacity": {"cpu": "16", "nvidia.com/gpu": 10},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        ),
    )


def _pods() -> Iterator[tuple[str, JsonObject]]:
    shape = pod(card=True)
    held = {
        "finalizers": ["kueue.x-k8s.io/managed"],
        "labels": {**QUEUE, "kueue.x-k8s.io/managed": "true", "kueue.x-k8s.io/pod-group-name": "group"},
        "annotations": {
            "kueue.x-k8s.io/pod-group-total-count": "2",
            "hami.io/vgpu-devices-allocated": "GPU-1,NVIDIA,20000,60:;",
            "hami.io/vgpu-node": "n1",
            "kueue.x-k8s.io/workload": "w",
        },
    }
    gated = {**shape["spec"], "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    for name in ("p1", "p2"):
        yield "Pod", _object("Pod", name, TEAM, meta=held, spec=gated, status={"phase": "Pending"})
    alone = {**held, "labels": {**QUEUE, "kueue.x-k8s.io/managed": "true"}}
    conditions = [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "True"}]
    status = {"phase": "Running", "conditions": conditions}
    yield "Pod", _object("Pod", "alone", TEAM, meta=alone, spec=gated, status=status)
    yield (
        "Pod",
        _object(
            "Pod",
            "thief",
            TEAM,
            meta={"annotations": held["annotations"]},
            spec={**shape["spec"], "nodeName": "n1"},
            status=status,
        ),
    )


def _jobs() -> Iterator[tuple[str, JsonObject]]:
    labels = {**QUEUE, "kueue.x-k8s.io/priority-class": "urgent", "kueue.x-k8s.io/max-exec-time-seconds": "3600"}
    marks = {"kuelog.io/decision": "LOG_0/5", "kueue.x-k8s.io/job-min-parallelism": "1"}
    status = {"active": 1, "ready": 1, "conditions": [{"type": "Suspended", "status": "True"}]}
    spec = {"parallelism": 2, "completions": 2, "suspend": True, "template": pod(card=True)}
    yield "Job", _object("Job", "job", TEAM, meta={"labels": labels, "annotations": marks}, spec=spec, status=status)
    for kind in KINDS:
        if kind.kind not in SPECS:
            continue
        value = manifest(kind, "m", urgent=True)
        value["metadata"] |= {"uid": f"uid-{kind.kind}", "resourceVersion": "5", "annotations": dict(marks)}
        value["status"] = {"conditions": [{"type": "Running", "status": "True"}], "readyReplicas": 1, "replicas": 1}
        yield kind.place, value
        if kind.kind == "TrainJob":
            yield "JobSet", child(value)


def _workloads() -> Iterator[tuple[str, JsonObject]]:
    sets = [{"name": "main", "count": 2, "minCount": 1, "template": pod(card=True)}]
    admission = {
        "clusterQueue": "team",
        "podSetAssignments": [{"name": "main", "flavors": {"cpu": "v100"}, "resourceUsage": {"cpu": "1"}, "count": 2}],
    }
    check = {
        "name": "check",
        "state": "Ready",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "podSetUpdates": [{"name": "main", "labels": {"a": "b"}, "nodeSelector": {"x": "y"}}],
    }
    status = {
        "conditions": [
            {"type": "QuotaReserved", "status": "True", "reason": "r", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Admitted", "status": "True", "reason": "r"},
        ],
        "admission": admission,
        "admissionChecks": [check],
        "requeueState": {"count": 1, "requeueAt": "2026-01-01T00:00:00Z"},
        "reclaimablePods": [{"name": "main", "count": 1}],
        "accumulatedPastExecutionTimeSeconds": 4,
    }
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "urgent"}
    spec = {
        "queueName": "team",
        "podSets": sets,
        "priority": 4,
        "priorityClassRef": reference,
        "active": True,
        "maximumExecutionTimeSeconds": 60,
    }
    marks = {"kueue.x-k8s.io/priority-boost": "3", "kueue.x-k8s.io/workload-allowed-resource-flavors": "v100"}
    for name, state in (("direct", {}), ("running", status)):
        meta = {"annotations": marks}
        yield "Workload", {**_object("Workload", name, TEAM, meta=meta, spec=spec, status=state), "apiVersion": KUEUE}


MANIFESTS = [(kind, one) for part in (_queues, _around, _pods, _jobs, _workloads) for kind, one in part()]

_DEEP: Any = "deep"
for _ in range(300):
    _DEEP = [_DEEP]
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    1.5,
    1e300,
    "",
    " ",
    "0",
    "-5",
    "1.5",
    "16Gi",
    "1e999",
    "9" * 30,
    "9" * 5000,
    "²",
    "٣",
    "--5",
    "nowhere",
    "a/b/c",
    "/",
    "#",
    "\x00",
    "\u202e\U0001f4a5é",
    "x" * 3000,
    "2026-13-45T99:99:99Z",
    "9999-12-31T23:59:59Z",
    "True",
    "LOG_0/²",
    "LOG_0/" + "9" * 5000,
    [],
    {},
    [None],
    {"": None},
    [[]],
    {"a": {"b": []}},
    {f"k{number}": "-x" for number in range(200)},
    ["x", 1, None],
    [{}],
    CARD,
    _DEEP,
)


def broken(value: JsonObject, chance: random.Random) -> JsonObject:
    """The manifest with one to three things wrong with it; most of the time it is still the same object."""
    meta = value["metadata"]
    found = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        _break(found, chance)
    if isinstance(found.get("metadata"), dict) and chance.random() < 0.97:
        found["metadata"] |= {name: meta[name] for name in ("name", "namespace") if name in meta}
    return found


def _break(value: JsonObject, chance: random.Random) -> None:
    where: Any = value
    while True:
        steps = list(where) if isinstance(where, dict) else list(range(len(where)))
        if not steps:
            break
        step = chance.choice(steps)
        inner = where[step]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.85:
            where = inner
            continue
        match chance.randrange(8):
            case 0:
                del where[step]
            case 1 if isinstance(where, list):
                where.extend(copy.deepcopy(where))
            case 1 if isinstance(where, dict):
                where[str(chance.choice(ODD))] = inner
            case 2:
                where[step] = [inner]
            case 3:
                where[step] = {"inner": inner}
            case _:
                where[step] = copy.deepcopy(chance.choice(ODD))
        return
