"""Whether pods of one shape may go to a node at all: ready, labels, affinity, taints."""

from events.device import NodeObserved
from events.pod_set import PodShape
from events.quota import FlavorObserved
from events.selector import Effect
from projections.flavors.affinity import first_untolerated, satisfies


class Suitability:
    """What a shape and the flavor that was chosen for it ask of nodes, put together once."""

    def __init__(self, shape: PodShape, flavor: FlavorObserved | None) -> None:
        self._labels = {**shape.node_selector, **(flavor.node_labels if flavor is not None else {})}
        self._tolerations = (*shape.tolerations, *(flavor.tolerations if flavor is not None else ()))
        self._terms = shape.node_terms

    def allows(self, node: NodeObserved) -> bool:
        """Whether the node will do."""
        if not node.ready or node.unschedulable:
            return False
        if any(node.labels.get(key) != value for key, value in self._labels.items()):
            return False
        if node.taints:
            taints = tuple(taint for taint in node.taints if taint.effect is not Effect.PREFER_NO_SCHEDULE)
            if first_untolerated(taints, self._tolerations) is not None:
                return False
        return not self._terms or any(
            all(satisfies(node.labels, requirement) for requirement in term.expressions) for term in self._terms
        )
