"""What the queue manager decides: who is in line, who is parked, who has to stop, when quota is free again."""

from events.catalogue import Decision
from events.event import Millis
from events.workload import WorkloadParked, WorkloadWoken
from projections.flavors.affinity import selects
from projections.world import World
from services.queue_manager.eviction import decide_holding
from services.queue_manager.lining_up import decide_waiting

MOST_EVENTS = 200


class QueueManager:
    """Decides where workloads wait and when time or a stop ends their turn."""

    name = "queue-manager"

    def decide(self, world: World, at: Millis) -> list[Decision]:
        """One look at every workload that is up for review, then at parked ones that may be helped."""
        events: list[Decision] = []
        for key in sorted(world.review):
            workload = world.workloads.get(key)
            if workload is None or workload.finished:
                continue
            if workload.reserved:
                events.extend(decide_holding(world, workload, at))
            else:
                events.extend(decide_waiting(world, workload, at))
            if len(events) >= MOST_EVENTS:
                return events
        touched = {event.workload for event in events if isinstance(event, WorkloadParked)}
        for cluster_queue in sorted(world.wakes):
            woken = _woken(world, cluster_queue, at, touched)
            if woken:
                events.append(
                    WorkloadWoken(cluster_queue=cluster_queue, workloads=woken, cause=world.wakes[cluster_queue])
                )
        return events


def _woken(world: World, cluster_queue: str, at: Millis, touched: set[str]) -> tuple[str, ...]:
    """The parked workloads of a queue that may be tried again (kueue-semantics §3.8)."""
    queue = world.cluster_queues.get(cluster_queue)
    if queue is None:
        return ()
    found: list[str] = []
    for key in sorted(world.lines.of(cluster_queue).parked):
        workload = world.workloads.get(key)
        if workload is None or key in touched or world.cluster_queue_of(workload) is not queue:
            continue
        if decide_waiting(world, workload, at):
            continue  # Something else has to happen to it first.
        if workload.requeue.at is not None and workload.requeue.at > at:
            continue
        namespace = world.namespaces.get(workload.namespace)
        if not selects(queue.namespaces, namespace.labels if namespace is not None else {}):
            continue
        if workload.spec.active and not workload.spec.gated_by and not workload.spec.on_hold:
            found.append(key)
    return tuple(found)
