"""Small data centres for tests: nodes by where they are, and places asked for in few words."""

from collections.abc import Mapping, Sequence
from typing import Any

from events.device import NodeObserved
from events.selector import Effect, NodeTerm, Operator, PreferredNodeTerm, Requirement, Taint, Toleration
from events.topology import SliceConstraint, TopologyAssignment, TopologyDomain, TopologyRequest
from projections.topology.domains.room import LeafRoom, LeafUsage, capacity_of
from projections.topology.domains.tree import HOSTNAME, TopologyTree, tree_of
from projections.topology.placement.workload_placement import place_pod_sets
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest, PodSetPlacement

FLAVOR = "tas"


def label(level: str) -> str:
    """The label of a level: `host` is the hostname, others are their own."""
    return HOSTNAME if level == "host" else level


def node(place: str, levels: Sequence[str], found: Any) -> NodeObserved:
    """A node at `rack/host`, with so many CPUs free or with all that is said of it."""
    about: Mapping[str, Any] = found if isinstance(found, Mapping) else {"cpu": found}
    extra = {
        name: amount for name, amount in about.items() if name not in ("labels", "taint", "ready", "unschedulable")
    }
    labels = dict(zip((label(level) for level in levels), place.split("/"), strict=True))
    taint = about.get("taint")
    return NodeObserved(
        name=about.get("name", f"node-{place}"),
        labels={**labels, **about.get("labels", {})},
        taints=(_taint(taint),) if taint else (),
        ready=about.get("ready", True),
        unschedulable=about.get("unschedulable", False),
        allocatable={"pods": 110, **extra},
    )


def nodes(levels: Sequence[str], places: Mapping[str, Any]) -> list[NodeObserved]:
    return [node(place, levels, found) for place, found in places.items()]


def tree_with(levels: Sequence[str], places: Mapping[str, Any]) -> TopologyTree:
    return tree_of("t", [label(level) for level in levels], {}, nodes(levels, places))


def flavor_with(
    levels: Sequence[str], places: Mapping[str, Any], used: Mapping[str, Mapping[str, int]] | None = None
) -> FlavorRoom:
    """What is free on the nodes; `used` is held by leaf."""
    tree, usage = tree_with(levels, places), LeafUsage()
    for leaf, held in (used or {}).items():
        usage.add(leaf, held)
    room = LeafRoom(tree=tree, capacity=capacity_of(tree, nodes(levels, places)), usage=usage.on(FLAVOR, tree))
    return FlavorRoom(room=room)


def topology(asked: Mapping[str, Any]) -> TopologyRequest:
    """`{required: rack, slices: [[host, 2]]}`."""
    return TopologyRequest(
        required=label(asked.get("required", "")),
        preferred=label(asked.get("preferred", "")),
        unconstrained=asked.get("unconstrained"),
        pod_set_group=asked.get("group", ""),
        slices=tuple(SliceConstraint(topology=label(level), size=size) for level, size in asked.get("slices", ())),
    )


def request(name: str = "main", **asked: Any) -> PlacementRequest:
    """So many pods, of a CPU each where nothing else is said."""
    prefers = asked.get("prefers", {})
    return PlacementRequest(
        pod_set=name,
        flavor=asked.get("flavor", FLAVOR),
        count=asked.get("count", 1),
        requests=asked.get("requests", {"cpu": 1}),
        topology=topology(asked),
        node_selector=asked.get("selector", {}),
        node_terms=tuple(NodeTerm(expressions=(_has(key, value),)) for key, value in asked.get("needs", {}).items()),
        preferred_terms=tuple(
            PreferredNodeTerm(weight=weight, term=NodeTerm(expressions=(_has(*one.split("=")),)))
            for one, weight in prefers.items()
        ),
        tolerations=tuple(Toleration(key=key, operator="Exists") for key in asked.get("tolerates", ())),
        previous=asked.get("previous"),
    )


def gates(*on: str, off: Sequence[str] = ()) -> TopologyGates:
    return TopologyGates(**dict.fromkeys(on, True), **dict.fromkeys(off, False))


def placed(
    flavor: FlavorRoom, *requests: PlacementRequest, with_gates: TopologyGates | None = None
) -> dict[str, PodSetPlacement]:
    """What comes of each pod set."""
    found = place_pod_sets({FLAVOR: flavor}, requests, with_gates or TopologyGates())
    return {one.pod_set: one for one in found}


def told(found: PodSetPlacement) -> dict[str, int] | str:
    """Pods by leaf, or why there are none."""
    if found.assignment is None:
        return found.failure
    return {"/".join(domain.values): domain.count for domain in found.assignment.domains}


def hosts(**pods: int) -> TopologyAssignment:
    """So many pods on each host."""
    domains = tuple(TopologyDomain(values=(host,), count=count) for host, count in pods.items())
    return TopologyAssignment(levels=(HOSTNAME,), domains=domains)


def _taint(said: str | Mapping[str, str]) -> Taint:
    """`spot`, or `{key: spot, effect: NoExecute}`."""
    if isinstance(said, str):
        return Taint(key=said, value="yes", effect=Effect.NO_SCHEDULE)
    return Taint(key=said["key"], value="yes", effect=Effect(said["effect"]))


def _has(key: str, value: str) -> Requirement:
    return Requirement(key=key, operator=Operator.IN, values=(value,))
