"""The pods of elastic jobs, as they were last seen: which of them run, and which wait for a slice that has room for them.

Rule: docs/rules/elastic.md#pods
"""

from events.device import PodObserved
from projections.devices.holdings.card_holdings import TERMINAL
from projections.devices.state import DeviceState
from projections.workloads.lifecycle import Workload
from projections.workloads.pods import with_room


def note_elastic_pod(world: DeviceState, pod: PodObserved) -> None:
    """Record whose pod it is, if its job is elastic."""
    if pod.elastic and pod.workload:
        world.trail.add(world.elastic_pods, pod.workload, f"{pod.namespace}/{pod.name}")


def forget_elastic_pod(world: DeviceState, key: str) -> None:
    """The pod is gone: another one may have its place."""
    pod = world.pods.get(key)
    if pod is not None and pod.elastic:
        world.trail.take(world.elastic_pods, pod.workload, key)
        if pod.workload in world.workloads:
            world.work.mark_dirty(pod.workload)


def pods_with_room(world: DeviceState, workload: Workload) -> tuple[PodObserved, ...]:
    """The waiting pods of an admitted slice that may run: of each pod set as many as it was admitted for, those first that were told their cards, then by name."""
    if workload.admission is None or not workload.should_run:
        return ()
    pods = [world.pods[key] for key in sorted(world.elastic_pods.get(workload.key, ()))]
    living = [one for one in pods if one.phase not in TERMINAL]
    running = [one for one in living if not one.waits_for_slice]
    told = {one.uid for one in world.pod_cards.get(workload.key, ())}
    waiting = [one for one in living if one.waits_for_slice and not one.terminating]
    waiting.sort(key=lambda one: one.uid not in told)
    return tuple(with_room(workload.admission, running, waiting))
