"""Whom the policies of a queue let a workload preempt, and which workloads are protected (docs/rules/preemption.md#within-queue)."""

from events.event import Millis
from events.quota import ClusterQueueObserved, PreemptionPolicy, PreemptionRules
from events.settings import SettingsObserved
from projections.queues.order import queue_timestamp
from projections.workloads.lifecycle import Workload


def policy_towards(rules: PreemptionRules, *, own_queue: bool) -> PreemptionPolicy:
    """Which policy says whom a workload may preempt: `withinClusterQueue` in its own queue, `reclaimWithinCohort` in all others.

    Rule: docs/rules/preemption.md#reclaim
    """
    return rules.within_cluster_queue if own_queue else rules.reclaim_within_cohort


def satisfies_policy(
    policy: PreemptionPolicy, preemptor: Workload, candidate: Workload, settings: SettingsObserved
) -> bool:
    """Whether the candidate may be preempted under the policy."""
    match policy:
        case PreemptionPolicy.NEVER:
            return False
        case PreemptionPolicy.ANY:
            return True
        case PreemptionPolicy.LOWER_PRIORITY:
            return preemptor.priority > candidate.priority
        case PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY:
            if preemptor.priority != candidate.priority:
                return preemptor.priority > candidate.priority
            return queue_timestamp(preemptor, settings) < queue_timestamp(candidate, settings)


def may_go_for_a_borrower(rules: PreemptionRules, preemptor: Workload, candidate: Workload) -> bool:
    """Whether a workload of another queue may go for one that ends up borrowing: `borrowWithinCohort`, up to `maxPriorityThreshold`.

    Rule: docs/rules/preemption.md#borrow-within-cohort
    """
    rule = rules.borrow_within_cohort
    if rule is None or rule.policy is PreemptionPolicy.NEVER or candidate.priority >= preemptor.priority:
        return False
    return rule.max_priority_threshold is None or candidate.priority <= rule.max_priority_threshold


def protected(candidate: Workload, queue: ClusterQueueObserved | None, at: Millis) -> str:
    """Why the candidate may not be preempted now, though the policy would let it; empty when it may be.

    kuelog's own protections, all off by default: a mark on the workload (where its queue heeds such marks), a minimum run time, a cool-down. Time protects nobody
    who has been told to go already.
    """
    if candidate.spec.never_preempt and (queue is None or not queue.preemption.marks_ignored):
        return "NeverPreempt"
    if queue is None or candidate.evicted:
        return ""
    rules = queue.preemption
    if (
        rules.minimum_runtime
        and candidate.admitted_at is not None
        and at < candidate.admitted_at + rules.minimum_runtime
    ):
        return "MinimumRuntime"
    if (
        rules.cooldown
        and candidate.stops.preempted_at is not None
        and at < candidate.stops.preempted_at + rules.cooldown
    ):
        return "Cooldown"
    return ""
