"""Which local queue a workload belongs to: while it holds quota the one through which it got that, whatever its job names meanwhile.

Rule: docs/rules/objects.md#immutable
"""

from msgspec.structs import replace

from events.workload import WorkloadSpec
from projections.sorted_keys import SortedKeys
from projections.workloads.lifecycle import Workload
from projections.workloads.state import WorkloadState


def index(world: WorkloadState, workload: Workload) -> None:
    """Put a workload among those of its local queue."""
    if workload.local_queue not in world.by_local_queue:
        world.trail.put(world.by_local_queue, workload.local_queue, SortedKeys())
    world.by_local_queue[workload.local_queue].add(world.trail, workload.key)


def unindex(world: WorkloadState, workload: Workload) -> None:
    """Take a workload from among those of its local queue."""
    keys = world.by_local_queue.get(workload.local_queue)
    if keys is not None:
        keys.remove(world.trail, workload.key)
        if not keys:
            # Whoever submits jobs names queues that there may never be: nothing is kept of them.
            world.trail.drop(world.by_local_queue, workload.local_queue)


def with_spec(workload: Workload, spec: WorkloadSpec) -> Workload:
    """The workload as it asks for something else; of another queue it is noted as long as it holds quota."""
    admission = workload.admission
    if admission is None:
        return replace(workload, spec=spec)
    queue = workload.spec.queue
    named = "" if spec.queue == queue else spec.queue
    if named != admission.next_queue:
        admission = replace(admission, next_queue=named)
    return replace(workload, spec=replace(spec, queue=queue), admission=admission)


def in_next_queue(world: WorkloadState, workload: Workload) -> Workload:
    """A workload that loses its quota, in the queue that its job names by now."""
    if workload.admission is None or not workload.admission.next_queue:
        return workload
    unindex(world, workload)
    moved = replace(workload, spec=replace(workload.spec, queue=workload.admission.next_queue))
    index(world, moved)
    return moved
