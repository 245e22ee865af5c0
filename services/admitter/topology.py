"""The domains of an entry's pods: where those that are placed by topology lie, beside the flavors they get.

Rule: docs/rules/topology.md#cycle
"""

from collections.abc import Mapping, Sequence

import msgspec

from events.admission import FlavorAttempt, Mode
from events.amount import Requests
from events.api.check_controllers import MULTIKUEUE, PROVISIONING
from events.pod_set import PodSet
from events.quota import ClusterQueueObserved
from events.topology import DelayedTopology, TopologyAssignment
from projections.configuration import Configuration
from projections.devices.placement.gang import WAITING_FOR_CARDS, Gang
from projections.devices.placement.workload_gangs import gang_of, gets_cards
from projections.feature_gates import enabled
from projections.flavors.assignment import Assignment, PodSetChoice
from projections.flavors.plan import Plan
from projections.flavors.refusal import PLACEMENT_FAILED
from projections.preemption.card_victims import vacate_leavers
from projections.preemption.classic import discharge
from projections.topology.placement.nearest import NearestDomains, nearest_domains
from projections.topology.placement.workload_cards import ledger_of, where_cards_stay
from projections.topology.placement.workload_placement import (
    NO_TOPOLOGY,
    PlacesWithCards,
    first_failure,
    place_pod_sets,
    place_with_cards,
)
from projections.topology.requests.gates import topology_gates
from projections.topology.requests.pod_set_request import placement_of, request_of
from projections.topology.requests.topology_request import PlacementRequest, PodSetPlacement
from projections.topology.state import TopologyState
from projections.topology.usage import HeldDomains
from projections.workloads.lifecycle import Workload
from projections.workloads.slices import ELASTIC_JOBS, replaced_in
from services.admitter.entry import AdmissionEntry

COMING_BACK = "Its cards are on their way back"

NO_TOPOLOGY_IN_QUEUE = "workload requires Topology, but there is no TAS cache information"
ELASTIC_WITH_CARDS = "pods of an elastic job that stay have no cards on the hosts on which they are placed"
ELASTIC_OFF = (
    "more pods of an elastic job are placed by topology only with the gate ElasticJobsViaWorkloadSlicesWithTAS"
)


class TopologyDemand(msgspec.Struct, frozen=True, kw_only=True):
    """What an entry asks of the topologies of the flavors that were chosen for it."""

    requests: tuple[PlacementRequest, ...] = ()
    gangs: tuple[Gang, ...] = ()
    """Those of their pods that ask for cards: they get them where they are placed."""
    problems: Mapping[str, str] = {}
    """Pod sets for which it can't be said on which flavor they are placed, and why."""
    delayed: tuple[str, ...] = ()
    """Pod sets that are placed once their checks are ready."""
    alone: tuple[PodSetPlacement, ...] = ()
    """Where all of them would lie in a cluster without others; looked for only where they find no room as things stand."""


def find_domains(world: TopologyState, entry: AdmissionEntry, plan: Plan) -> TopologyDemand:
    """Give the entry's pod sets their domains as things stand; without them its mode says that room has to be made.

    Where not even a cluster without others would have them, nothing fits. Gives what was asked, for those who make room.
    """
    assignment = entry.assignment
    if assignment is None or entry.mode is Mode.NO_FIT or not any(plan.by_topology):
        return TopologyDemand()
    demand = topology_demand(world, entry.workload, plan, assignment)
    return msgspec.structs.replace(demand, alone=_give_domains(world, entry, assignment, demand))


def _give_domains(
    world: TopologyState, entry: AdmissionEntry, assignment: Assignment, demand: TopologyDemand
) -> tuple[PodSetPlacement, ...]:
    """Where the pods would lie in a cluster without others; none where that is not asked or there is no place even then."""
    choices = {one.name: one for one in assignment.pod_sets}
    for name, why in demand.problems.items():
        choices[name].reasons.append(why)
        choices[name].failed = PLACEMENT_FAILED
    for name in demand.delayed:
        choices[name].delayed = DelayedTopology.PENDING
    if demand.problems or not demand.requests:
        return ()
    if entry.mode is Mode.FIT:
        with world.trial():
            leave_domains(world, entry)
            found = domains(world, demand)
        failed = first_failure(found.pod_sets)
        if failed is None:
            _settle_with_cards(entry, demand, found)
            return ()
        choices[failed.pod_set].reasons.append(failed.failure)
        if _cards_are_coming_back(world, entry, demand):
            return ()
        _lacks_room(choices[failed.pod_set])
    alone = domains(world, demand, empty=True).pod_sets
    failed = first_failure(alone)
    if failed is not None:
        choices[failed.pod_set].failed = PLACEMENT_FAILED
        assignment.attempts = [_without_domains(one, choices[failed.pod_set]) for one in assignment.attempts]
        return ()
    for request in demand.requests:
        _lacks_room(choices[request.pod_set])
    return alone


