"""One scheduling cycle over the heads of a tree, as Kueue runs it (kueue-semantics §4).

All heads are nominated against the quota at the beginning; then they are processed one by one, each on what the ones
before have left. The world is changed on trial only: the caller takes it back and folds the events instead.
"""

from collections.abc import Iterable, Sequence

from events.admission import Mode, QuotaReserved, RequeueReason
from events.catalogue import Decision
from events.event import Millis
from events.quota import PreemptionPolicy
from projections.gates import enabled
from projections.preemption.candidates import Candidate
from projections.preemption.classic import charge, discharge, fits_now
from projections.quota_columns import Usage
from projections.world import World
from services.admitter.cycle_order import in_turn
from services.admitter.entry import Entry, Head
from services.admitter.nomination import consider, nominate
from services.admitter.planning import plan_for
from services.admitter.telling import refusal_event, request_event

NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPPING = "Workload has overlapping preemption targets with another workload"
WAITING_FOR_QUOTA = "WaitingForQuota"

Preempted = dict[str, Candidate]
"""The victims of the entries that were processed so far, by key."""


class Cycle:
    """What a cycle decided, and which classes of refused workloads it found not to fit again."""

    __slots__ = ("at", "events", "examined", "world")

    def __init__(self, world: World, at: Millis) -> None:
        self.world, self.at = world, at
        self.events: list[Decision] = []
        self.examined: list[tuple[str, str]] = []
        """Cluster queue and class."""

    def run(self, entering: Sequence[Head]) -> None:
        """Decide about these heads. Usage is charged on trial as the cycle goes on."""
        world = self.world
        preempted: Preempted = {}
        for entry in in_turn(world, [nominate(world, head, self.at) for head in entering]):
            event = self._process(entry, preempted)
            if event is not None:
                self.events.append(event)

    def _process(self, entry: Entry, preempted: Preempted) -> Decision | None:
        if entry.assignment is not None and entry.mode is not Mode.NO_FIT:
            if any(victim.workload.key in preempted for victim in entry.victims):
                self._recompute(entry, preempted)
            if entry.mode is Mode.PREEMPT and not entry.victims:
                self._keep_room(entry)
                return self._refuse(entry, RequeueReason.PREEMPTION_NO_CANDIDATES, WAITING_FOR_QUOTA)
        if entry.assignment is None or entry.node is None or entry.mode is Mode.NO_FIT:
            return self._refuse(entry, entry.requeue or RequeueReason.NO_FIT)
        if entry.deferred:
            charge(self.world, entry.node, entry.usage)
            return self._refuse(entry, RequeueReason.PENDING_PREEMPTION, "WaitingForPreemptedWorkloads")
        if any(victim.workload.key in preempted for victim in entry.victims):
            return self._refuse(entry, RequeueReason.FAILED_AFTER_NOMINATION, WAITING_FOR_QUOTA, OVERLAPPING)
        if not self._fits_after(entry, preempted):
            return self._refuse(entry, RequeueReason.FAILED_AFTER_NOMINATION, WAITING_FOR_QUOTA, NO_LONGER_FITS)
        charge(self.world, entry.node, entry.usage)
        if entry.mode is Mode.PREEMPT:
            preempted.update({victim.workload.key: victim for victim in entry.victims})
            return request_event(self.world, entry)
        return self._reserve(entry)

    def _reserve(self, entry: Entry) -> Decision | None:
        if entry.assignment is None:
            return None
        self.world.cards.trial(entry.placements)
        return QuotaReserved(
            workload=entry.workload.key,
            cluster_queue=entry.queue.name,
            assignments=entry.assignment.assignments(),
            checks=required_checks(entry),
            borrow_level=entry.borrow,
            considered=tuple(attempt for attempt in entry.assignment.attempts if attempt.mode is not Mode.FIT),
            placements=entry.placements,
        )

    def _refuse(self, entry: Entry, requeue: RequeueReason, reason: str = "", message: str = "") -> Decision | None:
        entry.requeue = requeue
        event = refusal_event(self.world, entry, reason=reason, message=message)
        if event is None and entry.head.parked_as and requeue is not RequeueReason.FAILED_AFTER_NOMINATION:
            self.examined.append((entry.queue.name, entry.head.parked_as))
        return event

    def _recompute(self, entry: Entry, preempted: Preempted) -> None:
        """Look again, with the victims of earlier entries gone, on the flavors that were chosen (§4.2, step 2)."""
        if not enabled(self.world.settings, "RecomputeAssignmentUponPreemptionTargetsOverlap"):
            return
        if entry.assignment is None:
            return
        pinned = {
            (pod_set.name, resource): choice.flavor
            for pod_set in entry.assignment.pod_sets
            for resource, choice in pod_set.flavors.items()
        }
        mark = self.world.mark()
        self._discharge(preempted.values())
        for victim in preempted.values():
            self.world.holders(victim.node.name).remove(self.world.trail, victim.workload.key)
        consider(self.world, entry, plan_for(self.world, entry.head), self.at, pinned)
        entry.deferred = entry.mode is Mode.FIT
        self.world.undo(mark)

    def _fits_after(self, entry: Entry, preempted: Preempted) -> bool:
        """Whether the entry fits once its own victims and those of earlier entries are gone."""
        world = self.world
        if entry.node is None:
            return False
        mark = world.mark()
        self._discharge({**preempted, **{victim.workload.key: victim for victim in entry.victims}}.values())
        fits = fits_now(entry.node, entry.usage, borrowing=True)
        world.undo(mark)
        if fits and entry.placements:
            # Cards that an earlier entry of this cycle took on trial may be the very ones.
            mark = world.mark()
            world.cards.trial(entry.placements)
            fits = not world.cards.overfull({placement.node for placement in entry.placements})
            world.undo(mark)
        return fits

    def _discharge(self, victims: Iterable[Candidate]) -> None:
        for victim in victims:
            discharge(self.world, victim)

    def _keep_room(self, entry: Entry) -> None:
        """Hold capacity for a blocked preemptor for the rest of the cycle, unless it always gets its nominal back."""
        if entry.queue.preemption.reclaim_within_cohort is PreemptionPolicy.ANY or entry.node is None:
            return
        charge(self.world, entry.node, room_to_keep(entry))


def room_to_keep(entry: Entry) -> Usage:
    """What is held for a blocked entry (kueue-semantics §4.2, step 5)."""
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


def required_checks(entry: Entry) -> tuple[str, ...]:
    """The checks of the queue that apply to the flavors that were chosen."""
    if not entry.queue.checks:
        return ()
    flavors = {
        choice.flavor
        for pod_set in (entry.assignment.pod_sets if entry.assignment is not None else ())
        for choice in pod_set.flavors.values()
    }
    return tuple(
        sorted(rule.name for rule in entry.queue.checks if not rule.flavors or not flavors.isdisjoint(rule.flavors))
    )
