"""One scheduling cycle over the heads of a tree, as Kueue runs it (kueue-semantics §4).

All heads are nominated against the quota at the beginning; then they are processed one by one, each on what the ones
before have left. The world is changed on trial only: the caller takes it back and folds the events instead.
"""

from collections.abc import Sequence

from events.admission import (
    AdmissionRefused,
    FlavorAttempt,
    Mode,
    PreemptionRequested,
    QuotaReserved,
    RequeueReason,
    Victim,
)
from events.catalogue import Decision
from events.event import Millis
from events.quota import PreemptionPolicy, StopPolicy
from events.workload import PodSetAssignment
from projections.gates import enabled
from projections.preemption.candidates import Candidate
from projections.preemption.classic import fits_now
from projections.quota_tree import FlavorResource
from projections.requeue_rule import stays_in_line
from projections.workloads import Workload
from projections.world import World
from services.admitter.nomination import Entry, nominate, refusal

NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPPING = "Workload has overlapping preemption targets with another workload"


def heads(world: World, tree: str) -> list[Workload]:
    """The first in line of every queue of the tree that takes workloads in."""
    found: list[Workload] = []
    for name in world.quota.members(tree):
        queue = world.cluster_queues.get(name)
        if queue is None or queue.stop is not StopPolicy.NONE or queue.terminating or world.quota.cyclic(name):
            continue
        key = world.lines.of(name).head()
        workload = world.workloads.get(key) if key is not None else None
        if workload is not None:
            found.append(workload)
    return found


def run_cycle(world: World, entering: Sequence[Workload], at: Millis) -> list[Decision]:
    """Decide about these heads; the events, in order. Usage is charged on trial as the cycle goes on."""
    entries: list[Entry] = []
    for workload in entering:
        queue = world.cluster_queue_of(workload)
        if queue is not None:
            entries.append(nominate(world, workload, queue, at))
    entries.sort(key=lambda entry: _order(world, entry))
    events: list[Decision] = []
    preempted: dict[str, Candidate] = {}
    for entry in entries:
        event = _process(world, entry, preempted)
        if event is not None:
            events.append(event)
    return events


def _order(world: World, entry: Entry) -> tuple[int, int, int, int, str, str]:
    """Smaller borrowing level, higher priority, older, UID (kueue-semantics §4.1)."""
    remembered = world.lines.of(entry.queue.name).held.get("preemptor") == entry.workload.key
    first = 0 if enabled(world.settings, "PrioritizePreemptorWorkloads") and remembered else 1
    by_priority = -entry.workload.priority if enabled(world.settings, "PrioritySortingWithinCohort") else 0
    return (first, entry.borrow, by_priority, entry.timestamp, entry.workload.uid, entry.workload.key)


def _process(world: World, entry: Entry, preempted: dict[str, Candidate]) -> Decision | None:
    if entry.assignment is None or entry.node is None or entry.mode is Mode.NO_FIT:
        entry.requeue = entry.requeue or RequeueReason.NO_FIT
        return _refuse(world, entry)
    if entry.mode is Mode.PREEMPT and not entry.victims:
        _keep_room(world, entry)
        entry.requeue = RequeueReason.PREEMPTION_NO_CANDIDATES
        return _refuse(world, entry, reason="WaitingForQuota")
    if any(victim.workload.key in preempted for victim in entry.victims):
        entry.requeue = RequeueReason.FAILED_AFTER_NOMINATION
        return _refuse(world, entry, reason="WaitingForQuota", message=OVERLAPPING)
    if not _fits_after(world, entry, preempted):
        entry.requeue = RequeueReason.FAILED_AFTER_NOMINATION
        return _refuse(world, entry, reason="WaitingForQuota", message=NO_LONGER_FITS)
    world.quota.add_usage(entry.queue.name, entry.usage)
    if entry.mode is Mode.PREEMPT:
        preempted.update({victim.workload.key: victim for victim in entry.victims})
        return _request(world, entry)
    world.cards.trial(entry.placements)
    return QuotaReserved(
        workload=entry.workload.key,
        cluster_queue=entry.queue.name,
        assignments=entry.assignment.assignments(),
        checks=_required_checks(entry),
        borrow_level=entry.borrow,
        considered=tuple(attempt for attempt in entry.assignment.attempts if attempt.mode is not Mode.FIT),
        placements=entry.placements,
    )


