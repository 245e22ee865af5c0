"""One scheduling cycle over a quota tree, or over those that share hosts, in the steps of Kueue's scheduler.

1. Heads: one workload of each ClusterQueue that admits (`heads.heads`, docs/rules/cycle.md#heads).
2. Nominate: flavors, devices and victims for each head, against the quota at the beginning of the cycle
   (`Cycle._nominate_first`, `nomination.nominate`, docs/rules/cycle.md#nominate).
3. Order the entries: smaller borrowing level first, or the fair sharing tournament (`cycle_order.in_turn`,
   docs/rules/cycle.md#borrowing-last).
4. Process each entry on what the entries before it have left (`Cycle._process_entry`): reserve quota if it fits, request
   preemption if it needs victims, else keep room for it or refuse it (docs/rules/cycle.md#no-longer-fits).
5. Requeue: each refusal says by its `RequeueReason` whether the workload stays in line or is parked (`Cycle._requeue`,
   docs/rules/queues.md#requeue).

The search for victims is in `projections.preemption`: `classic.find_victims` tries the two borrowing modes, because a
workload that ends up borrowing may preempt fewer candidates than one that stays within its quota
(docs/rules/preemption.md#search); `candidates.CandidateGroups` holds the three kinds of candidates: by hierarchy, by
priority, and those of the workload's own queue (docs/rules/preemption.md#candidates).

Usage is charged to the world on trial only: the caller undoes it and folds the events instead.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial

import msgspec

from events.admission import Mode, QuotaReserved, Recomputation, RequeueReason
from events.catalogue import Decision
from events.event import Millis
from events.quota import PreemptionPolicy
from events.setting_aside import SetAside
from events.slices import WorkloadSliceReplaced
from projections.checks.required import checks_on
from projections.feature_gates import enabled
from projections.flavors.assignment import Assignment
from projections.preemption.candidates import Candidate
from projections.preemption.card_victims import vacate_leavers
from projections.preemption.claims import Claimed, claimed_room
from projections.preemption.classic import charge, discharge, fits_now, free
from projections.preemption.message import replacement_message
from projections.quota.columns import Usage
from projections.quota.node import Node
from projections.set_aside.records import ADMITTER
from projections.workloads.conditions import GATED
from projections.workloads.preemption_gates import closed_gates
from services.admitter.block_admission import NOT_ALL_READY, WAITING_FOR_PODS_READY, blocks_admission, somebody_unready
from services.admitter.cycle_order import in_turn, owner_goes_on, tree_of, up_to, would_borrow
from services.admitter.cycle_size import CycleSize
from services.admitter.entry import AdmissionEntry, QueueHead
from services.admitter.flavor_plans import plan_for
from services.admitter.heads import head_of, remember, room_was_made
from services.admitter.nomination import consider, nominate
from services.admitter.outcome_events import refusal_event, request_event
from services.admitter.state import AdmitterState
from services.admitter.topology import held_domains, leave_domains
from services.admitter.variants import MIGRATION_NOT_ALLOWED, migration_of, order_migration
from services.runtime.partition.guard import guarded

NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPPING = "Workload has overlapping preemption targets with another workload"
WAITING_FOR_QUOTA = "WaitingForQuota"
WAITING_FOR_VICTIMS = "WaitingForPreemptedWorkloads"
WILL_FIT = (
    "Workload has overlapping preemption targets with another workload, but will fit after these preemptions complete"
)
BEHIND_CLOSED_GATES = "Workload requires preemption, but it's gated"

Preempted = dict[str, Candidate]
"""The victims of the entries processed so far in this cycle, by workload key."""


class Cycle:
    """One run of steps 2 to 5 over the heads of one tree or several; `events` holds its decisions in the order they were made."""

    __slots__ = ("_claimed", "_unready", "at", "events", "world")

    def __init__(self, world: AdmitterState, at: Millis) -> None:
        self.world, self.at = world, at
        self.events: list[Decision] = []
        self._claimed: Claimed = {}
        self._unready: bool | None = None

    def run(self, heads: Sequence[QueueHead], most: int | None = None, most_reserved: int | None = None) -> None:
        """Decide about these heads; where `most` decisions or more are too large, or after `most_reserved` reservations, the rest is left to the next cycle.

        A head whose nomination fails is set aside on record, and the others go on.
        """
        world = self.world
        preempted: Preempted = {}
        if world.claims:
            self._claimed = claimed_room(world)
            for node, kept in self._claimed.values():
                charge(world.trail, node, kept)
        entries = [entry for head in heads if (entry := self._nominate_first(head)) is not None]
        owners_go_on, reserved, size = set[str](), 0, CycleSize(most)
        made = {head.workload.key for head in heads if head.when.in_line and room_was_made(world, head.workload.key)}
        for entry in up_to(made, in_turn(world, entries)):
            tree = tree_of(entry)
            if tree in owners_go_on and self.events and would_borrow(entry):
                continue  # Something was decided, so there is another cycle.
            event = self._process_with_claim(entry, preempted)
            if owner_goes_on(world.lines, entry, event):
                owners_go_on.add(tree)
            if event is not None:
                self.events.extend(beside(entry, event))
                self.events.append(event)
                reserved += isinstance(event, QuotaReserved)
                if size.is_too_much(self.events) or reserved == most_reserved:
                    return

    def _nominate_first(self, head: QueueHead | None) -> AdmissionEntry | None:
        """Step 2, nominate: the entry of a queue's head; a parked head that is refused as before yields to the next one."""
        while head is not None:
            entry = guarded(partial(self._nominate, head), ADMITTER, workload=head.workload.key)
            if isinstance(entry, SetAside):
                self.events.append(entry)
                return None  # Its queue goes on with the next one as soon as this is folded.
            if not head.parked_as or not self._refused_as_before(entry):
                return entry
            remember(self.world, head)
            head = head_of(self.world, head.queue, head.when)
        return None

    def _nominate(self, head: QueueHead) -> AdmissionEntry:
        """Nominate one head; room that it has claimed by preemption is free for it alone."""
        own = self._claimed.get(head.workload.key)
        with self.world.trial():
            if own is not None:
                free(self.world.trail, *own)
            return nominate(self.world, head, self.at)

    def _refused_as_before(self, entry: AdmissionEntry) -> bool:
        """Whether it gets the same refusal as before, whatever else happens in the cycle."""
        if entry.mode is Mode.FIT or entry.victims:
            return False
        if entry.mode is Mode.PREEMPT:
            entry.requeue = RequeueReason.PREEMPTION_NO_CANDIDATES
            return refusal_event(self.world, entry, reason=WAITING_FOR_QUOTA, message="") is None
        if entry.assignment is not None:
            entry.requeue = RequeueReason.NO_FIT
        return refusal_event(self.world, entry, reason="", message="") is None

    def _process_with_claim(self, entry: AdmissionEntry, preempted: Preempted) -> Decision | None:
        """Step 4 with the room that the entry has claimed by preemption, which stays claimed if it is not used now."""
        own = self._claimed.get(entry.workload.key)
        if own is not None:
            free(self.world.trail, *own)
        event = self._process_entry(entry, preempted)
        if own is not None and not entry.placed:
            charge(self.world.trail, *own)
        return event

    def _process_entry(self, entry: AdmissionEntry, preempted: Preempted) -> Decision | None:
        """Step 4: the entry fits and gets quota, or preempts, or is requeued; None when that is on record already."""
        if entry.assignment is not None and entry.mode is not Mode.NO_FIT:
            self._nominate_again(entry, preempted)
            if entry.mode is Mode.PREEMPT and not entry.victims:
                self._keep_room(entry)
                return self._requeue(entry, RequeueReason.PREEMPTION_NO_CANDIDATES, WAITING_FOR_QUOTA)
            if entry.mode is Mode.PREEMPT and closed_gates(self.world.settings, entry.workload):
                # It preempts nobody, so it keeps nobody from room that it has not.
                return self._requeue(entry, RequeueReason.PREEMPTION_GATED, GATED, BEHIND_CLOSED_GATES)
        if entry.assignment is None or entry.node is None or entry.mode is Mode.NO_FIT:
            return self._requeue(entry, entry.requeue if entry.assignment is None else RequeueReason.NO_FIT)
        if entry.deferred:
            self._assume_usage(entry, entry.node)
            self.world.cards.trial(entry.placements)
            refusal = ("", "") if entry.reason else (WAITING_FOR_VICTIMS, WILL_FIT)
            return self._requeue(entry, RequeueReason.PENDING_PREEMPTION, *refusal)
        if _overlaps(entry, preempted) or (entry.replaces is not None and entry.replaces.key in preempted):
            entry.skipped = True
            return self._requeue(entry, RequeueReason.FAILED_AFTER_NOMINATION, WAITING_FOR_QUOTA, OVERLAPPING)
        if not self._fits(entry, preempted):
            entry.skipped = entry.mode is Mode.PREEMPT
            return self._requeue(entry, RequeueReason.FAILED_AFTER_NOMINATION, WAITING_FOR_QUOTA, NO_LONGER_FITS)
        self._assume_usage(entry, entry.node)
        if entry.mode is Mode.PREEMPT:
            return self._request_preemption(entry, preempted)
        if blocks_admission(self.world.settings) and self._waits_for_pods_ready(entry):
            return self._requeue(entry, RequeueReason.FAILED_AFTER_NOMINATION, WAITING_FOR_PODS_READY, NOT_ALL_READY)
        return self._reserve_quota(entry)

    def _nominate_again(self, entry: AdmissionEntry, preempted: Preempted) -> None:
        """What earlier entries have done to an entry's victims or domains may be made good by others, on the same flavors."""
        if _overlaps(entry, preempted):
            self._recompute_assignment(entry, preempted)
        elif self._only_domains_are_taken(entry, preempted):
            self._find_other_domains(entry)
        elif entry.mode is Mode.FIT and not entry.deferred and not self._cards_fit(entry, preempted):
            self._find_other_cards(entry)

    def _recompute_assignment(self, entry: AdmissionEntry, preempted: Preempted) -> None:
        """Nominate it again as if the victims of earlier entries had gone, on the same flavors.

        Rule: docs/rules/cycle.md#same-victims
        """
        if not enabled(self.world.settings, "RecomputeAssignmentUponPreemptionTargetsOverlap"):
            return
        if entry.assignment is None:
            return
        with self.world.trial():
            self._discharge(preempted.values())
            for victim in preempted.values():
                self.world.holders(victim.node.name).remove(self.world.trail, victim.workload.key)
            consider(self.world, entry, plan_for(self.world, entry.head), self.at, chosen_flavors(entry.assignment))
        entry.deferred = entry.mode is Mode.FIT
        entry.recomputed = _recomputation(entry, preempted)

    def _only_domains_are_taken(self, entry: AdmissionEntry, preempted: Preempted) -> bool:
        """Whether the entry fits by quota, but earlier entries took domains that it was to have."""
        found = held_domains(self.world, entry)
        if entry.node is None or not found.placements:
            return False
        with self._without_victims(entry, preempted):
            if not fits_now(entry.node, entry.usage, borrowing=True):
                return False
            return not found.fit() or not self._cards_fit(entry, preempted)

    def _find_other_domains(self, entry: AdmissionEntry) -> None:
        """Nominate it again as things stand, on the same flavors (docs/rules/topology.md#other-domains)."""
        if enabled(self.world.settings, "TASRecomputeAssignmentWithinSchedulingCycle") and entry.assignment is not None:
            pinned = chosen_flavors(entry.assignment)
            consider(self.world, entry, plan_for(self.world, entry.head), self.at, pinned)

    def _fits(self, entry: AdmissionEntry, preempted: Preempted) -> bool:
        """Whether the entry fits once its own victims and those of earlier entries are gone."""
        if entry.node is None:
            return False
        with self._without_victims(entry, preempted):
            fits = fits_now(entry.node, entry.usage, borrowing=True) and held_domains(self.world, entry).fit()
        return fits and self._cards_fit(entry, preempted)

    @contextmanager
    def _without_victims(self, entry: AdmissionEntry, preempted: Preempted) -> Generator[None]:
        """Within, the entry's own victims, those of earlier entries, and the slice whose place it takes are gone."""
        with self.world.trial():
            self._discharge({**preempted, **{victim.workload.key: victim for victim in entry.victims}}.values())
            leave_domains(self.world, entry)
            yield

    def _find_other_cards(self, entry: AdmissionEntry) -> None:
        """Take other cards on the same flavors, if there are any; else it stays in line, for those that it was to have."""
        if entry.assignment is None:
            return
        other = msgspec.structs.replace(entry)
        pinned = chosen_flavors(entry.assignment)
        consider(self.world, other, plan_for(self.world, entry.head), self.at, pinned)
        if other.mode is Mode.FIT and other.placements:
            entry.assignment, entry.placements, entry.kept = other.assignment, other.placements, other.kept

    def _cards_fit(self, entry: AdmissionEntry, preempted: Preempted) -> bool:
        """Whether earlier entries of this cycle have left the very cards that were found for the entry.

        For who preempts they were found as they will be when its victims have given theirs back.
        """
        if not entry.placements:
            return True
        cards = self.world.cards
        with self.world.trial():
            if entry.mode is Mode.PREEMPT:
                vacate_leavers(self.world.workloads, cards)
                for key in (*preempted, *(victim.workload.key for victim in entry.victims)):
                    cards.vacate(key)
            cards.trial(entry.placements)
            return not cards.overfull_of(entry.placements)

    def _discharge(self, victims: Iterable[Candidate]) -> None:
        for victim in victims:
            discharge(self.world.trail, victim)

    def _assume_usage(self, entry: AdmissionEntry, node: Node) -> None:
        """Count the entry's usage for the rest of the cycle, whether it gets quota now or waits for its victims."""
        charge(self.world.trail, node, entry.usage)
        leave_domains(self.world, entry)
        held_domains(self.world, entry).occupy()
        entry.placed = True

    def _reserve_quota(self, entry: AdmissionEntry) -> Decision | None:
        """The entry fits: its quota is reserved, on the flavors and devices that were found for it."""
        if entry.assignment is None:
            return None
        migration = migration_of(self.world, entry.workload, entry.queue)
        if migration is not None and not migration.allowed:
            return self._requeue(entry, RequeueReason.GENERIC, "PendingEvaluation", MIGRATION_NOT_ALLOWED)
        if migration is not None and not checks_of(entry):
            self.events.extend(order_migration(entry.workload, migration.sibling))
            message = f"{entry.assignment.message}. Pending the migration of 1 workload(s)"
            return self._requeue(entry, RequeueReason.PENDING_MIGRATION, WAITING_FOR_VICTIMS, message)
        self.world.cards.trial(entry.placements)
        return QuotaReserved(
            workload=entry.workload.key,
            cluster_queue=entry.queue.name,
            assignments=entry.assignment.assignments(),
            checks=checks_of(entry),
            borrow_level=entry.borrow,
            considered=tuple(
                attempt for attempt in entry.assignment.attempts if attempt.mode is not Mode.FIT or attempt.borrow_level
            ),
            placements=(*entry.kept, *entry.placements),
        )

    def _request_preemption(self, entry: AdmissionEntry, preempted: Preempted) -> Decision | None:
        """The entry fits without its victims: their preemption is requested."""
        preempted.update({victim.workload.key: victim for victim in entry.victims})
        self.world.cards.trial(entry.placements)
        return request_event(self.world, entry)

    def _waits_for_pods_ready(self, entry: AdmissionEntry) -> bool:
        """Whether admitted pods are not ready yet; an entry without admission checks counts as admitted from now on."""
        if self._unready is None:
            self._unready = somebody_unready(self.world.holding, self.world.workloads)
        before = self._unready
        self._unready = before or not checks_of(entry)
        return before

    def _keep_room(self, entry: AdmissionEntry) -> None:
        """Hold capacity for a blocked preemptor for the rest of the cycle, unless it always gets its nominal back."""
        if entry.queue.preemption.reclaim_within_cohort is PreemptionPolicy.ANY or entry.node is None:
            return
        kept = room_to_keep(entry)
        if self._claimed:
            # What is claimed for others is not this entry's to hold.
            kept = {column: max(min(amount, entry.node.available(column)), 0) for column, amount in kept.items()}
        charge(self.world.trail, entry.node, kept)
        leave_domains(self.world, entry)
        held_domains(self.world, entry).occupy()

    def _requeue(
        self, entry: AdmissionEntry, requeue: RequeueReason, reason: str = "", message: str = ""
    ) -> Decision | None:
        """Step 5, requeue: the refusal with where the workload waits from now on; None when it is on record already."""
        entry.requeue = requeue
        return refusal_event(self.world, entry, reason=reason, message=message)


