"""What a pod shows that is placed by topology: its gate, its domain and its rank."""

from events.api.labels import (
    POD_INDEX_OFFSET,
    PODSET_PREFERRED_TOPOLOGY,
    PODSET_REQUIRED_TOPOLOGY,
    PODSET_UNCONSTRAINED_TOPOLOGY,
    TOPOLOGY_GATE,
    WORKLOAD,
)
from events.api.pods import ApiPod
from events.topology import PodTopology
from events.whole_number import whole_number
from projections.topology.domains.tree import HOSTNAME
from services.watcher.fields.problems import Refused, problem

_MARKS = (PODSET_REQUIRED_TOPOLOGY, PODSET_PREFERRED_TOPOLOGY, PODSET_UNCONSTRAINED_TOPOLOGY)
"""A workload's pods that are placed by topology bear one of them, at the gate and behind it, where queues manage their job."""


def pod_topology(pod: ApiPod) -> PodTopology | None:
    """The topology of a pod; None where it belongs to no workload, or its place is not chosen by topology. Raises `Refused`.

    Rule: docs/rules/topology.md#ungating
    """
    annotations = pod.metadata.annotations or {}
    gated = any(one.name == TOPOLOGY_GATE for one in pod.spec.scheduling_gates or ())
    selector = pod.spec.node_selector or {}
    placed = gated or HOSTNAME in selector or any(name in annotations for name in _MARKS)
    if not annotations.get(WORKLOAD) or not placed:
        return None
    text = annotations.get(POD_INDEX_OFFSET, "0")
    offset = whole_number(text)
    if offset is None:
        field = f"metadata.annotations[{POD_INDEX_OFFSET}]"
        raise Refused([problem(field, f"{text!r} is not a whole number of at least 0", "the first index, e.g. 1")])
    labels = sorted((pod.metadata.labels or {}).items())
    indexes = {name: index for name, value in labels if (index := whole_number(value)) is not None}
    return PodTopology(
        gated=gated,
        node_selector=dict(sorted(selector.items())),
        indexes=indexes,
        index_offset=offset,
    )
