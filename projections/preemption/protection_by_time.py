"""The protection that time gives to who is admitted: from when on others have to be asked for room, and until when.

kuelog's own rules: a minimum run time and a cool-down after a preemption (see `PreemptionRules`).
"""

from projections.preemption.state import PreemptionState
from projections.workloads.lifecycle import Workload


def begin_protection(world: PreemptionState, workload: Workload) -> None:
    """Have the tree looked at now, as whoever asked for the workload's room has to ask others, and when its minimum run time and its cool-down are over."""
    if workload.admission is None:
        return
    queue = world.cluster_queues.get(workload.admission.cluster_queue)
    if queue is None:
        return
    rules = queue.preemption
    if rules.minimum_runtime and workload.admitted_at is not None:
        world.quota.note_change(queue.name)
        world.look_again(workload.admitted_at + rules.minimum_runtime, queue.name)
    if rules.cooldown and workload.stops.preempted_at is not None:
        world.look_again(workload.stops.preempted_at + rules.cooldown, queue.name)
