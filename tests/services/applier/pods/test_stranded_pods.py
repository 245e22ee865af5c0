"""How a pod ends that was sent to a host and never gets there."""

import pytest

from events.json_object import JsonObject
from events.json_path import put
from services.applier.pods.stranded_pods import ended, still_waits

POD: JsonObject = {
    "metadata": {"name": "p", "resourceVersion": "7"},
    "spec": {"nodeSelector": {"kubernetes.io/hostname": "a"}},
    "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]},
}


def test_a_pod_that_never_gets_to_its_host_fails_with_kueues_condition() -> None:
    patch = ended(POD, 0)
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert patch["status"] == {
        "phase": "Failed",
        "conditions": [
            {"type": "PodScheduled", "status": "False"},
            {
                "type": "TerminatedByKueue",
                "status": "True",
                "reason": "UnschedulableOnAssignedNode",
                "message": "Pod terminated by Kueue NodeController due to node taint",
                "lastTransitionTime": "1970-01-01T00:00:00Z",
            },
        ],
    }
    again = {**POD, "status": patch["status"]}
    assert ended(again, 0)["status"] == patch["status"], "the condition stands there once"


@pytest.mark.parametrize(
    "changed",
    [
        put(POD, ("spec", "nodeName"), "a"),
        put(POD, ("status", "phase"), "Running"),
        put(POD, ("metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z"),
        put(POD, ("spec", "schedulingGates"), [{"name": "kueue.x-k8s.io/topology"}]),
    ],
    ids=["bound", "running", "leaving", "gated"],
)
def test_one_that_got_further_meanwhile_is_left_alone(changed: JsonObject) -> None:
    assert still_waits(POD)
    assert not still_waits(changed)
