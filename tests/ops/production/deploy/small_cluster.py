"""A cluster with one node, a queue and jobs of cpu, for tests of what runs on it."""

from pathlib import Path
from typing import Any

from events.json_object import JsonObject
from ops.production.crds.definitions import manifests
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.scenario.platform import suspend

KUEUE = "kueue.x-k8s.io/v1beta2"


def cluster(folder: Path, *, scale: float = 20.0, cpus: int = 2) -> EmbeddedCluster:
    found = EmbeddedCluster(clock=ScaledClock(scale), kubeconfig=folder / "kubeconfig", mutators=(suspend,))
    for one in manifests():
        found.add(one)
    for one in platform(cpus):
        found.add(one)
    return found


def platform(cpus: int) -> list[JsonObject]:
    quota = {"name": "cpu", "nominalQuota": cpus}
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "64", "pods": "100"}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {"pool": "a"}},
            "status": {**ready, "capacity": ready["allocatable"]},
        },
        {
            "apiVersion": KUEUE,
            "kind": "ResourceFlavor",
            "metadata": {"name": "a"},
            "spec": {"nodeLabels": {"pool": "a"}},
        },
        {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 100},
        {
            "apiVersion": KUEUE,
            "kind": "ClusterQueue",
            "metadata": {"name": "cq"},
            "spec": {
                "namespaceSelector": {},
                "preemption": {"withinClusterQueue": "LowerPriority"},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "a", "resources": [quota]}]}],
            },
        },
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "lq", "namespace": "team"},
            "spec": {"clusterQueue": "cq"},
        },
    ]


def job(name: str, *, seconds: int = 3600, cpus: int = 1, pods: int = 1, priority: str = "", **spec: Any) -> JsonObject:
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    if priority:
        labels["kueue.x-k8s.io/priority-class"] = priority
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "team", "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": {
                "metadata": {"annotations": {"kuelog.io/run-seconds": str(seconds)}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpus)}}}],
                },
            },
            **spec,
        },
    }