def settle_domains(world: TopologyState, entry: AdmissionEntry, demand: TopologyDemand) -> None:
    """Give an entry that preempts the domains that it gets once its victims are gone.

    Without victims those of a cluster without others: they only keep room for the rest of the cycle.
    """
    if entry.assignment is None or not demand.requests:
        return
    choices = {one.name: one for one in entry.assignment.pod_sets}
    if not entry.victims:
        _settle(demand.requests, demand.alone, choices)
        return
    with world.trial():
        for victim in entry.victims:
            discharge(world.trail, victim)
        leave_domains(world, entry)
        _settle(demand.requests, domains(world, demand).pod_sets, choices)


def demand_of(world: TopologyState, entry: AdmissionEntry, plan: Plan) -> TopologyDemand | None:
    """What an entry asks of topologies; None where it has no flavors, or nothing that could be answered."""
    assignment = entry.assignment
    if assignment is None or not any(plan.by_topology):
        return None
    demand = topology_demand(world, entry.workload, plan, assignment)
    return None if demand.problems or not demand.requests else demand


def nearest(world: TopologyState, entry: AdmissionEntry, plan: Plan) -> NearestDomains | None:
    """Which domains come nearest where the entry's pods find no place as things stand; None where topology is not what is short.

    Rule: docs/rules/topology.md#nearest
    """
    demand = demand_of(world, entry, plan)
    if demand is None:
        return None
    with world.trial():
        leave_domains(world, entry)
        there = world.domains.rooms({one.flavor for one in demand.requests})
        return nearest_domains(there, demand.requests, topology_gates(world.settings), ledger_of(world), demand.gangs)


def places(
    world: TopologyState, requests: Sequence[PlacementRequest], *, empty: bool = False
) -> tuple[PodSetPlacement, ...]:
    """Where the pods would lie as things stand, or if nobody else were placed by topology."""
    flavors = {one.flavor for one in requests}
    return place_pod_sets(world.domains.rooms(flavors, empty=empty), requests, topology_gates(world.settings))


def domains(world: TopologyState, demand: TopologyDemand, *, empty: bool = False) -> PlacesWithCards:
    """Where the pods would lie as things stand, and with which cards; or if nobody else were there.

    Rule: docs/rules/topology.md#cards
    """
    if not demand.gangs:
        return PlacesWithCards(pod_sets=places(world, demand.requests, empty=empty))
    flavors = world.domains.rooms({one.flavor for one in demand.requests}, empty=empty)
    gates = topology_gates(world.settings)
    return place_with_cards(flavors, demand.requests, gates, ledger_of(world), demand.gangs, empty=empty)


def _settle_with_cards(entry: AdmissionEntry, demand: TopologyDemand, found: PlacesWithCards) -> None:
    if entry.assignment is not None:
        _settle(demand.requests, found.pod_sets, {one.name: one for one in entry.assignment.pod_sets})
    entry.placements = found.cards


def _cards_are_coming_back(world: TopologyState, entry: AdmissionEntry, demand: TopologyDemand) -> bool:
    """Whether the pods find domains once cards are back whose workloads have lost their quota; the entry then waits for them.

    Rule: docs/rules/topology.md#card-preemption
    """
    if not demand.gangs:
        return False
    with world.trial():
        if not vacate_leavers(world.workloads, world.cards):
            return False
        found = domains(world, demand)
    if first_failure(found.pod_sets) is not None:
        return False
    _settle_with_cards(entry, demand, found)
    entry.deferred, entry.reason, entry.message = True, WAITING_FOR_CARDS, COMING_BACK
    return True


def held_domains(world: TopologyState, entry: AdmissionEntry) -> HeldDomains:
    """The domains that were found for the entry, to count them on trial."""
    pod_sets = entry.assignment.pod_sets if entry.assignment is not None else ()
    return HeldDomains(world.domains, tuple(one.topology for one in pod_sets if one.topology is not None))


def leave_domains(world: TopologyState, entry: AdmissionEntry) -> None:
    """Take away the domains of the slice whose place the entry takes, for the trial: those that stay are among its own."""
    held = world.domains.held_by(entry.replaces.key) if entry.replaces is not None else None
    if held is not None:
        held.vacate()


