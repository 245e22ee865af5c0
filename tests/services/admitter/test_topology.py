from msgspec.structs import replace

from events.json_object import JsonObject
from events.workload import CheckState, CheckStatus, PodSetUpdate
from projections.topology.requests.pod_set_request import request_of
from tests.conformance.kueue.case_world import CaseWorld

EAST = [{"key": "zone", "operator": "In", "values": ["east"]}]
TEMPLATE: JsonObject = {
    "spec": {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}],
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": EAST}]},
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 5, "preference": {"matchExpressions": EAST}}
                ],
            }
        },
    }
}


def test_what_a_template_says_of_nodes_is_asked_of_its_places() -> None:
    at = CaseWorld({})
    pod_set = {"name": "main", "count": 3, "template": TEMPLATE, "topologyRequest": {"required": "rack"}}
    workload = at.submitted({"metadata": {"name": "w", "namespace": "ns"}, "spec": {"podSets": [pod_set]}})
    (wanted,) = workload.spec.pod_sets
    asked = request_of(at.world, workload, wanted, 2, "tas")
    assert (asked.pod_set, asked.flavor, asked.count, asked.requests) == ("main", "tas", 2, {"cpu": 2000})
    assert (asked.topology.required, asked.node_selector) == ("rack", {"pool": "gpu"})
    assert [one.key for one in asked.tolerations] == ["spot"]
    assert asked.node_terms == wanted.shape.node_terms != ()
    assert [(one.weight, one.term) for one in asked.preferred_terms] == [(5, wanted.shape.node_terms[0])]


def test_of_what_checks_add_counts_what_is_ready_and_for_the_same_pod_set() -> None:
    at = CaseWorld({})
    pod_sets = [{"name": name, "count": 1, "template": TEMPLATE} for name in ("main", "other")]
    workload = at.submitted({"metadata": {"name": "w", "namespace": "ns"}, "spec": {"podSets": pod_sets}})
    added = {name: PodSetUpdate(name=name, node_selector={"for": name}) for name in ("main", "other")}
    checks = {
        "ready": CheckStatus(name="ready", state=CheckState.READY, updates=tuple(added.values())),
        "waits": CheckStatus(name="waits", state=CheckState.PENDING, updates=(added["main"],)),
    }
    workload = replace(workload, checks=checks)
    asked = request_of(at.world, workload, workload.spec.pod_sets[0], 1, "tas")
    assert asked.updates == (added["main"],)