def _fits_after(world: World, entry: Entry, preempted: dict[str, Candidate]) -> bool:
    """Whether the entry fits once its own victims and those of earlier entries are gone."""
    if entry.node is None:
        return False
    mark = world.mark()
    for victim in (*preempted.values(), *entry.victims):
        world.quota.remove_usage(victim.queue, victim.usage)
    fits = fits_now(entry.node, entry.usage, borrowing=True)
    world.undo(mark)
    if fits and entry.placements:
        # Cards that an earlier entry of this cycle took on trial may be the very ones.
        mark = world.mark()
        world.cards.trial(entry.placements)
        fits = not world.cards.overfull({placement.node for placement in entry.placements})
        world.undo(mark)
    return fits


def _keep_room(world: World, entry: Entry) -> None:
    """Hold capacity for a blocked preemptor for the rest of the cycle, unless it can always get its nominal back."""
    if entry.queue.preemption.reclaim_within_cohort is PreemptionPolicy.ANY or entry.node is None:
        return
    world.quota.add_usage(entry.queue.name, room_to_keep(entry))


def room_to_keep(entry: Entry) -> dict[FlavorResource, int]:
    """What is held for a blocked entry (kueue-semantics §4.2, step 5)."""
    kept: dict[FlavorResource, int] = {}
    node = entry.node
    if node is None:
        return kept
    for fr, amount in entry.usage.items():
        quota, used = node.quotas.get(fr), node.usage.get(fr, 0)
        nominal = quota.nominal if quota is not None else 0
        if entry.borrow == 0:
            kept[fr] = max(0, min(amount, nominal - used))
        elif quota is None or quota.borrowing_limit is None:
            kept[fr] = amount
        else:
            kept[fr] = min(amount, nominal + quota.borrowing_limit - used)
    return kept


def _required_checks(entry: Entry) -> tuple[str, ...]:
    flavors = {
        choice.flavor
        for pod_set in (entry.assignment.pod_sets if entry.assignment is not None else ())
        for choice in pod_set.flavors.values()
    }
    return tuple(
        sorted(rule.name for rule in entry.queue.checks if not rule.flavors or not flavors.isdisjoint(rule.flavors))
    )


def _request(world: World, entry: Entry) -> Decision | None:
    if entry.assignment is None:
        return None
    victims = tuple(Victim(workload=victim.workload.key, reason=victim.reason) for victim in entry.victims)
    asked = PreemptionRequested(
        workload=entry.workload.key,
        cluster_queue=entry.queue.name,
        assignments=entry.assignment.assignments(),
        victims=victims,
        message=f"{entry.assignment.message}. Pending the preemption of {len(victims)} workload(s)",
        attempts=tuple(entry.assignment.attempts),
        borrow_level=entry.borrow,
    )
    last = entry.workload.attempt
    same = (
        isinstance(last, PreemptionRequested)
        and entry.workload.key in world.requests
        and {victim.workload for victim in last.victims} >= {victim.workload for victim in victims}
        and last.assignments == asked.assignments
    )
    return None if same else asked


def _refuse(world: World, entry: Entry, *, reason: str = "", message: str = "") -> Decision | None:
    told_reason, told_message = refusal(entry)
    attempts: tuple[FlavorAttempt, ...] = tuple(entry.assignment.attempts) if entry.assignment is not None else ()
    requests: tuple[PodSetAssignment, ...] = ()
    progress: tuple[tuple[str, str, int], ...] = ()
    if entry.assignment is not None:
        requests = tuple(
            PodSetAssignment(name=one.name, count=one.count, usage=dict(sorted(one.requests.items())))
            for one in entry.assignment.pod_sets
        )
        progress = tuple(step for step in entry.assignment.progress if step[2] >= 0)
    event = AdmissionRefused(
        workload=entry.workload.key,
        cluster_queue=entry.queue.name,
        requeue=entry.requeue,
        reason=reason or told_reason,
        message=message or told_message,
        attempts=attempts,
        requests=requests,
        progress=progress,
    )
    last = entry.workload.attempt
    if isinstance(last, AdmissionRefused) and (last.reason, last.message, last.requeue) == (
        event.reason,
        event.message,
        event.requeue,
    ):
        if stays_in_line(entry.queue, entry.requeue, progress):
            return None
        if last.attempts == attempts:
            return AdmissionRefused(
                workload=event.workload,
                cluster_queue=event.cluster_queue,
                requeue=event.requeue,
                reason=event.reason,
                message=event.message,
            )
    return event