def _overlaps(entry: AdmissionEntry, preempted: Preempted) -> bool:
    """Whether an earlier entry of the cycle preempts a victim of this one."""
    return any(victim.workload.key in preempted for victim in entry.victims)


def _recomputation(entry: AdmissionEntry, preempted: Preempted) -> Recomputation:
    """What came of nominating it once more."""
    if entry.deferred:
        return Recomputation.DEFERRED_FIT
    found = entry.mode is Mode.PREEMPT and bool(entry.victims) and not _overlaps(entry, preempted)
    return Recomputation.NEW_TARGETS if found else Recomputation.SKIPPED


def beside(entry: AdmissionEntry, event: Decision) -> list[Decision]:
    """What is decided in the same commit: the slice whose place the entry takes is over when it gets quota."""
    old = entry.replaces
    if old is None or not isinstance(event, QuotaReserved):
        return []
    message = replacement_message(entry.workload)
    return [WorkloadSliceReplaced(workload=old.key, by=entry.workload.key, message=message)]


def room_to_keep(entry: AdmissionEntry) -> Usage:
    """The quota kept for a preemptor that found no victims, by column (docs/rules/cycle.md#kept-for-blocked)."""
    kept: Usage = {}
    node = entry.node
    if node is None:
        return kept
    for column, amount in entry.usage.items():
        nominal, used, limit = node.nominal[column], node.usage[column], node.borrowing_limit[column]
        if entry.borrow == 0:
            kept[column] = max(0, min(amount, nominal - used))
        elif limit is None:
            kept[column] = amount
        else:
            kept[column] = min(amount, nominal + limit - used)
    return kept


def chosen_flavors(assignment: Assignment) -> dict[tuple[str, str], str]:
    """The flavor of each resource, by pod set and resource: who is nominated again in a cycle keeps to them."""
    return {
        (pod_set.name, resource): choice.flavor
        for pod_set in assignment.pod_sets
        for resource, choice in pod_set.flavors.items()
    }


def checks_of(entry: AdmissionEntry) -> tuple[str, ...]:
    """The admission checks that the entry needs on the flavors that were found for it."""
    pod_sets = entry.assignment.pod_sets if entry.assignment is not None else ()
    return checks_on(entry.queue, (choice.flavor for one in pod_sets for choice in one.flavors.values()))
