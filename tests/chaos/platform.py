"""Two queues of one cohort that share twelve cards, and jobs that a seed makes: small and large, patient and urgent."""

import random
from typing import Any

from events.api.labels import RUN_SECONDS
from events.json_object import JsonObject
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node

KUEUE = "kueue.x-k8s.io/v1beta2"
NAMESPACE = "team"
QUEUES = ("research", "production")
_CARD_MIB, _CARDS, _NODES = 32768, 4, 3
_SHARE = _CARDS * _NODES // len(QUEUES)


def objects() -> list[JsonObject]:
    """What there is before the first job."""
    nodes = [
        gpu_node(f"n{number}", product="V100", zone="a", cards=_CARDS, memory_mib=_CARD_MIB, model="NVIDIA-V100")
        for number in range(_NODES)
    ]
    flavor = _object(
        "ResourceFlavor",
        "v100",
        spec={"nodeLabels": {"zone": "a"}, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
    )
    classes = [_object("WorkloadPriorityClass", "low", value=0), _object("WorkloadPriorityClass", "urgent", value=100)]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    return [namespace, *nodes, *classes, flavor, *(one for name in QUEUES for one in _queue(name))]


def job(chance: random.Random, number: int) -> JsonObject:
    """One job of a stream."""
    pods = chance.choice((1, 1, 1, 2, 3))
    limits = {
        "nvidia.com/gpu": 1,
        "nvidia.com/gpumem": chance.choice((8000, 16000, 32000)),
        "nvidia.com/gpucores": chance.choice((25, 50, 100)),
    }
    labels = {
        "kueue.x-k8s.io/queue-name": chance.choice(QUEUES),
        "kueue.x-k8s.io/priority-class": chance.choice(("low",) * 6 + ("urgent",)),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"j{number}", "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": {
                "metadata": {"annotations": {RUN_SECONDS: str(chance.randrange(5, 30))}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}],
                },
            },
        },
    }


def _queue(name: str) -> list[JsonObject]:
    quota = {"nvidia.com/gpu": 2 * _SHARE, "nvidia.com/gpumem": _SHARE * _CARD_MIB, "nvidia.com/gpucores": _SHARE * 100}
    spec = {
        "namespaceSelector": {},
        "cohortName": "all",
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"},
        "resourceGroups": [
            {
                "coveredResources": list(quota),
                "flavors": [
                    {
                        "name": "v100",
                        "resources": [{"name": one, "nominalQuota": str(amount)} for one, amount in quota.items()],
                    }
                ],
            }
        ],
    }
    door = _object("LocalQueue", name, spec={"clusterQueue": name})
    door["metadata"]["namespace"] = NAMESPACE
    return [_object("ClusterQueue", name, spec=spec), door]


def _object(kind: str, name: str, **content: Any) -> JsonObject:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, **content}
