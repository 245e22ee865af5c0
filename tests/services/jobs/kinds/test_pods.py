"""Pods without a job: held back and let through so that Kueue and kuelog understand those of each other."""

from typing import Any

import pytest

from services.jobs.kinds.pods import let_through, role_of
from services.jobs.pod_sets.pod_set import Injection, Original

TOLERATED = [
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
]
KUEUES = [
    ({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}, "4b0469f7"),
    (
        {
            "initContainers": [{"name": "f", "resources": {"requests": {"memory": "1Gi", "cpu": "1"}}}],
            "containers": [
                {
                    "name": "c",
                    "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
                    "resources": {"limits": {"memory": "2Gi"}, "requests": {"memory": "1Gi", "cpu": "1500m"}},
                }
            ],
            "nodeSelector": {"b": "2", "a": "1"},
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "x", "operator": "In", "values": ["1"]}]},
                        ]
                    }
                }
            },
            "tolerations": [{"key": "a", "value": "x", "effect": "NoSchedule"}],
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"q": "r"}},
                }
            ],
        },
        "9703c7a4",
    ),
]
"""Pods as the API server asks webhooks about them, and the role that Kueue 0.15.0 wrote."""


@pytest.mark.parametrize(("spec", "role"), KUEUES)
def test_a_pod_has_the_role_that_kueue_gives_it(spec: dict[str, Any], role: str) -> None:
    tolerations = [*spec.get("tolerations", ()), *TOLERATED]
    assert role_of({"metadata": {}, "spec": {**spec, "tolerations": tolerations, "priority": 0}}) == role


def test_kueues_gate_for_topologies_goes_with_the_other_and_those_of_others_stay() -> None:
    gates = [{"name": f"kueue.x-k8s.io/{name}"} for name in ("admission", "topology")]
    pod = {"metadata": {}, "spec": {"schedulingGates": [*gates, {"name": "example.com/own"}]}}
    free = let_through(pod, Injection(count=1, original=Original(name="main", count=1)))
    assert free["spec"]["schedulingGates"] == [{"name": "example.com/own"}]
