"""Which workloads a preemptor considered, and why each was chosen or passed over: the answer to "why not them?".

It is worked out only for recorded decisions, and looks at no more holders than it takes to name some.
"""

from collections.abc import Collection, Iterator
from itertools import chain

import msgspec

from events.admission import Considered, Verdict
from events.quota import PreemptionPolicy
from projections.preemption.candidates import PreemptionContext
from projections.preemption.classic import still_borrows
from projections.preemption.policy import policy_towards, protected, satisfies_policy
from projections.queues.active_condition import takes_in
from projections.queues.state import QueueState
from projections.quota.node import Node
from projections.quota.state import QuotaState
from projections.workloads.lifecycle import Workload

MOST_NAMED = 20
MOST_LOOKED_AT = 200


class ConsideredHolders(msgspec.Struct, frozen=True):
    """Who was considered for preemption."""

    candidates: tuple[Considered, ...] = ()
    """The first holders that use what is needed, those taken first."""
    holders: int = 0
    """How many workloads hold quota in the tree."""


def considered(world: QueueState, context: PreemptionContext, victims: Collection[str]) -> ConsideredHolders:
    """The holders of quota that a preemptor considered, each with the verdict; none where its queue may not preempt."""
    rules, never = context.queue.preemption, PreemptionPolicy.NEVER
    if rules.within_cluster_queue is never and rules.reclaim_within_cohort is never:
        return ConsideredHolders()
    found: list[Considered] = []
    for looked_at, (workload, node) in enumerate(holders_of(world, context, victims)):
        if looked_at >= MOST_LOOKED_AT or len(found) >= MOST_NAMED:
            break
        usage = world.holders(node.name).usage[workload.key]
        if any(usage.get(column) for column in context.needed):
            verdict = verdict_on(world, context, workload, node, victims)
            found.append(Considered(workload=workload.key, cluster_queue=node.name, verdict=verdict))
    holding = world.holding
    in_tree = sum([len(holding[leaf.name].usage) for leaf in context.node.root.leaves() if leaf.name in holding])
    return ConsideredHolders(tuple(found), in_tree)


def holders_of(
    world: QuotaState, context: PreemptionContext, victims: Collection[str]
) -> Iterator[tuple[Workload, Node]]:
    """Those taken; then the holders of the own queue, and of the others by name, in the order of preemption."""
    own_listed = False
    for key in victims:
        workload = world.workloads[key]
        node = None if workload.admission is None else world.quota.node(workload.admission.cluster_queue)
        if node is not None:
            yield workload, node
    taken = set(victims)
    for node in chain((context.node,), context.node.root.leaves()):
        holders = world.holding.get(node.name)
        if holders is None or (node is context.node and own_listed):
            continue
        own_listed = own_listed or node is context.node
        for order in chain(holders.leaving, holders.staying):
            if order[3] not in taken:
                yield world.workloads[order[3]], node


def verdict_on(
    world: QueueState,
    context: PreemptionContext,
    workload: Workload,
    node: Node,
    victims: Collection[str],
) -> Verdict:
    """Why a holder of what is needed was chosen beside these victims, or passed over."""
    if workload.key in victims:
        return Verdict.TAKEN
    policy = policy_towards(context.queue.preemption, own_queue=node is context.node)
    if policy is PreemptionPolicy.NEVER:
        return Verdict.POLICY_FORBIDS
    if not still_borrows(node, context.node.path, context.needed):
        return Verdict.WITHIN_NOMINAL
    if node is not context.node and not takes_in(world, node.name):
        return Verdict.INACTIVE
    if not satisfies_policy(policy, context.workload, workload, world.settings):
        return Verdict.PRIORITY
    if protected(workload, world.cluster_queues.get(node.name), context.at):
        return Verdict.PROTECTED
    return Verdict.NOT_NEEDED if victims else Verdict.NOT_ENOUGH
