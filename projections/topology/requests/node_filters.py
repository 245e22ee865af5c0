"""Which leaves pods may not use at all, and why: taints, node selector, required affinity; and which ones they prefer.

Rule: docs/rules/topology.md#node-filters
"""

from collections.abc import Mapping

import msgspec

from events.selector import NodeTerm, PreferredNodeTerm, Taint, Toleration
from projections.nodes.affinity import first_untolerated, meets
from projections.topology.domains.tree import Leaf, TopologyTree
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest


class NodeFilters(msgspec.Struct, frozen=True, kw_only=True):
    """What pods, the checks that are ready for them and their flavor say about nodes."""

    selector: Mapping[str, str]
    terms: tuple[NodeTerm, ...]
    preferred: tuple[PreferredNodeTerm, ...]
    tolerations: tuple[Toleration, ...]

    def excluded(self, tree: TopologyTree, within: range | None) -> dict[int, str]:
        """The leaves that pods may not use, each with the first thing that rules it out.

        With `within` the leaves outside of that range are ruled out as well. Only where leaves are hosts the nodes
        themselves are looked at.
        """
        found: dict[int, str] = {}
        if tree.by_host:
            self._by_node(tree, found)
        if within is not None:
            for leaf in range(len(tree.leaves)):
                if leaf not in within:
                    found.setdefault(leaf, "topologyDomain")
        return found

    def preferences(self, tree: TopologyTree) -> list[int]:
        """How much pods prefer each leaf: the weights of the terms that its node meets."""
        if not tree.by_host or not self.preferred:
            return [0] * len(tree.leaves)
        return [sum(one.weight for one in self.preferred if _meets(leaf, one.term)) for leaf in tree.leaves]

    def _by_node(self, tree: TopologyTree, found: dict[int, str]) -> None:
        for index in tree.tainted:
            taint = first_untolerated(tree.leaves[index].taints, self.tolerations)
            if taint is not None:
                found[index] = f'taint "{_told(taint)}"'
        if not self.selector and not self.terms:
            return
        wanted = self.selector.items()
        for index, leaf in enumerate(tree.leaves):
            if index in found:
                continue
            if wanted and any(leaf.labels.get(key) != value for key, value in wanted):
                found[index] = "nodeSelector"
            elif self.terms and not any(_meets(leaf, term) for term in self.terms):
                found[index] = "affinity"


class NodeLabelConflict(msgspec.Struct, frozen=True):
    """A check wants a node label of pods that is set otherwise already."""

    failure: str


def node_filters(request: PlacementRequest, flavor: FlavorRoom) -> NodeFilters | NodeLabelConflict:
    """What is asked of nodes for a pod set, or what its checks disagree about."""
    selector = dict(request.node_selector)
    tolerations = list(request.tolerations)
    for update in request.updates:
        for key, value in sorted(update.node_selector.items()):
            if selector.setdefault(key, value) != value:
                why = f"conflict for key={key}, value1={selector[key]}, value2={value}"
                told = f"invalid podSetUpdate for PodSet {request.pod_set}, error: "
                return NodeLabelConflict(
                    f"{told}invalid admission check PodSetUpdate: conflict for nodeSelector: {why}"
                )
        tolerations.extend(update.tolerations)
    return NodeFilters(
        selector=selector,
        terms=request.node_terms,
        preferred=request.preferred_terms,
        tolerations=(*tolerations, *flavor.tolerations),
    )


def _meets(leaf: Leaf, term: NodeTerm) -> bool:
    return bool(term.expressions or term.fields) and meets(leaf.node, leaf.labels, term)


def _told(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
