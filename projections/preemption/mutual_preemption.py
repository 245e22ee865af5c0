"""Whether a victim of fair sharing could come back and preempt the one that it made room for (docs/decisions/0005).

If it could, the two would preempt each other without end: Kueue's rules look at each victim in its turn
(docs/rules/fair-sharing.md#no-return), not at what is left when all of them are gone and some were given back.
"""

from collections.abc import Sequence

from events.quota import PreemptionPolicy
from events.settings import FairStrategy
from projections.fair_sharing.share import Share, share_of
from projections.feature_gates import enabled
from projections.preemption.candidates import Candidate, PreemptionContext
from projections.preemption.classic import charge
from projections.preemption.policy import satisfies_policy
from projections.quota.node import Node
from projections.world import World


def may_come_back(world: World, context: PreemptionContext, victims: Sequence[Candidate]) -> list[Candidate]:
    """Those chosen by share that could take the place back, as the tree stands: the preemptor charged, all victims taken away."""
    return [one for one in victims if by_share(context, one) and _may_take_back(world, context, one)]


def by_share(context: PreemptionContext, victim: Candidate) -> bool:
    """Whether the victim was not chosen by a right that the preemptor has whatever the shares are."""
    return victim.variant is victim.variant.FAIR_SHARING and victim.node is not context.node


def _may_take_back(world: World, context: PreemptionContext, victim: Candidate) -> bool:
    columns = [column for column in victim.usage if column in context.usage]
    queue = world.cluster_queues.get(victim.node.name)
    policy = queue.preemption.reclaim_within_cohort if queue is not None else PreemptionPolicy.NEVER
    if context.node.within_nominal(columns) or not satisfies_policy(
        policy, victim.workload, context.workload, world.settings
    ):
        return False
    names = world.quota.columns.names
    with world.trial():
        charge(world, victim.node, victim.usage)
        entitled = enabled(world.settings, "FairSharingPreemptWithinNominal") and victim.node.within_nominal(columns)
        asker, returned = sides(context.node, victim.node)
        theirs, mine = share_of(returned, names), share_of(asker, names)
        for column, amount in context.usage.items():
            context.node.discharge(world.trail, column, amount)
        rest = share_of(asker, names)
    return entitled or any(_lets_preempt(rule, theirs, mine, rest) for rule in world.settings.fair_strategies)


def _lets_preempt(rule: FairStrategy, preemptor: Share, before: Share, after: Share) -> bool:
    match rule:
        case FairStrategy.LESS_THAN_INITIAL_SHARE:
            return preemptor < before
        case FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE:
            return preemptor <= after


def sides(preemptor: Node, target: Node) -> tuple[Node, Node]:
    """The children of the lowest common ancestor of two queues, on the way to each ("almost LCA")."""
    mine, theirs = preemptor.path, target.path
    depth = 1
    while mine[-depth - 1] is theirs[-depth - 1]:
        depth += 1
    return mine[-depth - 1], theirs[-depth - 1]
