from events.json_object import JsonObject
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
