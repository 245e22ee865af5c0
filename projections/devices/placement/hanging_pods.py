"""Pods that hang while they are being deleted, on a node out of reach: which of them are ended by force, and when.

Rule: docs/rules/eviction.md#failure-recovery
"""

from events.device import PodObserved
from events.event import Millis
from projections.devices.holdings.card_holdings import TERMINAL
from projections.devices.state import DeviceState
from projections.feature_gates import enabled
from projections.workloads.lifecycle import Workload

UNREACHABLE = "node.kubernetes.io/unreachable"
"""The taint of a node that the control plane can't reach."""
GRACE: Millis = 60_000
"""So long it is waited for beyond the pod's own grace period."""


def note_hanging_pod(world: DeviceState, pod: PodObserved) -> None:
    """Record whether a pod may come to be ended by force, and have its workload looked at then."""
    key = f"{pod.namespace}/{pod.name}"
    due = forced_from(pod)
    if due is not None:
        world.trail.put(world.hanging_pods, key, None)
        world.review_at(due, pod.workload)
    else:
        world.trail.drop(world.hanging_pods, key)
    forced = world.forced_pods.get(key)
    if forced is not None and forced.uid != pod.uid:
        world.trail.drop(world.forced_pods, key)


def forget_hanging_pod(world: DeviceState, key: str) -> None:
    """The pod is gone, whoever has ended it: nothing is left to be done."""
    world.trail.drop(world.hanging_pods, key)
    world.trail.drop(world.forced_pods, key)


def forced_from(pod: PodObserved) -> Millis | None:
    """From when on a pod is ended by force if its node is out of reach; None for one that is not."""
    return pod.gone_by + GRACE if _may_hang(pod) else None


def hanging_pod(world: DeviceState, workload: Workload, at: Millis) -> PodObserved | None:
    """The first pod of a workload that is to be ended by force."""
    if not world.hanging_pods or not enabled(world.settings, "FailureRecoveryPolicy"):
        return None
    for key in sorted(world.hanging_pods):
        pod = world.pods[key]
        due = forced_from(pod)
        out_of_reach = (node := world.nodes.get(pod.node)) is not None and any(
            one.key == UNREACHABLE for one in node.taints
        )
        due_now = due is not None and at >= due and key not in world.forced_pods
        if pod.workload == workload.key and due_now and out_of_reach:
            return pod
    return None


def workloads_hanging_on(world: DeviceState, node: str) -> set[str]:
    """The workloads of pods that hang on a node."""
    return {pod.workload for key in world.hanging_pods if (pod := world.pods[key]).node == node}


def _may_hang(pod: PodObserved) -> bool:
    return pod.forcible and bool(pod.node and pod.workload) and pod.phase not in TERMINAL
