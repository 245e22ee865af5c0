"""When workloads lose the protection that time gives them, so that somebody may preempt them after all.

kuelog's own rules: a minimum run time and a cool-down after a preemption (see `PreemptionRules`).
"""

from projections.preemption.state import PreemptionState
from projections.workloads.lifecycle import Workload


def schedule_protection_expiry(world: PreemptionState, workload: Workload) -> None:
    """Have the tree looked at when the workload's minimum run time and its cool-down are over, and now: whoever asked for its room has to ask others."""
    if workload.admission is None:
        return
    queue = world.cluster_queues.get(workload.admission.cluster_queue)
    if queue is None:
        return
    rules = queue.preemption
    if rules.minimum_runtime and workload.admitted_at is not None:
        world.quota.touch(queue.name)
        world.look_again(workload.admitted_at + rules.minimum_runtime, queue.name)
    if rules.cooldown and workload.stops.preempted_at is not None:
        world.look_again(workload.stops.preempted_at + rules.cooldown, queue.name)
