"""Queues with a limit on the workloads that hold quota at once: at the limit a workload waits, or preempts in the queue.

Rule: docs/rules/quota.md#max-concurrent (`max_concurrent`, kuelog's own and off by default)
"""

from collections.abc import Sequence

import msgspec

from events.admission import Mode
from events.event import Millis
from events.quota import ClusterQueueObserved
from projections.preemption.candidates import Candidate, Variant, holder_of_quota
from projections.preemption.classic import discharge
from projections.preemption.policy import protected, satisfies_policy
from projections.preemption.state import PreemptionState
from projections.preemption.usage_order import in_order_of_usage
from projections.quota.node import Node
from projections.quota.state import QuotaState
from projections.workloads.lifecycle import Workload
from services.admitter.entry import AdmissionEntry


def workloads_over_limit(world: QuotaState, queue: ClusterQueueObserved) -> int:
    """How many workloads of the queue have to release their quota before another one may hold any; 0 without a limit."""
    if queue.max_concurrent is None:
        return 0
    return max(len(world.holders(queue.name)) - queue.max_concurrent + 1, 0)


def victims_over_limit(world: PreemptionState, entry: AdmissionEntry, at: Millis) -> list[Candidate]:
    """The workloads of the queue that have to release their quota before the entry may hold any; none if too few may go."""
    missing = workloads_over_limit(world, entry.queue)
    going = [] if entry.node is None else _may_go(world, entry.workload, entry.queue, entry.node, at)[:missing]
    return going if len(going) == missing else []


def limit_message(queue: ClusterQueueObserved) -> str:
    """What is said of a workload that is kept by the limit."""
    return f"ClusterQueue {queue.name} already has its maximum of {queue.max_concurrent} workloads"


def discharge_from_queue(world: QuotaState, queue: ClusterQueueObserved, going: Sequence[Candidate]) -> None:
    """Take these holders away from the queue; within a trial."""
    for victim in going:
        discharge(world.trail, victim)
        world.holders(queue.name).remove(world.trail, victim.workload.key)


def add_victims_over_limit(entry: AdmissionEntry, going: Sequence[Candidate]) -> None:
    """Make them victims of an entry that was considered without them, if it found a place."""
    if entry.assignment is None or not (entry.mode is Mode.FIT or entry.victims):
        return
    message = limit_message(entry.queue)
    entry.victims = [*going, *entry.victims]
    for pod_set in entry.assignment.pod_sets:
        pod_set.flavors = {
            resource: msgspec.structs.replace(choice, mode=Mode.PREEMPT) for resource, choice in pod_set.flavors.items()
        }
        pod_set.reasons = [*pod_set.reasons, message]


def _may_go(
    world: PreemptionState, workload: Workload, queue: ClusterQueueObserved, node: Node, at: Millis
) -> list[Candidate]:
    """Workloads of the queue that may go: those leaving already, then those that `withinClusterQueue` lets be preempted."""
    holders = world.holders(queue.name)
    policy = queue.preemption.within_cluster_queue
    leaving = [order[3] for order in holders.leaving]
    staying = [
        order[3]
        for order in in_order_of_usage(world, queue.name, holders.staying, at)
        if satisfies_policy(policy, workload, world.workloads[order[3]], world.settings)
        and not protected(world.workloads[order[3]], queue, at)
    ]
    return [
        holder_of_quota(world, node, world.workloads[key], holders.usage[key], Variant.WITHIN_QUEUE)
        for key in (*leaving, *staying)
    ]
