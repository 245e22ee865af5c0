"""A head whose preemption is already requested: while its victims leave and still suffice, nothing is searched again.

Rule: docs/rules/cycle.md#waits-for-victims
"""

from collections.abc import Sequence

from events.admission import Mode, PreemptionRequested, Victim
from projections.flavors.assignment import Assignment, FlavorChoice, PodSetChoice
from projections.flavors.plan import Plan
from projections.preemption.candidates import Candidate, Variant, holder_of_quota
from projections.preemption.classic import discharge, fits_now
from projections.preemption.requested import still_holds
from projections.preemption.state import PreemptionState
from projections.quota.charge_quota import charged_amounts, difference, usage_of
from projections.quota.columns import Usage
from projections.quota.node import Node
from projections.topology.usage import HeldDomains
from services.admitter.cards import cards_once_left, placed_on_cards
from services.admitter.entry import AdmissionEntry

_BY_REASON = {
    one.reason: one
    for one in (Variant.WITHIN_QUEUE, Variant.HIERARCHICAL, Variant.WHILE_BORROWING, Variant.FAIR_SHARING)
}
"""By the reason that a victim was asked to go for, a right that gives it."""


def still_waiting(world: PreemptionState, entry: AdmissionEntry, plan: Plan) -> bool:
    """Whether the open preemption request still holds; the entry then takes its assignment and remaining victims from it.

    It holds while the workload's requests are the same, it does not fit yet, and the victims that have not left suffice. Who waits
    for cards as well keeps those that it will have then, for the rest of the cycle: whoever got them meanwhile would be preempted for it next.
    """
    request = world.requests.get(entry.workload.key)
    node = entry.node
    if request is None or node is None or request.cluster_queue != entry.queue.name:
        return False
    if not _asks_the_same(request, plan):
        return False
    usage = world.quota.columns.numbered(charged_amounts(request.assignments))
    if entry.replaces is not None:
        usage = difference(usage, usage_of(entry.replaces, world.quota.columns))
    victims = _leaving(world, request.victims)
    domains = HeldDomains(world.domains, tuple(one.topology for one in request.assignments if one.topology is not None))
    if not victims or not _fits_without(world, node, usage, victims, domains):
        return False
    entry.victims = victims
    entry.assignment = Assignment(
        pod_sets=[
            PodSetChoice(
                name=one.name,
                count=one.count,
                requests=one.usage,
                flavors={name: FlavorChoice(flavor=flavor, mode=Mode.PREEMPT) for name, flavor in one.flavors.items()},
                reasons=[],
                topology=one.topology,
                delayed=one.delayed_topology,
            )
            for one in request.assignments
        ],
        usage=usage,
        attempts=[],
        borrow=request.borrow_level,
    )
    fits = fits_now(node, usage, borrowing=True)
    if not fits or placed_on_cards(world, entry, plan).reason:
        entry.placements = cards_once_left(world, entry, plan)
    if fits and not entry.placements:
        entry.assignment, entry.victims, entry.placements = None, [], ()
        return False
    return True


def _fits_without(
    world: PreemptionState, node: Node, usage: Usage, victims: Sequence[Candidate], domains: HeldDomains
) -> bool:
    with world.trial():
        for victim in victims:
            discharge(world.trail, victim)
        return fits_now(node, usage, borrowing=True) and domains.fit()


def _asks_the_same(request: PreemptionRequested, plan: Plan) -> bool:
    if [one.name for one in request.assignments] != [one.pod_set.name for one in plan.asked]:
        return False
    return all(
        one.usage == {resource: amount for resource, amount in requests.items() if amount or resource in one.flavors}
        for one, requests in zip(request.assignments, plan.requests, strict=True)
    )


def _leaving(world: PreemptionState, victims: Sequence[Victim]) -> list[Candidate]:
    candidates: list[Candidate] = []
    for victim in victims:
        workload = still_holds(world.workloads, victim)
        if workload is None or workload.admission is None:
            continue
        queue = workload.admission.cluster_queue
        node, usage = world.quota.node(queue), world.holders(queue).usage.get(workload.key)
        if node is not None and usage is not None:
            candidates.append(holder_of_quota(world, node, workload, usage, _BY_REASON[victim.reason]))
    return candidates
