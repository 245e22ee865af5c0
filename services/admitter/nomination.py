"""Step 2 of a cycle, nominate: flavors, devices and victims for one head against the quota as it is.

Rule: docs/rules/cycle.md#nominate
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from events.admission import Mode, RequeueReason
from events.event import Millis
from events.pod_set import PodSet
from projections.devices.placement.gang import EXCEEDS_CARDS, WAITING_FOR_CARDS
from projections.feature_gates import enabled
from projections.flavors.assignment import Assignment
from projections.flavors.first_fit import assign_first_fit
from projections.flavors.mode import Granular, Oracle
from projections.flavors.partial_admission import largest_that_fits
from projections.flavors.plan import Plan
from projections.flavors.refusal import NO_MATCHING_FLAVOR, WAITING_FOR_QUOTA
from projections.flavors.scan import NOTHING, only_time_passed, progress_of
from projections.flavors.search import FlavorSearchSpace, assign, refusal_reason
from projections.preemption.candidates import Candidate
from projections.preemption.card_victims import vacate_leavers
from projections.preemption.classic import discharge
from projections.preemption.oracle import how_room_is_made
from projections.preemption.state import PreemptionState
from projections.preemption.victims import find_victims
from projections.queues.order import queue_timestamp
from projections.queues.pending_queues import ScanProgress
from projections.quota.columns import Column
from projections.topology.placement.workload_placement import first_failure
from projections.workloads.slices import replaced_in
from projections.workloads.state import WorkloadState
from services.admitter.awaiting_victims import still_waiting
from services.admitter.barriers import barrier_to
from services.admitter.cards import (
    CardRefusals,
    behind,
    card_caps,
    card_flavor,
    cards_kept,
    cards_once_left,
    enough_for_cards,
    placed_on_cards,
    preempts_for_cards,
    waits_for_cards,
)
from services.admitter.concurrency_limits import (
    add_victims_over_limit,
    discharge_from_queue,
    limit_message,
    victims_over_limit,
    workloads_over_limit,
)
from services.admitter.entry import AdmissionEntry, QueueHead, needed_by, preemption_context_of
from services.admitter.flavor_plans import plan_for, plan_with
from services.admitter.state import AdmitterState
from services.admitter.topology import TopologyDemand, domains, find_domains, leave_domains, settle_domains

NO_FLAVORS: Mapping[tuple[str, str], str] = {}


def nominate(world: AdmitterState, head: QueueHead, at: Millis) -> AdmissionEntry:
    """The entry for one head against the quota at the beginning of a cycle; the world is left as it was.

    An entry that can't even be tried (misconfigured, a failed check, a namespace that is not admitted) has a reason and
    no assignment.
    """
    workload, queue = head.workload, head.queue
    entry = AdmissionEntry(head=head, victims=[], timestamp=queue_timestamp(workload, world.settings), at=at)
    entry.node = world.quota.node(queue.name)
    if entry.node is None:
        return entry.refused("Misconfigured", f"ClusterQueue {queue.name} not found")
    barrier = barrier_to(world, workload, queue)
    if barrier is not None:
        return entry.refused(*barrier)
    entry.replaces = replaced_in(world, workload, queue.name)
    if not head.parked_as:
        entry.progress = progress_of(world, workload, queue.name)
    plan = plan_for(world, head)
    if plan.problem:
        return entry.refused("Misconfigured", plan.problem)
    if workloads_over_limit(world, queue):
        return _within_limit(world, entry, plan, at)
    free = _on_flavors_free_by_now(world, entry, plan, at)
    if free is not None:
        return free
    if not still_waiting(world, entry, plan):
        _consider_flavors_left(world, entry, plan, at)
    return entry


def _on_flavors_free_by_now(
    world: AdmitterState, entry: AdmissionEntry, plan: Plan, at: Millis
) -> AdmissionEntry | None:
    """The entry of one that waits for its victims, if it fits on other flavors meanwhile; None where it goes on waiting.

    Rule: docs/rules/cycle.md#waits-for-victims
    """
    request = world.requests.get(entry.workload.key)
    if request is None:
        return None
    now = assign(_space(world, entry, plan, _nobody_makes_room))
    if now.representative is not Mode.FIT or [one.flavors for one in now.assignments()] == [
        one.flavors for one in request.assignments
    ]:
        return None
    found = msgspec.structs.replace(entry)
    consider(world, found, plan, at)
    return found if found.mode is Mode.FIT and not (found.deferred or found.reason) else None


def _nobody_makes_room(_column: Column, _amount: int) -> Granular:
    """An oracle for what fits as things stand: it costs no search for victims."""
    return Granular(Mode.NO_CANDIDATES)


def _consider_flavors_left(world: AdmitterState, entry: AdmissionEntry, plan: Plan, at: Millis) -> None:
    """Consider the flavors that it has not been tried on; where only time has passed since it was, all of them at once.

    Rule: docs/rules/flavors.md#scan-progress
    """
    consider(world, entry, plan, at)
    if not only_time_passed(world, entry.queue.name, entry.head.parked_as):
        return
    tried: set[ScanProgress] = {()}
    while not _fits_or_preempts(entry) and entry.come_to not in tried:
        tried.add(entry.come_to)
        entry.progress = {(pod_set, resource): index for pod_set, resource, index in entry.come_to}
        consider(world, entry, plan, at)


def _within_limit(world: AdmitterState, entry: AdmissionEntry, plan: Plan, at: Millis) -> AdmissionEntry:
    """The entry as if the workloads over the queue's limit had gone, which become its victims; refused if too few may go."""
    going = victims_over_limit(world, entry, at)
    if not going:
        return entry.refused("WaitingForQuota", limit_message(entry.queue), RequeueReason.NO_FIT)
    with world.trial():
        discharge_from_queue(world, entry.queue, going)
        _consider_flavors_left(world, entry, plan, at)
    add_victims_over_limit(entry, going)
    return entry


