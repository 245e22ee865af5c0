"""Two queues of one cohort that share the cards of a few hosts, and jobs that a seed makes: small and large, patient and urgent."""

import random
from typing import Any

from events.api.labels import RUN_SECONDS
from events.json_object import JsonObject
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node

KUEUE = "kueue.x-k8s.io/v1beta2"
NAMESPACE = "team"
QUEUES = ("research", "production")
_CARD_MIB, _CARDS = 32768, 4


def objects(trees: int = 1, hosts: int = 3) -> list[JsonObject]:
    """What there is before the first job: of each tree its own flavor and so many hosts."""
    classes = [_object("WorkloadPriorityClass", "low", value=0), _object("WorkloadPriorityClass", "urgent", value=100)]
    return [*classes, *(one for tree in range(trees) for one in _tree(_mark(tree), hosts))]


def trees(count: int) -> list[str]:
    """So many trees, by the names under which they are placed in partitions."""
    return [f"cohort/all{_mark(tree)}" for tree in range(count)]


def _mark(tree: int) -> str:
    """What names of a tree end with; those of the first with nothing."""
    return f"-{tree}" if tree else ""


def _tree(mark: str, hosts: int) -> list[JsonObject]:
    zone = f"a{mark}"
    nodes = [
        gpu_node(f"n{number}{mark}", product="V100", zone=zone, cards=_CARDS, memory_mib=_CARD_MIB, model="NVIDIA-V100")
        for number in range(hosts)
    ]
    flavor = _object(
        "ResourceFlavor",
        f"v100{mark}",
        spec={"nodeLabels": {"zone": zone}, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
    )
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{NAMESPACE}{mark}"}}
    return [
        namespace,
        *nodes,
        flavor,
        *(one for name in QUEUES for one in _queue(name, mark, _CARDS * hosts // len(QUEUES))),
    ]


def job(chance: random.Random, number: int, trees: int = 1, stays_s: int | None = None) -> JsonObject:
    """One job of a stream, in one of the trees after the other, that is removed so many seconds after its end."""
    mark = _mark(number % trees)
    pods = chance.choice((1, 1, 1, 2, 3))
    limits = {
        "nvidia.com/gpu": 1,
        "nvidia.com/gpumem": chance.choice((8000, 16000, 32000)),
        "nvidia.com/gpucores": chance.choice((25, 50, 100)),
    }
    labels = {
        "kueue.x-k8s.io/queue-name": f"{chance.choice(QUEUES)}{mark}",
        "kueue.x-k8s.io/priority-class": chance.choice(("low",) * 6 + ("urgent",)),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"j{number}", "namespace": f"{NAMESPACE}{mark}", "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            **({} if stays_s is None else {"ttlSecondsAfterFinished": stays_s}),
            "template": {
                "metadata": {"annotations": {RUN_SECONDS: str(chance.randrange(5, 30))}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}],
                },
            },
        },
    }


def _queue(name: str, mark: str, cards: int) -> list[JsonObject]:
    """A queue with two jobs on each of so many cards."""
    quota = {"nvidia.com/gpu": 2 * cards, "nvidia.com/gpumem": cards * _CARD_MIB, "nvidia.com/gpucores": cards * 100}
    spec = {
        "namespaceSelector": {},
        "cohortName": f"all{mark}",
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"},
        "resourceGroups": [
            {
                "coveredResources": list(quota),
                "flavors": [
                    {
                        "name": f"v100{mark}",
                        "resources": [{"name": one, "nominalQuota": str(amount)} for one, amount in quota.items()],
                    }
                ],
            }
        ],
    }
    door = _object("LocalQueue", f"{name}{mark}", spec={"clusterQueue": f"{name}{mark}"})
    door["metadata"]["namespace"] = f"{NAMESPACE}{mark}"
    return [_object("ClusterQueue", f"{name}{mark}", spec=spec), door]


def _object(kind: str, name: str, **content: Any) -> JsonObject:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, **content}
