"""What those who still ask for v1beta1 are given of objects of v1beta2."""

import pytest

from events.json_object import JsonObject
from services.validation.conversion.to_beta1 import to_beta1


@pytest.mark.parametrize(
    ("kind", "part", "new", "old"),
    [
        (
            "ClusterQueue",
            "spec",
            {
                "cohortName": "all",
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
            },
            {"cohort": "all", "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}},
        ),
        (
            "ClusterQueue",
            "spec",
            {"flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "preference": "BorrowingOverPreemption"}},
            {"flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "preference": "BorrowingOverPreemption"}},
        ),
        ("LocalQueue", "status", {"flavorsUsage": [1]}, {"flavorUsage": [1]}),
        (
            "Workload",
            "spec",
            {
                "priority": 5,
                "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"},
            },
            {
                "priority": 5,
                "priorityClassName": "high",
                "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
            },
        ),
        (
            "Workload",
            "spec",
            {"priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}},
            {"priorityClassName": "high", "priorityClassSource": "scheduling.k8s.io/priorityclass"},
        ),
        (
            "Workload",
            "status",
            {"accumulatedPastExecutionTimeSeconds": 7},
            {"accumulatedPastExexcutionTimeSeconds": 7},
        ),
        (
            "MultiKueueCluster",
            "spec",
            {"clusterSource": {"kubeConfig": {"location": "s"}}},
            {"kubeConfig": {"location": "s"}},
        ),
        ("ResourceFlavor", "spec", {"nodeLabels": {"a": "b"}}, {"nodeLabels": {"a": "b"}}),
    ],
)
def test_what_is_called_otherwise_by_now_is_given_back_under_its_older_name(
    kind: str, part: str, new: JsonObject, old: JsonObject
) -> None:
    assert to_beta1({"kind": kind, "metadata": {"name": "it"}, part: new}) == {
        "kind": kind,
        "metadata": {"name": "it"},
        part: old,
    }


def test_what_the_older_version_has_no_word_for_is_left_out() -> None:
    layers = {"required": "rack", "podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 1}]}
    value: JsonObject = {
        "kind": "Workload",
        "spec": {"preemptionGates": [{"name": "g"}], "podSets": [{"name": "main", "topologyRequest": layers}]},
        "status": {"preemptionGates": [{"name": "g"}]},
    }
    assert to_beta1(value) == {
        "kind": "Workload",
        "spec": {"podSets": [{"name": "main", "topologyRequest": {"required": "rack"}}]},
        "status": {},
    }
    assert to_beta1({"kind": "MultiKueueConfig", "spec": {"clusters": ["a"], "quotaManagement": "x"}}) == {
        "kind": "MultiKueueConfig",
        "spec": {"clusters": ["a"]},
    }