def consider(
    world: AdmitterState,
    entry: AdmissionEntry,
    plan: Plan,
    at: Millis,
    pinned: Mapping[tuple[str, str], str] | None = None,
) -> None:
    """Set the entry's assignment, placements and victims; with fewer pods if the full count finds none (`minCount`).

    `pinned` holds the flavor by pod set and resource where the search is limited to flavors chosen before.
    """
    _consider_plan(world, entry, plan, at, pinned or {})
    pod_sets = entry.workload.spec.pod_sets
    if _fits_or_preempts(entry) or all(pod_set.minimum is None for pod_set in pod_sets):
        return
    if not enabled(world.settings, "PartialAdmission"):
        return

    def fits(fewer: Mapping[str, int]) -> bool:
        counts = _in_whole_slices(pod_sets, fewer)
        if counts is None:
            return False
        smaller = msgspec.structs.replace(entry)
        _consider_plan(world, smaller, plan_with(world, entry.head, counts), at, pinned or {})
        return _fits_or_preempts(smaller)

    best = largest_that_fits(pod_sets, {one.pod_set.name: one.count for one in plan.asked}, fits)
    counts = _in_whole_slices(pod_sets, best) if best is not None else None
    if counts is not None:
        _consider_plan(world, entry, plan_with(world, entry.head, counts), at, pinned or {})


def _in_whole_slices(pod_sets: Sequence[PodSet], fewer: Mapping[str, int]) -> Mapping[str, int] | None:
    """As many of these pods as leave no slice of a topology incomplete; None where these are not enough.

    Rule: docs/rules/flavors.md#partial-admission
    """
    counts = dict(fewer)
    for one in pod_sets:
        size = one.topology.slices[0].size if one.topology is not None and one.topology.slices else 0
        if size > 1 and fewer[one.name] < one.count:
            counts[one.name] -= fewer[one.name] % size
            if counts[one.name] < max(one.minimum or 0, 1):
                return None
    return counts


def _fits_or_preempts(entry: AdmissionEntry) -> bool:
    return entry.mode is Mode.FIT or (entry.mode is Mode.PREEMPT and bool(entry.victims))


def _consider_plan(
    world: AdmitterState, entry: AdmissionEntry, plan: Plan, at: Millis, pinned: Mapping[tuple[str, str], str]
) -> None:
    """Assign flavors; where quota fits but devices do not, try the next flavor, then preemption for devices."""
    refused, caps, demand = CardRefusals(), card_caps(world, plan), TopologyDemand()
    while entry.node is not None:
        entry.searched = {}
        first_fit = world.shortcuts and not (pinned or refused.why or entry.progress or caps)
        assignment = assign_first_fit(plan, entry.node) if first_fit else None
        assignment = assignment or _search(world, entry, plan, at, pinned, refused.why)
        entry.assignment, entry.victims, entry.placements = assignment, [], ()
        entry.reason, entry.message, entry.deferred = "", "", False
        demand = find_domains(world, entry, plan)
        if assignment.representative is not Mode.FIT:
            break
        if entry.deferred:
            return
        placed = placed_on_cards(world, entry, plan)
        if not placed.reason:
            entry.kept = cards_kept(world, entry, plan)
            entry.placements = behind(entry, placed.placements)
            return
        flavor = card_flavor(world, entry, placed.pod_set)
        if not flavor:
            # No quota is declared for cards: there is no other flavor to go on with.
            assignment.pod_sets[0].failed = NO_MATCHING_FLAVOR
            entry.reason, entry.message = placed.reason, placed.message
            return
        refused.note(placed, flavor)
    if entry.mode is Mode.PREEMPT:
        entry.victims = enough_for_cards(world, entry, plan, victims_for(world, entry, demand, at), at)
        if entry.victims:
            entry.placements = cards_once_left(world, entry, plan)
        settle_domains(world, entry, demand)
    elif refused.why and entry.assignment is not None and refusal_reason(entry.assignment) != WAITING_FOR_QUOTA:
        _without_cards(world, entry, plan, at, pinned, refused)


