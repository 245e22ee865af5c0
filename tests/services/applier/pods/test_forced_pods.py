"""How a pod is ended by force that hangs on a node out of reach."""

from events.json_object import JsonObject
from events.pod import PodEndForced
from services.applier.pods.forced_pods import forced

EVENT = PodEndForced(workload="team/w", namespace="team", pod="p", uid="u", node="n1", due=0)
POD: JsonObject = {
    "metadata": {"name": "p", "resourceVersion": "7"},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]},
}


def test_it_fails_with_kueues_condition() -> None:
    patch = forced(POD, EVENT, 0)
    told = "Pod forcefully terminated after 1m0s grace period due to unreachable node `n1` "
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert patch["status"] == {
        "phase": "Failed",
        "conditions": [
            {"type": "Ready", "status": "False"},
            {
                "type": "KueueFailureRecovery",
                "status": "True",
                "reason": "KueueForcefullyDeleted",
                "message": f"{told}(triggered by `kueue.x-k8s.io/safe-to-forcefully-delete` annotation)",
                "lastTransitionTime": "1970-01-01T00:00:00Z",
            },
        ],
    }
    again = {**POD, "status": patch["status"]}
    assert forced(again, EVENT, 0)["status"] == patch["status"], "the condition stands there once"
