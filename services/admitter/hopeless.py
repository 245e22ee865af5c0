"""Refused workloads that would be refused again, and with the same words: told from a few numbers, without a search.

Saturated queues hold most of what waits. Whenever quota comes back anywhere in their tree each of their classes may be
tried again; for nearly all of them the answer is the same at a glance.
"""

from enum import Enum

from events.admission import AdmissionRefused, RequeueReason
from events.quota import PreemptionPolicy
from projections.devices.offer import any_cap
from projections.flavors.mode import lowest_that_fits
from projections.flavors.plan import NO_MATCHING_FLAVOR, FlavorOption, GroupPlan, Plan
from projections.flavors.search import EXCEEDS_MAX_QUOTA, WAITING_FOR_QUOTA, milder, worse
from projections.quota_columns import Column
from projections.quota_node import Node
from projections.workloads import Workload
from projections.world import World

_DEPTH = 2
"""A queue and its cohort: with more above them, an ancestor's own quota may give the right to preempt."""


class _Else(Enum):
    BLOCKED = "room would have to be made, and nobody can make it"
    OPEN = "it may fit, or room may be made"


def hopeless(world: World, workload: Workload, plan: Plan, node: Node) -> bool:
    """Whether a workload that was refused would be so again, for the reason that was told. False when in doubt."""
    last = workload.attempt
    if not isinstance(last, AdmissionRefused) or _in_doubt(world, workload, plan, node):
        return False
    found = [_of_group(node, group) for part in plan.parts for group in part.groups]
    failed = [each for each in found if isinstance(each, str)]
    if failed:
        why = ""
        for each in failed:
            why = worse(why, each)
        return (last.reason, last.requeue) == (why, RequeueReason.NO_FIT)
    blocked = _Else.BLOCKED in found
    return blocked and (last.reason, last.requeue) == (WAITING_FOR_QUOTA, RequeueReason.PREEMPTION_NO_CANDIDATES)


def _in_doubt(world: World, workload: Workload, plan: Plan, node: Node) -> bool:
    """Whether more counts than the quota of a queue and its cohort."""
    rules = plan.queue.preemption
    if rules.reclaim_within_cohort is not PreemptionPolicy.ANY or world.settings.fair_sharing:
        return True  # Another rule may make it a blocked preemptor, for whom room is kept (kueue-semantics §4.2).
    within = rules.borrow_within_cohort
    if (within is not None and within.policy is not PreemptionPolicy.NEVER) or len(node.path) > _DEPTH:
        return True
    if len(plan.parts) != 1 or plan.parts[0].uncovered or plan.problem:
        return True
    if any(one.pod_set.minimum is not None for one in plan.asked):
        return True  # It may fit with fewer pods.
    if world.claims or workload.key in world.requests or any_cap(world):
        return True
    return _own_victims(world, workload, plan, node)


def _own_victims(world: World, workload: Workload, plan: Plan, node: Node) -> bool:
    """Whether the queue holds anything that its policy might let the workload preempt."""
    policy = plan.queue.preemption.within_cluster_queue
    holders = world.holding.get(node.name)
    if policy is PreemptionPolicy.NEVER or holders is None:
        return False
    if policy is not PreemptionPolicy.LOWER_PRIORITY:
        return True
    return any(row[0][0] < workload.priority for row in (holders.staying, holders.leaving) if row)


def _of_group(node: Node, group: GroupPlan) -> str | _Else:
    """The reason why no flavor of a group can serve; else whether one may."""
    found = [_of_option(node, group, option) for option in group.options]
    if _Else.OPEN in found:
        return _Else.OPEN
    reasons = [each for each in found if isinstance(each, str)]
    if len(reasons) < len(found):
        return _Else.BLOCKED
    why = ""
    for each in reasons:
        why = milder(why, each)
    return why or NO_MATCHING_FLAVOR


def _of_option(node: Node, group: GroupPlan, option: FlavorOption) -> str | _Else:
    if option.unsuitable:
        return NO_MATCHING_FLAVOR
    blocked = False
    for amount, column in zip(group.amounts, option.columns, strict=True):
        if amount <= node.available(column):
            continue
        if amount > node.potential(column):
            return EXCEEDS_MAX_QUOTA
        if node.nominal[column] < amount and not lowest_that_fits(node, column, amount)[1]:
            return WAITING_FOR_QUOTA
        blocked = blocked or _at_nominal(node, column)
    return _Else.BLOCKED if blocked else _Else.OPEN


def _at_nominal(node: Node, column: Column) -> bool:
    """Nobody is preempted in the cohort for a queue that would borrow, and this one uses all of its own already."""
    return node.usage[column] >= node.subtree[column]