def _without_cards(
    world: PreemptionState,
    entry: AdmissionEntry,
    plan: Plan,
    at: Millis,
    pinned: Mapping[tuple[str, str], str],
    refused: CardRefusals,
) -> None:
    """No flavor has both quota and devices: wait for devices on their way back, preempt for them, or be refused."""
    assignment = entry.assignment
    if refused.for_now and not pinned:
        entry.assignment = _search(world, entry, plan, at, pinned, refused.for_ever)
        if waits_for_cards(world, entry, plan) or preempts_for_cards(world, entry, plan, at):
            return
        entry.assignment = assignment
    entry.reason = WAITING_FOR_CARDS if refused.for_now else EXCEEDS_CARDS
    entry.message = (assignment.message if assignment is not None else "") or "; ".join(refused.why.values())


def victims_for(world: AdmitterState, entry: AdmissionEntry, demand: TopologyDemand, at: Millis) -> list[Candidate]:
    """The workloads to preempt for the entry's assignment, in order; empty when no candidates would do.

    The two borrowing modes and the three kinds of candidates are in `projections.preemption` (docs/rules/preemption.md#search).
    """
    if entry.node is None or entry.assignment is None:
        return []
    # What is not asked for can't be short.
    usage = {column: amount for column, amount in entry.assignment.usage.items() if amount}
    if len(usage) == 1 and world.shortcuts and not demand.requests:
        found = entry.searched.get(next(iter(usage.items())))
        if found is not None:
            return found  # The search for flavors asked the very same.

    def placed() -> bool:
        with world.trial():
            leave_domains(world, entry)
            return first_failure(domains(world, demand).pod_sets) is None

    needed = needed_by(world.quota, entry.assignment)
    context = preemption_context_of(
        entry, at, usage, needed, placed if demand.requests else None, with_cards=bool(demand.gangs)
    )
    if not demand.gangs:
        return find_victims(world, context)
    with world.trial():
        left = vacate_leavers(world.workloads, world.cards)
        victims = find_victims(world, context)
    return victims if not left or _suffice(world, victims, placed) else []


def _suffice(world: WorkloadState, victims: Sequence[Candidate], placed: Callable[[], bool]) -> bool:
    """Whether victims suffice without cards that are on their way back: these may be first for somebody else.

    Rule: docs/rules/topology.md#card-preemption
    """
    with world.trial():
        for victim in victims:
            discharge(world.trail, victim)
        return placed()


class VictimSearches:
    """How preemption could free quota for an entry (an `Oracle`), and the victims that were found for each question."""

    __slots__ = ("_at", "_entry", "_world", "found")

    def __init__(self, world: PreemptionState, entry: AdmissionEntry, at: Millis) -> None:
        self._world, self._entry, self._at = world, entry, at
        self.found: dict[tuple[Column, int], list[Candidate]] = {}
        """By column and amount."""

    def __call__(self, column: Column, amount: int) -> Granular:
        """Whether so much of a flavor and resource could be freed, and of whom."""
        context = preemption_context_of(self._entry, self._at, {column: amount}, (column,))
        victims = self.found[(column, amount)] = find_victims(self._world, context)
        return how_room_is_made(self._world.trail, context, victims)


def _search(
    world: PreemptionState,
    entry: AdmissionEntry,
    plan: Plan,
    at: Millis,
    pinned: Mapping[tuple[str, str], str],
    excluded: Mapping[tuple[str, str], str],
) -> Assignment:
    """Flavors for an entry; the victims found on the way are kept with it."""
    searches = VictimSearches(world, entry, at)
    assignment = assign(_space(world, entry, plan, searches, pinned, excluded))
    entry.searched = {**entry.searched, **searches.found}
    return assignment


def _space(
    world: PreemptionState,
    entry: AdmissionEntry,
    plan: Plan,
    oracle: Oracle,
    pinned: Mapping[tuple[str, str], str] = NO_FLAVORS,
    excluded: Mapping[tuple[str, str], str] = NO_FLAVORS,
) -> FlavorSearchSpace:
    if entry.node is None:
        raise LookupError(entry.queue.name)
    return FlavorSearchSpace(
        plan=plan,
        node=entry.node,
        names=world.quota.columns.names,
        oracle=oracle,
        fair=world.settings.fair_sharing,
        progress=NOTHING if pinned else entry.progress,
        pinned=pinned,
        caps=card_caps(world, plan),
        excluded=excluded,
    )
