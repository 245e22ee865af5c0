"""Whether a victim of fair sharing could come back and preempt the one that it made room for (docs/decisions/0005).

If it could, the two would preempt each other without end: Kueue's rules look at each victim in its turn
(docs/rules/fair-sharing.md#no-return), not at what is left when all of them are gone and some were given back.
"""

from collections.abc import Sequence

import msgspec

from events.quota import PreemptionPolicy
from projections.fair_sharing.share import share_of
from projections.feature_gates import enabled
from projections.preemption.candidates import Candidate, PreemptionContext
from projections.preemption.classic import charge
from projections.preemption.fair_strategy import (
    PreemptorNewShare,
    TargetNewShare,
    TargetOldShare,
    allowed_by_strategy,
)
from projections.preemption.policy import satisfies_policy
from projections.quota.node import Node
from projections.quota.state import QuotaState


def may_come_back(world: QuotaState, context: PreemptionContext, victims: Sequence[Candidate]) -> list[Candidate]:
    """Those chosen by share that could take the place back, as the tree stands: the preemptor charged, all victims taken away."""
    return [one for one in victims if by_share(context, one) and _may_take_back(world, context, one)]


def by_share(context: PreemptionContext, victim: Candidate) -> bool:
    """Whether the victim was not chosen by a right that the preemptor has whatever the shares are."""
    return victim.variant is victim.variant.FAIR_SHARING and victim.node is not context.node


def _may_take_back(world: QuotaState, context: PreemptionContext, victim: Candidate) -> bool:
    columns = [column for column in victim.usage if column in context.usage]
    queue = world.cluster_queues.get(victim.node.name)
    policy = queue.preemption.reclaim_within_cohort if queue is not None else PreemptionPolicy.NEVER
    if context.node.within_nominal(columns) or not satisfies_policy(
        policy, victim.workload, context.workload, world.settings
    ):
        return False
    names = world.quota.columns.names
    with world.trial():
        charge(world.trail, victim.node, victim.usage)
        entitled = enabled(world.settings, "FairSharingPreemptWithinNominal") and victim.node.within_nominal(columns)
        # The victim would ask now, and the workload that it made room for would be its candidate.
        below = sides(context.node, victim.node)
        victim_new = PreemptorNewShare(share_of(below.target, names))
        holder_old = TargetOldShare(share_of(below.preemptor, names))
        for column, amount in context.usage.items():
            context.node.discharge(world.trail, column, amount)
        holder_new = TargetNewShare(share_of(below.preemptor, names))
    return entitled or any(
        allowed_by_strategy(strategy, victim_new, holder_old, lambda: holder_new)
        for strategy in world.settings.fair_strategies
    )


class Sides(msgspec.Struct, frozen=True, gc=False):
    """The children of the lowest common ancestor of two queues, on the way to each (Kueue: almost LCA)."""

    preemptor: Node
    target: Node


def sides(preemptor: Node, target: Node) -> Sides:
    """Where the paths of two queues part."""
    mine, theirs = preemptor.path, target.path
    depth = 1
    while mine[-depth - 1] is theirs[-depth - 1]:
        depth += 1
    return Sides(mine[-depth - 1], theirs[-depth - 1])