def topology_demand(world: TopologyState, workload: Workload, plan: Plan, assignment: Assignment) -> TopologyDemand:
    """What the pod sets ask of the topologies of their flavors (docs/rules/topology.md#tas-flavor)."""
    requests: list[PlacementRequest] = []
    gangs: list[Gang] = []
    problems: dict[str, str] = {}
    delayed: list[str] = []
    beside: dict[str, Requests] = {}
    replaces = replaced_in(world, workload, plan.queue.name)
    for by_topology, asked, choice in zip(plan.by_topology, plan.asked, assignment.pod_sets, strict=True):
        if not by_topology or not choice.count:
            continue
        flavors = sorted({one.flavor for one in choice.flavors.values() if world.domains.has(one.flavor)})
        why = _elastic_problem(world, workload, asked.pod_set, replaces) or _flavor_problem(world, plan.queue, flavors)
        if why:
            problems[choice.name] = why
        elif _is_delayed(world, plan.queue, flavors[0], reserved=workload.reserved):
            delayed.append(choice.name)
        else:
            request = request_of(world, workload, asked.pod_set, choice.count, flavors[0])
            previous = _places_before(replaces, choice.name, flavors[0])
            if replaces is not None and gets_cards(world, asked.pod_set):
                previous = where_cards_stay(world, replaces, request, beside)
                if previous is None:
                    problems[choice.name] = ELASTIC_WITH_CARDS
                    continue
            requests.append(msgspec.structs.replace(request, previous=previous))
            if gets_cards(world, asked.pod_set):
                assigned = {resource: one.flavor for resource, one in choice.flavors.items()}
                gangs.append(gang_of(world, workload.namespace, asked.pod_set, choice.count, assigned))
    return TopologyDemand(requests=tuple(requests), gangs=tuple(gangs), problems=problems, delayed=tuple(delayed))


def _places_before(old: Workload | None, pod_set: str, flavor: str) -> TopologyAssignment | None:
    """Where the pods are of the slice that is replaced."""
    given = old.admission.assignments if old is not None and old.admission is not None else ()
    found = next((one.topology for one in given if one.name == pod_set), None)
    return found.assignment if found is not None and found.flavor == flavor else None


def _elastic_problem(world: TopologyState, workload: Workload, pod_set: PodSet, replaces: Workload | None) -> str:
    """Why pods of an elastic job are not placed (docs/rules/topology.md#elastic); empty where they may be."""
    if not topology_gates(world.settings).elastic:
        return ELASTIC_OFF if replaces is not None else ""
    if pod_set.topology is None or not workload.spec.elastic or not enabled(world.settings, ELASTIC_JOBS):
        return ""
    asked = {"required": pod_set.topology.required, "preferred": pod_set.topology.preferred}
    return next((f"{word} topology is not supported with {ELASTIC_JOBS}" for word, level in asked.items() if level), "")


def _flavor_problem(world: TopologyState, queue: ClusterQueueObserved, flavors: Sequence[str]) -> str:
    """Why it can't be said on which flavor with a topology pods lie, of these that they were assigned; empty where it can."""
    if len(flavors) > 1:
        return f"more than one TAS flavor assigned: {', '.join(flavors)}"
    if flavors:
        return ""
    return NO_TOPOLOGY if any(world.domains.has(name) for name in queue.flavors) else NO_TOPOLOGY_IN_QUEUE


def _is_delayed(world: Configuration, queue: ClusterQueueObserved, flavor: str, *, reserved: bool) -> bool:
    for rule in queue.checks:
        check = world.checks.get(rule.name)
        if check is None:
            continue
        if check.controller == MULTIKUEUE:
            return True
        if check.controller == PROVISIONING and not reserved and (not rule.flavors or flavor in rule.flavors):
            return True
    return False


def _settle(
    requests: Sequence[PlacementRequest], placements: Sequence[PodSetPlacement], choices: Mapping[str, PodSetChoice]
) -> None:
    asked = {one.pod_set: one for one in requests}
    for one in placements:
        if one.assignment is not None:
            choices[one.pod_set].topology = placement_of(asked[one.pod_set], one.assignment)


def _without_domains(attempt: FlavorAttempt, choice: PodSetChoice) -> FlavorAttempt:
    """The attempt with a flavor that was chosen, and that would have no domains for the pods even without others."""
    chosen = choice.flavors.get(attempt.resource)
    if attempt.pod_set != choice.name or chosen is None or chosen.flavor != attempt.flavor:
        return attempt
    return msgspec.structs.replace(attempt, mode=Mode.NO_FIT, reason=PLACEMENT_FAILED)


def _lacks_room(choice: PodSetChoice) -> None:
    choice.flavors = {
        name: msgspec.structs.replace(one, mode=Mode.PREEMPT) if one.mode is Mode.FIT else one
        for name, one in choice.flavors.items()
    }
