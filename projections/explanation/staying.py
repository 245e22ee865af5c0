"""Why nobody makes room for a workload: the holders of what it lacks, in groups, each with the reason for which it stays."""

from collections.abc import Mapping

from events.admission import Verdict
from events.api.labels import NEVER_PREEMPT
from events.event import Millis
from events.quota import ClusterQueueObserved, PreemptionPolicy
from events.timestamp import format_timestamp
from projections.explanation.words import Staying
from projections.preemption.candidates import CandidateGroups, PreemptionContext, Variant, priority_variant
from projections.preemption.considered import holders_of, verdict_on
from projections.preemption.policy import protected
from projections.preemption.state import PreemptionState
from projections.quota.node import Node
from projections.workloads.lifecycle import Workload

_NAMED = 3
"""So many of a group, and of their queues, are named."""

LEAVING = "Leaving"
BORROWING = "BorrowingForbids"


def staying(world: PreemptionState, context: PreemptionContext) -> tuple[Staying, ...]:
    """Every holder in the tree of what a workload lacks that is not preempted for it, counted by why; groups in the order of the search."""
    groups: dict[tuple[str, bool], list[Workload]] = {}
    hierarchy = () if world.settings.fair_sharing else tuple(CandidateGroups(world, context).hierarchy)
    for workload, node in holders_of(world, context, ()):
        usage = world.holders(node.name).usage[workload.key]
        if workload.key != context.workload.spec.replaces and any(usage.get(column) for column in context.needed):
            reason = _why(world, context, workload, node, hierarchy)
            groups.setdefault((reason, node is context.node), []).append(workload)
    return tuple(_told(world, context, reason, own, found) for (reason, own), found in groups.items())


def _why(
    world: PreemptionState, context: PreemptionContext, workload: Workload, node: Node, hierarchy: tuple[Node, ...]
) -> str:
    if workload.evicted:
        return LEAVING
    verdict = verdict_on(world, context, workload, node, ())
    if verdict is Verdict.PROTECTED:
        return protected(workload, world.cluster_queues.get(node.name), context.at)
    if verdict is Verdict.NOT_ENOUGH and _only_for_no_borrower(world, context, workload, node, hierarchy):
        return BORROWING
    return verdict.value


def _only_for_no_borrower(
    world: PreemptionState, context: PreemptionContext, workload: Workload, node: Node, hierarchy: tuple[Node, ...]
) -> bool:
    """Whether it would go for who stays within its own quota, and the workload would borrow as things stand.

    Rule: docs/rules/preemption.md#borrow-within-cohort
    """
    if world.settings.fair_sharing or node is context.node or node in hierarchy:
        return False
    borrows = any(context.node.borrowing_with(column, amount) for column, amount in context.usage.items())
    return borrows and priority_variant(context, workload) is Variant.WITHOUT_BORROWING


def _told(world: PreemptionState, context: PreemptionContext, reason: str, own: bool, found: list[Workload]) -> Staying:
    queues = sorted({one.admission.cluster_queue for one in found if one.admission is not None})
    until = min((_until(world, one, reason) for one in found), default=0)
    return Staying(
        reason=reason,
        count=len(found),
        cluster_queues=tuple(queues[:_NAMED]),
        workloads=tuple(one.key for one in found[:_NAMED]),
        until=until,
        message=_words(context.queue, reason, own, until, fair=world.settings.fair_sharing),
    )


def _until(world: PreemptionState, workload: Workload, reason: str) -> Millis:
    """When time protects it no longer; 0 where it is not time that does."""
    queue = world.cluster_queues.get(workload.admission.cluster_queue) if workload.admission is not None else None
    if queue is None:
        return 0
    match reason:
        case "MinimumRuntime":
            return (workload.admitted_at or 0) + queue.preemption.minimum_runtime
        case "Cooldown":
            return (workload.stops.preempted_at or 0) + queue.preemption.cooldown
        case _:
            return 0


def _words(queue: ClusterQueueObserved, reason: str, own: bool, until: Millis, *, fair: bool) -> str:
    rules = queue.preemption
    policy = rules.within_cluster_queue if own else rules.reclaim_within_cohort
    field = "withinClusterQueue" if own else "reclaimWithinCohort"
    says = f"spec.preemption.{field} of ClusterQueue {queue.name} is {policy.value}"
    match reason:
        case Verdict.POLICY_FORBIDS:
            return says
        case Verdict.PRIORITY:
            newer = ", nor equal and newer" if policy is PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY else ""
            return f"their priority is not lower{newer} ({says})"
        case "MinimumRuntime" | "Cooldown":
            return f"{_WORDS[reason]}, the first until {format_timestamp(until)}"
        case Verdict.NOT_ENOUGH if fair:
            return "they may be preempted, but not so many that it fits: they hold too little, or the shares of both queues keep them"
        case _ if reason == BORROWING:
            return _WORDS[BORROWING].format(queue=queue.name)
        case _:
            return _WORDS[reason]


_WORDS: Mapping[str, str] = {
    Verdict.WITHIN_NOMINAL: "their ClusterQueue, or a cohort above it, uses no more than its own of it, and only borrowers give back",
    Verdict.INACTIVE: "their ClusterQueue takes nothing in: who runs there runs on",
    Verdict.NOT_ENOUGH: "they may be preempted, but all of them together do not hold enough",
    "NeverPreempt": f"{NEVER_PREEMPT} protects them",
    "MinimumRuntime": "the minimum run time of their ClusterQueue protects them",
    "Cooldown": "they were preempted before, and the cool-down of their ClusterQueue protects them",
    LEAVING: "they have to stop already; what they hold returns when their pods are gone",
    BORROWING: "it would borrow, and they go for nobody who borrows (spec.preemption.borrowWithinCohort of ClusterQueue {queue}); "
    "for what its queue owns they do not hold enough",
}
