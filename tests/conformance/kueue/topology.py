"""Suites about places in a topology, checked with what places pods in production."""

from collections.abc import Callable
from typing import Any

from msgspec import convert

from events.api.topology import ApiTopologyAssignment
from events.device import NodeObserved
from events.pod_set import PodSet
from events.settings import SettingsObserved
from events.topology import TopologyAssignment
from projections.topology.gates import topology_gates
from projections.topology.replacement import NodeLoss
from projections.topology.request import FlavorRoom, PlacementRequest, PodSetPlacement
from projections.topology.room import LeafRoom, LeafUsage, capacity_of, held_by
from projections.topology.stored_assignment import read_assignment
from projections.topology.tree import TopologyTree, tree_of
from projections.topology.workload_placement import place_pod_sets, replace_node
from projections.workloads.effective_requests import pod_requests
from services.watcher.nodes import node_facts
from services.watcher.workload_objects import workload_state

Case = dict[str, Any]

FLAVOR = "tas"


def find_assignments(case: Case) -> str | None:
    """The places of all pod sets of a workload, or why one of them has none."""
    inputs = case["inputs"]
    flavor = _flavor(case, inputs["levels"], inputs.get("node_labels") or {}, inputs.get("prior_flavor_usage") or ())
    gates = topology_gates(SettingsObserved(gates=dict(case["gates_non_default"])))
    workload = inputs.get("workload")
    if workload is None:
        requests = [_request(one, one.get("previous_assignment")) for one in inputs["pod_sets"]]
        found = place_pod_sets({FLAVOR: flavor}, requests, gates)
    else:
        own = {
            one["name"]: one.get("topologyAssignment") for one in workload["status"]["admission"]["podSetAssignments"]
        }
        requests = [_request(one, own[one["pod_set_name"]]) for one in inputs["pod_sets"]]
        owners = workload["metadata"].get("ownerReferences") or ()
        lost = NodeLoss(
            host=workload["status"]["unhealthyNodes"][0]["name"],
            pod_owned=[one["kind"] for one in owners] == ["Pod"],
        )
        found = replace_node({FLAVOR: flavor}, requests, lost, gates)
    told = [_told(one) for one in found]
    wanted = [
        {
            "pod_set_name": one["pod_set_name"],
            "assignment": one.get("assignment"),
            "failure_reason": one["failure_reason"],
        }
        for one in case["want"]["pod_sets"]
    ]
    return None if told == wanted else f"{told}, recorded {wanted}"


def replace_in_layers(case: Case) -> str | None:
    """The places of a pod set with several layers of slices, once a node has failed."""
    inputs = case["inputs"]
    flavor = _flavor(case, inputs.get("levels") or inputs["default_levels"], {}, inputs.get("prior_flavor_usage") or ())
    gates = topology_gates(SettingsObserved(gates=dict(case["gates_non_default"])))
    request = _request({**inputs, "requests": inputs["single_pod_requests"]}, inputs["existing_ta"])
    (found,) = replace_node({FLAVOR: flavor}, [request], NodeLoss(host=inputs["unhealthy_node"]), gates)
    told = _told(found)
    if case["want"].get("reason"):
        wanted = case["want"]["reason"]
        return None if found.failure == wanted else f"{told}, recorded {wanted}"
    wanted = case["want"]["assignment"]
    return None if told["assignment"] == wanted else f"{told}, recorded {wanted}"


def _flavor(case: Case, levels: list[str], labels: dict[str, str], used: Any) -> FlavorRoom:
    facts = [fact for value in case["objects"]["nodes"] for fact in node_facts(value)]
    nodes = [fact for fact in facts if isinstance(fact, NodeObserved)]
    tree = tree_of(case["inputs"]["topology_name"], levels, labels, nodes)
    capacity, usage = capacity_of(tree, nodes), LeafUsage()
    for value in case["objects"].get("pods") or ():
        leaf = tree.leaf_by_node.get(value["spec"]["nodeName"])
        if leaf is not None and (value.get("status") or {}).get("phase") not in ("Failed", "Succeeded"):
            capacity.add(leaf, held_by(pod_requests(_pod_set({"template": value}).shape)), -1)
    for one in used:
        usage.add(_key(tree, one["values"]), held_by(one["single_pod_requests"]), one["count"])
    return FlavorRoom(room=LeafRoom(tree=tree, capacity=capacity, usage=usage.on(FLAVOR, tree)))


def _key(tree: TopologyTree, values: list[str]) -> str:
    leaf = tree.leaf_at(values)
    return "" if leaf is None else tree.leaves[leaf].key


def _request(value: Case, previous: Case | None) -> PlacementRequest:
    pod_set = _pod_set(
        {
            "name": value["pod_set_name"],
            "count": value["count"],
            "topologyRequest": {
                **(value.get("topology_request") or {}),
                "podSetGroupName": value.get("pod_set_group_name") or "",
            },
            "template": {
                "spec": {
                    "nodeSelector": value.get("node_selector"),
                    "tolerations": value.get("tolerations"),
                    "affinity": {"nodeAffinity": value.get("node_affinity")},
                }
            },
        }
    )
    assert pod_set.topology is not None
    return PlacementRequest(
        pod_set=pod_set.name,
        flavor=FLAVOR,
        count=pod_set.count,
        requests=value["requests"],
        topology=pod_set.topology,
        node_selector=pod_set.shape.node_selector,
        node_terms=pod_set.shape.node_terms,
        preferred_terms=pod_set.shape.preferred_terms,
        tolerations=pod_set.shape.tolerations,
        previous=None if previous is None else _assignment(previous),
    )


def _assignment(value: Case) -> TopologyAssignment:
    return read_assignment(convert(value, ApiTopologyAssignment))


def _pod_set(value: Case) -> PodSet:
    """A pod set of a Workload, read as the watcher reads it."""
    state = workload_state({"metadata": {"name": "wl", "namespace": "ns"}, "spec": {"podSets": [value]}})
    return state.spec.pod_sets[0]


def _told(found: PodSetPlacement) -> Case:
    placed = found.assignment
    return {
        "pod_set_name": found.pod_set,
        "assignment": None
        if placed is None
        else {
            "levels": list(placed.levels),
            "domains": [{"values": list(one.values), "count": one.count} for one in placed.domains],
        },
        "failure_reason": found.failure,
    }


TOPOLOGY_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestFindTopologyAssignments": find_assignments,
    "TestFindTopologyAssignmentsMultiLayerReplacement": replace_in_layers,
}
