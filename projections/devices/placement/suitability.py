"""Whether pods of one shape may go to a node at all: ready, labels, affinity, taints."""

from events.device import NodeObserved
from events.pod_set import PodShape
from events.quota import FlavorObserved
from projections.nodes.affinity import first_untolerated, meets

NOT_READY = "not ready"


class NodeSuitability:
    """What a shape and the flavor that was chosen for it ask of nodes, put together once."""

    def __init__(self, shape: PodShape, flavor: FlavorObserved | None) -> None:
        self._labels = {**shape.node_selector, **(flavor.node_labels if flavor is not None else {})}
        self._tolerations = (*shape.tolerations, *(flavor.tolerations if flavor is not None else ()))
        self._terms = shape.node_terms

    def allows(self, node: NodeObserved) -> bool:
        """Whether pods of the shape may go to the node."""
        return not self.refuses(node)

    def refuses(self, node: NodeObserved) -> str:
        """Why pods of the shape may not go to the node; empty if they may."""
        if not node.ready:
            return NOT_READY
        if node.unschedulable:
            return "cordoned"
        for key, value in self._labels.items():
            if node.labels.get(key) != value:
                return f"label {key} is {node.labels.get(key)!r}, not {value!r}"
        if node.taints:
            untolerated = first_untolerated(node.taints, self._tolerations)
            if untolerated is not None:
                return f"taint {untolerated.key} is not tolerated"
        if self._terms and not any(meets(node.name, node.labels, term) for term in self._terms):
            return "node affinity does not match"
        return ""
