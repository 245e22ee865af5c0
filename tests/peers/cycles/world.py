"""What a cycle begins with: objects, feature gates, and whether shares are fair."""

import msgspec

from events.json_object import JsonObject

LABEL, TAINT = "example.com/kind", "example.com/only"
"""What flavors say of their nodes, and what keeps pods off them."""
NAME = "kubernetes.io/metadata.name"
"""The label by which namespaces are selected."""
NOW = "2026-01-01T12:00:00Z"
FAIR, STOPPED, ELASTIC, PARTIAL, GATED, OTHER_GATES, ZERO = (
    "fair",
    "stopped",
    "elastic",
    "partial",
    "gates",
    "gates-off",
    "zero",
)
SELECTED, NAMESPACES, LINES, GIVEN_BACK = "flavors", "namespaces", "lines", "reclaimable"
PLACED, SLICED, LAYERS, BALANCED, TOGETHER, FAILED = "topology", "slices", "layers", "balanced", "groups", "failed"
WITHOUT_NODES = {
    FAIR: "fair sharing, by any of its strategies",
    STOPPED: "queues that are held or drained",
    ELASTIC: "elastic jobs, of which some wait for a larger slice",
    PARTIAL: "pod sets with minCount",
    GATED: "workloads with a preemption gate",
    OTHER_GATES: "feature gates that are on by default and off here",
    ZERO: "quotas, limits and requests of 0",
    SELECTED: "flavors with labels and taints, pods that select and tolerate them",
    NAMESPACES: "namespace selectors of which some do not match",
    LINES: "several that wait in a queue, after evictions, and some until a moment to come",
    GIVEN_BACK: "pods that are done and have given back their quota",
}
"""What a world may have beside queues, nested cohorts, limits, priorities, preemption policies and evictions under way."""
ON_NODES = {
    PLACED: "pods that are placed by topology, on nodes of which some are full, tainted or not ready",
    SLICED: "with a topology: slices of pods",
    LAYERS: "with a topology: slices within slices",
    BALANCED: "with a topology: pods spread evenly",
    TOGETHER: "with a topology: leaders placed with their workers",
    FAILED: "with a topology: hosts that have failed under those who run",
}
"""What it may have besides."""
FEATURES = {**WITHOUT_NODES, **ON_NODES}


class World(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Small enough to be understood when both decide differently about it."""

    seed: int
    features: tuple[str, ...]
    now: str = NOW
    strategies: tuple[str, ...] | None
    gates: dict[str, bool]
    namespaces: tuple[JsonObject, ...]
    flavors: tuple[JsonObject, ...]
    cluster_queues: tuple[JsonObject, ...]
    cohorts: tuple[JsonObject, ...]
    local_queues: tuple[JsonObject, ...]
    workloads: tuple[JsonObject, ...]
    topologies: tuple[JsonObject, ...] = ()
    nodes: tuple[JsonObject, ...] = ()
    pods: tuple[JsonObject, ...] = ()
    fair: bool = False

    def has(self, feature: str) -> bool:
        """Whether it was drawn with that."""
        return feature in self.features
