"""Refused workloads that can't have become admissible: told from a few numbers, so that nothing has to be searched.

Saturated queues hold most of what waits. Whenever quota comes back anywhere in their tree each of their classes may be
tried again; for nearly all of them the answer is the same at a glance.
"""

from events.quota import PreemptionPolicy
from projections.flavors.plan import FlavorOption, GroupPlan, Plan
from projections.quota_columns import Column
from projections.quota_node import Node
from projections.workloads import Workload
from projections.world import World

_DEPTH = 2
"""A queue and its cohort: with more above them, an ancestor's own quota may give the right to preempt."""


def hopeless(world: World, workload: Workload, plan: Plan, node: Node) -> bool:
    """Whether some resource group has no flavor that fits or that room could be made on. False when in doubt."""
    rules = plan.queue.preemption
    if rules.reclaim_within_cohort is not PreemptionPolicy.ANY or world.settings.fair_sharing:
        return False  # Another rule may make it a blocked preemptor, for whom room is kept (kueue-semantics §4.2).
    within = rules.borrow_within_cohort
    if (within is not None and within.policy is not PreemptionPolicy.NEVER) or len(node.path) > _DEPTH:
        return False
    own = _own_victims(world, workload, plan, node)
    return not own and any(_blocked(node, group) for part in plan.parts for group in part.groups)


def _own_victims(world: World, workload: Workload, plan: Plan, node: Node) -> bool:
    """Whether the queue holds anything that its policy might let the workload preempt."""
    policy = plan.queue.preemption.within_cluster_queue
    holders = world.holding.get(node.name)
    if policy is PreemptionPolicy.NEVER or holders is None:
        return False
    if policy is not PreemptionPolicy.LOWER_PRIORITY:
        return True
    return any(row[0][0] < workload.priority for row in (holders.staying, holders.leaving) if row)


def _blocked(node: Node, group: GroupPlan) -> bool:
    return all(_barred(node, group, option) for option in group.options)


def _barred(node: Node, group: GroupPlan, option: FlavorOption) -> bool:
    if option.unsuitable:
        return True
    return any(
        amount > node.available(column) and _at_nominal(node, column)
        for amount, column in zip(group.amounts, option.columns, strict=True)
    )


def _at_nominal(node: Node, column: Column) -> bool:
    """Nobody is preempted in the cohort for a queue that would borrow, and this one uses all of its own already."""
    return node.usage[column] >= node.subtree[column]
