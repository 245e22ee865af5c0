"""Suites about places in a topology: one workload on one flavor, with what places pods in a cycle and on a second pass."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from events.api.topology import ApiTopologyAssignment
from events.topology import TopologyAssignment, TopologyDomain, TopologyPlacement
from events.workload import PodSetAssignment
from projections.topology.domains.stored_assignment import read_assignment
from projections.topology.placement.replacement import NodeLoss
from projections.topology.placement.workload_placement import replace_node
from projections.topology.requests.gates import topology_gates
from projections.topology.requests.pod_set_request import request_of
from projections.topology.requests.topology_request import PlacementRequest, PodSetPlacement
from services.admitter.topology import places
from tests.conformance.kueue.case_world import CaseWorld

Case = dict[str, Any]

FLAVOR, SIBLING = "tas", "sibling"


def find_assignments(case: Case) -> str | None:
    """The places of all pod sets of a workload, or why one of them has none."""
    inputs = case["inputs"]
    at = _world(case, inputs["levels"])
    recorded = inputs.get("workload")
    if recorded is None:
        before = {one["pod_set_name"]: one.get("previous_assignment") for one in inputs["pod_sets"]}
        found = places(at.world, _requests(at, inputs["pod_sets"], before))
    else:
        before = {
            one["name"]: one.get("topologyAssignment") for one in recorded["status"]["admission"]["podSetAssignments"]
        }
        failed = recorded["status"]["unhealthyNodes"][0]["name"]
        owners = [one["kind"] for one in recorded["metadata"].get("ownerReferences") or ()]
        lost = NodeLoss(host=failed, pod_owned=owners == ["Pod"])
        found = _replaced(at, _requests(at, inputs["pod_sets"], before), lost)
    told = [_told(one) for one in found]
    wanted = [{"assignment": None, **one} for one in case["want"]["pod_sets"]]
    return None if told == wanted else f"{told}, recorded {wanted}"


def replace_in_layers(case: Case) -> str | None:
    """The places of a pod set with several layers of slices, once a node has failed."""
    inputs, want = case["inputs"], case["want"]
    at = _world(case, inputs.get("levels") or inputs["default_levels"])
    pod_set = {**inputs, "requests": inputs["single_pod_requests"]}
    asked = _requests(at, [pod_set], {inputs["pod_set_name"]: inputs["existing_ta"]})
    (found,) = (_told(one) for one in _replaced(at, asked, NodeLoss(host=inputs["unhealthy_node"])))
    recorded = ("failure_reason", want["reason"]) if want.get("reason") else ("assignment", want["assignment"])
    return None if found[recorded[0]] == recorded[1] else f"{found}, recorded {want}"


def _world(case: Case, levels: list[str]) -> CaseWorld:
    """The nodes with what pods hold there, under one flavor; what is used already is of another one with the same hosts."""
    inputs = case["inputs"]
    name = inputs["topology_name"]
    topology = {"metadata": {"name": name}, "spec": {"levels": [{"nodeLabel": level} for level in levels]}}
    spec = {"topologyName": name, "nodeLabels": inputs.get("node_labels") or {}}
    flavor = {"metadata": {"name": FLAVOR}, "spec": spec}
    objects = {**case["objects"], "topologies": [topology], "resource_flavors": [flavor]}
    at = CaseWorld({**case, "objects": objects})
    at.world.domains.charge(
        "ns/other",
        [
            PodSetAssignment(
                name="main",
                count=used["count"],
                topology=TopologyPlacement(
                    flavor=SIBLING,
                    requests=used["single_pod_requests"],
                    assignment=TopologyAssignment(
                        levels=tuple(levels[-1:]),
                        domains=(TopologyDomain(values=tuple(used["values"]), count=used["count"]),),
                    ),
                ),
            )
            for used in inputs.get("prior_flavor_usage") or ()
        ],
    )
    return at


def _requests(at: CaseWorld, pod_sets: Iterable[Case], before: dict[str, Case | None]) -> list[PlacementRequest]:
    """What a workload of these pod sets asks for, and where its pods were before."""
    workload = at.submitted(
        {"metadata": {"name": "wl", "namespace": "ns"}, "spec": {"podSets": [_pod_set(one) for one in pod_sets]}}
    )
    asked = [request_of(at.world, workload, one, one.count, FLAVOR) for one in workload.spec.pod_sets]
    return [
        one if (previous := before[one.pod_set]) is None else replace(one, previous=_assignment(previous))
        for one in asked
    ]


def _replaced(at: CaseWorld, requests: list[PlacementRequest], lost: NodeLoss) -> tuple[PodSetPlacement, ...]:
    return replace_node(at.world.domains.rooms([FLAVOR]), requests, lost, topology_gates(at.world.settings))


def _assignment(value: Case) -> TopologyAssignment:
    return read_assignment(convert(value, ApiTopologyAssignment))


def _pod_set(value: Case) -> Case:
    """A pod set as the API server has it; recorded requests are in milli for CPU and in units for all else."""
    requests = {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in value["requests"].items()}
    group = value.get("pod_set_group_name") or ""
    return {
        "name": value["pod_set_name"],
        "count": value["count"],
        "topologyRequest": {**(value.get("topology_request") or {}), "podSetGroupName": group},
        "template": {
            "spec": {
                "containers": [{"name": "c", "resources": {"requests": requests}}],
                "nodeSelector": value.get("node_selector"),
                "tolerations": value.get("tolerations"),
                "affinity": {"nodeAffinity": value.get("node_affinity")},
            }
        },
    }


def _told(found: PodSetPlacement) -> Case:
    placed = found.assignment
    domains = [{"values": list(one.values), "count": one.count} for one in placed.domains] if placed else []
    return {
        "pod_set_name": found.pod_set,
        "assignment": {"levels": list(placed.levels), "domains": domains} if placed else None,
        "failure_reason": found.failure,
    }


TOPOLOGY_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestFindTopologyAssignments": find_assignments,
    "TestFindTopologyAssignmentsMultiLayerReplacement": replace_in_layers,
}
