"""A shortcut: refused workloads that would be refused again for the same reason, known without a search for flavors.

Most waiting workloads are in saturated queues. Whenever quota is released anywhere in a tree, every parked class in it may be
tried again, nearly always with the same answer, which a few comparisons of the plan with the quota tree give.
It never changes a decision: where there is doubt, the search is made.
"""

from collections.abc import Mapping
from enum import Enum

from events.admission import AdmissionRefused, RequeueReason
from events.quota import PreemptionPolicy
from projections.devices.capacity.offer import any_cap
from projections.flavors.mode import lowest_that_fits
from projections.flavors.plan import FlavorOption, GroupPlan, Plan
from projections.flavors.refusal import EXCEEDS_MAX_QUOTA, NO_MATCHING_FLAVOR, WAITING_FOR_QUOTA, reported_reason, worst
from projections.preemption.state import PreemptionState
from projections.quota.columns import Column
from projections.quota.holders import QuotaHolders
from projections.quota.node import Node
from projections.workloads.lifecycle import Workload

_DEPTH = 2
"""A queue and its cohort: with more above them, an ancestor's own quota may give the right to preempt."""


class _Else(Enum):
    BLOCKED = "room would have to be made, and nobody can make it"
    OPEN = "it may fit, or room may be made"


def refused_again(world: PreemptionState, workload: Workload, plan: Plan, node: Node) -> bool:
    """Whether a workload would be refused again, for the same reason as last time; False when in doubt."""
    last = workload.attempt
    if not isinstance(last, AdmissionRefused) or _in_doubt(world, workload, plan, node):
        return False
    (part,) = plan.parts
    failing: dict[str, str] = {}
    blocked = unsure = False
    for group in part.groups:
        outcomes = [_of_option(node, group, option) for option in group.options]
        failed = {
            option.flavor: why for option, why in zip(group.options, outcomes, strict=True) if isinstance(why, str)
        }
        # Which flavors are tried at all depends on how well the open ones serve. One ahead of others may also leave those to be
        # tried next, on record (docs/rules/flavors.md#scan-progress).
        unsure = unsure or (len(outcomes) > 1 and _Else.OPEN in outcomes)
        for flavor, why in failed.items():
            failing[flavor] = worst((why, failing.get(flavor, "")))
        if len(failed) == len(outcomes):
            return not unsure and (last.reason, last.requeue) == (
                reported_reason(plan.queue, failing),
                RequeueReason.NO_FIT,
            )
        blocked = blocked or _Else.OPEN not in outcomes
    if any(plan.by_topology):
        return False  # It may fit on no host by now, however much quota comes back.
    return (
        blocked
        and not unsure
        and (last.reason, last.requeue) == (WAITING_FOR_QUOTA, RequeueReason.PREEMPTION_NO_CANDIDATES)
    )


def _in_doubt(world: PreemptionState, workload: Workload, plan: Plan, node: Node) -> bool:
    """Whether the answer depends on more than the quota of the queue and its cohort."""
    rules = plan.queue.preemption
    if rules.reclaim_within_cohort is not PreemptionPolicy.ANY or world.settings.fair_sharing:
        return True  # It may be a blocked preemptor, for which room is kept (docs/rules/cycle.md#kept-for-blocked).
    within = rules.borrow_within_cohort
    if (within is not None and within.policy is not PreemptionPolicy.NEVER) or len(node.path) > _DEPTH:
        return True
    if len(plan.parts) != 1 or plan.parts[0].uncovered or plan.problem:
        return True
    if any(one.pod_set.minimum is not None for one in plan.asked):
        return True  # It may fit with fewer pods.
    if world.claims or workload.key in world.requests or any_cap(world):
        return True
    return _own_victims(world.holding, workload, plan, node)


def _own_victims(holding: Mapping[str, QuotaHolders], workload: Workload, plan: Plan, node: Node) -> bool:
    """Whether the queue holds anything that its policy might let the workload preempt."""
    policy = plan.queue.preemption.within_cluster_queue
    holders = holding.get(node.name)
    if policy is PreemptionPolicy.NEVER or holders is None:
        return False
    if policy is not PreemptionPolicy.LOWER_PRIORITY:
        return True
    return any(row[0][0] < workload.priority for row in (holders.staying, holders.leaving) if row)


def _of_option(node: Node, group: GroupPlan, option: FlavorOption) -> str | _Else:
    if option.unsuitable:
        return NO_MATCHING_FLAVOR
    blocked = False
    for amount, column in zip(group.amounts, option.columns, strict=True):
        if amount <= node.available(column):
            continue
        if amount > node.potential(column):
            return EXCEEDS_MAX_QUOTA
        if node.nominal[column] < amount and not lowest_that_fits(node, column, amount).more_above:
            return WAITING_FOR_QUOTA
        blocked = blocked or _at_nominal(node, column)
    return _Else.BLOCKED if blocked else _Else.OPEN


def _at_nominal(node: Node, column: Column) -> bool:
    """Whether the queue uses all of its own quota: it could only borrow, and that preempts nobody in the cohort."""
    return node.usage[column] >= node.subtree[column]
