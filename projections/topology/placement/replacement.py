"""Another node for the pods of a failed one; the pods on other nodes stay where they are.

Rule: docs/rules/topology.md#node-replacement
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from events.topology import SliceConstraint, TopologyDomain, TopologyRequest
from projections.topology.domains.assigned_leaves import assignment_of, leaves_of, merged
from projections.topology.domains.tree import TopologyTree
from projections.topology.placement.card_places import CardPlaces, place_group_with_cards
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.level_parameters import asks_for_slices_only
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest, PodSetPlacement
from projections.topology.search.group_placement import Group, Unplaced


class NodeLoss(msgspec.Struct, frozen=True, kw_only=True):
    """The node on which pods can't stay, and whether all belong to a single pod that nobody would make anew."""

    host: str
    pod_owned: bool = False


class Replaced(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a pod set, and where it holds more than before: pods by leaf."""

    placement: PodSetPlacement
    added: dict[int, int] = {}


def replace_in_pod_set(
    flavor: FlavorRoom,
    request: PlacementRequest,
    lost: NodeLoss,
    gates: TopologyGates,
    cards: CardPlaces | None,
) -> Replaced:
    """Where the pods of a pod set are without the node; its places as they are where it has none there.

    With `cards` the pods that move get others, if they ask for some.
    """
    tree, previous = flavor.room.tree, request.previous
    domains = () if previous is None else previous.domains
    rest = [domain for domain in domains if domain.values[-1] != lost.host]
    missing = sum(domain.count for domain in domains) - sum(domain.count for domain in rest)
    if not missing or (lost.pod_owned and gates.keep_pod_owned):
        return Replaced(placement=PodSetPlacement(pod_set=request.pod_set, assignment=previous))
    kept = leaves_of(tree, rest)
    if isinstance(kept, TopologyDomain):
        return _failed(
            request,
            "Cannot replace the node, because the existing topologyAssignment is invalid, "
            f"as it contains the stale domain {kept.values[0]}",
        )
    topology = request.topology
    region = required_region(tree, topology, kept, missing)
    if region is not None:
        topology = _fitting_layer(topology, missing)
    moved = replace(request, topology=topology, count=missing)
    added = place_group_with_cards(flavor, Group(workers=moved), gates, cards, region)
    if isinstance(added, Unplaced):
        return _failed(request, added.failure)
    if not added.workers:
        return _failed(request, f"cannot find replacement assignment for unhealthy node: {lost.host}")
    assignment = assignment_of(tree, merged(kept, added.workers))
    return Replaced(placement=PodSetPlacement(pod_set=request.pod_set, assignment=assignment), added=added.workers)


def required_region(
    tree: TopologyTree, topology: TopologyRequest, kept: Mapping[int, int], missing: int
) -> range | None:
    """The leaves among which the pods have to stay: where a slice has lost some of its own, or the required domain.

    None where they may go anywhere.
    """
    layers = topology.slices
    if not kept or (layers and layers[0].size <= 0):
        return None
    if layers and missing % layers[0].size:
        broken = next((layer for layer in reversed(layers) if layer.size > 0 and missing % layer.size), layers[0])
        level = tree.level_of(broken.topology)
        return None if level is None else _incomplete(tree, level, broken, kept, missing)
    level = tree.level_of(topology.required) if topology.required else None
    return None if level is None else _leaves_in(tree, tree.ancestor(next(iter(kept)), level), level)


def _incomplete(
    tree: TopologyTree, level: int, layer: SliceConstraint, kept: Mapping[int, int], missing: int
) -> range | None:
    """The domain whose slices would be whole again with the missing pods."""
    pods: dict[int, int] = {}
    for leaf, count in kept.items():
        domain = tree.ancestor(leaf, level)
        pods[domain] = pods.get(domain, 0) + count
    found = next((domain for domain, count in pods.items() if (count + missing) % layer.size == 0), None)
    return None if found is None else _leaves_in(tree, found, level)


def _leaves_in(tree: TopologyTree, domain: int, level: int) -> range:
    return tree.descendants(domain, level, tree.lowest)


def _fitting_layer(topology: TopologyRequest, missing: int) -> TopologyRequest:
    """The request with one layer at most: the innermost whose slices the missing pods make up, else none."""
    if not topology.slices or missing % topology.slices[0].size == 0:
        return topology
    fitting: Sequence[SliceConstraint] = [layer for layer in topology.slices if missing % layer.size == 0]
    anywhere = topology.unconstrained or (not fitting and asks_for_slices_only(topology)) or None
    return replace(topology, slices=tuple(fitting[-1:]), unconstrained=anywhere)


def _failed(request: PlacementRequest, failure: str) -> Replaced:
    return Replaced(placement=PodSetPlacement(pod_set=request.pod_set, failure=failure))
