"""Which pods each workload has, as far as it matters: at the gate of their cards, placed by topology, of an elastic job.

Rules: docs/rules/devices.md#own-cards, docs/rules/topology.md#ungating, docs/rules/elastic.md#pods
"""

from events.device import PodObserved
from projections.devices.placement.elastic_pods import forget_elastic_pod, note_elastic_pod
from projections.devices.placement.hanging_pods import forget_hanging_pod, note_hanging_pod
from projections.devices.placement.pod_cards import hold_at_gate, leave_gate
from projections.topology.pods.placed_pods import forget_placed_pod, note_placed_pod
from projections.topology.state import TopologyState


def note_pod(world: TopologyState, pod: PodObserved) -> None:
    """Record whose pod it is. To be called while the table of pods still says what was known of it before."""
    hold_at_gate(world, pod)
    key = f"{pod.namespace}/{pod.name}"
    before = world.pods.get(key)
    if before is not None and before.workload != pod.workload:
        forget_placed_pod(world, key)
        forget_elastic_pod(world, key)
    note_placed_pod(world, pod)
    note_elastic_pod(world, pod)
    note_hanging_pod(world, pod)


def forget_pod(world: TopologyState, key: str) -> None:
    """The pod is gone. To be called while the table of pods still has it."""
    leave_gate(world, key)
    forget_hanging_pod(world, key)
    forget_placed_pod(world, key)
    forget_elastic_pod(world, key)
