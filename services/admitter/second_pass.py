"""The second pass: pods of workloads that hold quota get their domains, or others instead of a node that has failed.

Rule: docs/rules/topology.md#second-pass
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from events.admission import SecondPassFailed, TopologyAssigned
from events.catalogue import Decision
from events.event import Millis
from events.quota import PreemptionPolicy
from events.topology import DelayedTopology
from events.workload import PodSetAssignment
from projections.checks.dispatch import runs_elsewhere
from projections.devices.holdings.card_holdings import holding_key
from projections.devices.placement.slice_cards import holds_too_many
from projections.devices.placement.workload_gangs import gangs_of, gets_cards
from projections.preemption.state import PreemptionState
from projections.queues.active_condition import takes_in
from projections.queues.order import priority_then_age, queue_timestamp
from projections.topology.placement.card_places import in_order
from projections.topology.placement.replacement import NodeLoss
from projections.topology.placement.workload_cards import places_instead
from projections.topology.placement.workload_placement import PlacesWithCards, first_failure
from projections.topology.requests.pod_set_request import placement_of, request_of
from projections.topology.requests.topology_request import PlacementRequest, PodSetPlacement
from projections.topology.state import TopologyState
from projections.topology.usage import HeldDomains
from projections.workloads.lifecycle import Admission, Workload
from projections.workloads.pods import is_single_pod
from projections.workloads.second_pass import delay_after, failed_nodes, needs_second_pass
from services.admitter.barriers import barrier_of
from services.admitter.topology import TopologyDemand, domains


def second_passes(world: PreemptionState, trees: Sequence[str], at: Millis) -> Iterator[Decision]:
    """The decisions about all workloads of these trees that need a second pass; new domains count for the rest of the trial."""
    for workload, admission in _in_turn(world, trees):
        if not workload.admitted and runs_elsewhere(world.dispatches, workload.key):
            yield _placed_elsewhere(workload, admission)
        elif workload.second_pass.again_at <= at and not _waits_for_an_end(workload):
            closed = _closed_to(world, workload, admission)
            yield from [_failed(workload, admission, closed, at)] if closed else second_pass(world, workload, at)


def _in_turn(world: PreemptionState, trees: Sequence[str]) -> list[tuple[Workload, Admission]]:
    """Who needs a second pass and holds quota in these trees, in the order in which it would have got that."""
    found, settings, members = list[tuple[Workload, Admission]](), world.settings, set(trees)
    for key in world.second_passes:
        workload = world.workloads.get(key)
        if workload is None or workload.admission is None or not needs_second_pass(workload):
            continue
        if world.quota.root_of(workload.admission.cluster_queue) in members:
            found.append((workload, workload.admission))
    return sorted(found, key=lambda one: priority_then_age(settings, one[0], queue_timestamp(one[0], settings)))


def _closed_to(world: PreemptionState, workload: Workload, admission: Admission) -> str:
    """Why one that is not admitted yet is not looked at in its queue now; empty where it is. Who runs is helped to go on running."""
    queue = world.cluster_queues.get(admission.cluster_queue)
    if queue is None or workload.admitted:
        return ""
    if not takes_in(world, queue.name):
        return f"ClusterQueue {queue.name} is inactive"
    barrier = barrier_of(world.namespaces, workload, queue)
    return "" if barrier is None else barrier[1]


def _placed_elsewhere(workload: Workload, admission: Admission) -> TopologyAssigned:
    """The decision that no domain here is needed: the cluster in which its pods run has placed them.

    Rule: docs/rules/multikueue.md#topology
    """
    assignments = tuple(
        one if one.delayed_topology is None else msgspec.structs.replace(one, delayed_topology=DelayedTopology.READY)
        for one in admission.assignments
    )
    return TopologyAssigned(workload=workload.key, cluster_queue=admission.cluster_queue, assignments=assignments)


def _waits_for_an_end(workload: Workload) -> bool:
    """Whether pods of it are still to end whose cards are held: which of them move is known when these are gone.

    Rule: docs/rules/topology.md#shrunk
    """
    return workload.admitted and holds_too_many(workload)


def second_pass(world: TopologyState, workload: Workload, at: Millis) -> list[Decision]:
    """The decision about one workload; nothing while checks still delay it."""
    admission = workload.admission
    if admission is None:
        return []
    requests = _requests(world, workload, admission.assignments)
    if not requests:
        return []
    found = _places(world, workload, requests)
    placements = found.pod_sets
    failed = first_failure(placements)
    if failed is not None:
        _keep_room(world, workload, admission, requests)
        return [
            _failed(workload, admission, f"couldn't assign flavors to pod set {failed.pod_set}: {failed.failure}", at)
        ]
    assigned = _assigned(admission.assignments, requests, placements)
    _occupy_what_is_new(world, admission.assignments, assigned)
    if found.cards:
        world.cards.propose(workload.key, admission.reservation, found.cards)
    return [
        TopologyAssigned(
            workload=workload.key,
            cluster_queue=admission.cluster_queue,
            assignments=assigned,
            placements=found.cards,
        )
    ]


def _failed(workload: Workload, admission: Admission, message: str, at: Millis) -> SecondPassFailed:
    return SecondPassFailed(
        workload=workload.key,
        cluster_queue=admission.cluster_queue,
        message=message,
        again_at=at + delay_after(workload.second_pass.failures),
    )


def _keep_room(
    world: TopologyState, workload: Workload, admission: Admission, requests: Sequence[PlacementRequest]
) -> None:
    """Hold for the rest of the cycle what pods that have no domains yet would have in a cluster without others.

    Rule: docs/rules/cycle.md#kept-for-blocked
    """
    queue = world.cluster_queues.get(admission.cluster_queue)
    if failed_nodes(workload) or queue is None or queue.preemption.reclaim_within_cohort is PreemptionPolicy.ANY:
        return
    alone = domains(world, _demand(world, workload, requests), empty=True).pod_sets
    if first_failure(alone) is None:
        asked = {one.pod_set: one for one in requests}
        held = (placement_of(asked[one.pod_set], one.assignment) for one in alone if one.assignment is not None)
        HeldDomains(world.domains, tuple(held)).occupy()


def _requests(
    world: TopologyState, workload: Workload, assignments: Sequence[PodSetAssignment]
) -> list[PlacementRequest]:
    """What is to be placed: pod sets on failed nodes with where their pods are, else those that have no domains yet."""
    pod_sets = {one.name: one for one in workload.spec.pod_sets}
    found: list[PlacementRequest] = []
    for one in assignments:
        pod_set = pod_sets.get(one.name)
        if pod_set is None or not one.count or (one.topology is None) is workload.admitted:
            continue
        if one.topology is not None:
            request = request_of(world, workload, pod_set, one.count, one.topology.flavor)
            found.append(msgspec.structs.replace(request, previous=one.topology.assignment))
        elif one.delayed_topology is DelayedTopology.PENDING:
            flavor = next((name for name in sorted(one.flavors.values()) if world.domains.has(name)), "")
            if flavor:
                found.append(request_of(world, workload, pod_set, one.count, flavor))
    return found


def _places(world: TopologyState, workload: Workload, requests: Sequence[PlacementRequest]) -> PlacesWithCards:
    """Where the pods lie, and the cards of all pods of the workload where some of these ask for any."""
    failed = failed_nodes(workload)
    if failed:
        lost = NodeLoss(host=failed[0], pod_owned=is_single_pod(workload))
        return places_instead(world, workload, requests, lost)
    demand = _demand(world, workload, requests)
    found = domains(world, demand)
    if not demand.gangs or workload.admission is None:
        return found
    names = {one.pod_set for one in requests}
    proposed = world.cards.holdings.get(holding_key(workload.key, workload.admission.reservation))
    others = () if proposed is None else tuple(one for one in proposed.placements if one.pod_set not in names)
    order = [one.name for one in workload.spec.pod_sets]
    return PlacesWithCards(pod_sets=found.pod_sets, cards=in_order((*others, *found.cards), order))


def _demand(world: TopologyState, workload: Workload, requests: Sequence[PlacementRequest]) -> TopologyDemand:
    """What pods ask of their topologies, with the cards of those that ask for any."""
    names = {one.pod_set for one in requests}
    gangs = (one for one in gangs_of(world, workload) if one.pod_set.name in names and gets_cards(world, one.pod_set))
    return TopologyDemand(requests=tuple(requests), gangs=tuple(gangs))


def _assigned(
    assignments: Sequence[PodSetAssignment],
    requests: Sequence[PlacementRequest],
    placements: Sequence[PodSetPlacement],
) -> tuple[PodSetAssignment, ...]:
    asked: Mapping[str, PlacementRequest] = {one.pod_set: one for one in requests}
    places = {one.pod_set: one.assignment for one in placements}
    return tuple(
        one
        if (place := places.get(one.name)) is None
        else msgspec.structs.replace(
            one,
            topology=placement_of(asked[one.name], place),
            delayed_topology=None if one.delayed_topology is None else DelayedTopology.READY,
        )
        for one in assignments
    )


def _occupy_what_is_new(
    world: TopologyState, before: Sequence[PodSetAssignment], after: Sequence[PodSetAssignment]
) -> None:
    """Count the new pods of each domain; what is left free is so from the next cycle on."""
    for old, new in zip(before, after, strict=True):
        if new.topology is None or new.topology == old.topology:
            continue
        held = {} if old.topology is None else {one.values: one.count for one in old.topology.assignment.domains}
        more = tuple(
            msgspec.structs.replace(one, count=one.count - held.get(one.values, 0))
            for one in new.topology.assignment.domains
            if one.count > held.get(one.values, 0)
        )
        assignment = msgspec.structs.replace(new.topology.assignment, domains=more)
        HeldDomains(world.domains, (msgspec.structs.replace(new.topology, assignment=assignment),)).occupy()
