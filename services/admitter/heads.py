"""Step 1 of a cycle, heads: one workload of each ClusterQueue that admits (docs/rules/cycle.md#heads).

Refused workloads are parked by class (Kueue: inadmissible, by scheduling equivalence). A class whose stamp is older than its
queue's is tried again as if it were in line. If it still does not fit, that is remembered in memory only, without an event,
and the next workload of the queue takes its place in the same cycle: so a service that has not remembered decides the same.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from events.event import Millis
from events.quota import ClusterQueueObserved, StopPolicy
from projections.devices.state import config_of
from projections.fair_sharing.past_usage import past_usage
from projections.fair_sharing.usage_mode import by_usage
from projections.preemption.requested import still_holds
from projections.preemption.state import PreemptionState
from projections.queues.active_condition import takes_in
from projections.queues.pending_queues import ParkedClass, PendingQueue, PlaceInLine
from projections.queues.state import QueueState
from projections.quota.state import QuotaState
from projections.workloads.lifecycle import Workload
from services.admitter.admission_prefilter import refused_again
from services.admitter.barriers import barrier_to
from services.admitter.concurrency_limits import workloads_over_limit
from services.admitter.entry import QueueHead, When
from services.admitter.flavor_plans import plan_for
from services.admitter.state import AdmitterState


def heads(world: AdmitterState, trees: Sequence[str], at: Millis) -> list[QueueHead]:
    """The head of every queue of these trees that takes workloads in and is not empty, in the order of the queues.

    Where one of them has preempted others, who have all gone, none is taken of those that were refused (docs/rules/cycle.md#room-was-made).
    """
    when = {tree: When(at=at, timed=world.quota.timed(tree), moving=changes_with_time(world, tree)) for tree in trees}
    if any(room_was_made(world, key) for key in world.requests):
        in_line = [one for tree in trees for one in _heads(world, tree, replace(when[tree], in_line=True))]
        if any(room_was_made(world, head.workload.key) for head in in_line):
            return in_line
    return [one for tree in trees for one in _heads(world, tree, when[tree])]


def room_was_made(world: PreemptionState, workload: str) -> bool:
    """Whether it has asked for room, and all who had to make it have gone: what is decided about it next ends its request.

    Rule: docs/rules/cycle.md#room-was-made
    """
    request = world.requests.get(workload)
    return request is not None and not any(still_holds(world.workloads, victim) for victim in request.victims)


def _heads(world: AdmitterState, tree: str, when: When) -> list[QueueHead]:
    found: list[QueueHead] = []
    for name in world.quota.members(tree):
        line = world.lines.of(name)
        if not line.waiting and not line.classes:
            continue
        queue = world.cluster_queues.get(name)
        if queue is None or not takes_in(world, name):
            continue
        head = head_of(world, queue, when)
        if head is not None:
            found.append(head)
    return found


def changes_with_time(world: QuotaState, tree: str) -> bool:
    """Whether the heads of a tree may change by time alone, because past usage decays (admission fair sharing)."""
    return world.settings.admission_fair_sharing is not None and any(
        by_usage(world, name) for name in world.quota.members(tree)
    )


def head_of(world: AdmitterState, queue: ClusterQueueObserved, when: When) -> QueueHead | None:
    """The head of a queue: the first in line, or the first of a parked class to be tried again; None when there is none.

    Under admission fair sharing it is that of the LocalQueue with the least past usage. Who may not be in the queue any more is
    parked in a moment, or goes to another one: nobody is tried in its place, and nothing is said of it.
    """
    find = _head_by_usage if by_usage(world, queue.name) else _head
    head = find(world, queue, world.lines.of(queue.name), when)
    return head if head is not None and _asks_here(world, head.workload, queue.name) else None


def _asks_here(world: QuotaState, workload: Workload, cluster_queue: str) -> bool:
    """Whether a workload is active, and its local queue takes workloads in and leads here; one that is gone says nothing else yet."""
    if not workload.spec.active:
        return False
    local_queue = world.local_queues.get(workload.local_queue)
    if local_queue is None:
        return True
    takes_in = local_queue.stop is StopPolicy.NONE and not local_queue.terminating
    return takes_in and local_queue.cluster_queue == cluster_queue


def remember(world: AdmitterState, head: QueueHead) -> None:
    """Remember that the head's class was refused as before, so that it is skipped until something changes."""
    moment = _moment(world, head.queue, head.when)
    _note(world, head.queue, head.parked_as, world.lines.of(head.queue.name), moment)


def _note(
    world: AdmitterState, queue: ClusterQueueObserved, kind: str, line: PendingQueue, moment: tuple[int, Millis]
) -> None:
    # The first of the class is part of it: the one that comes first after it may have no refusal on record yet.
    world.examined[(queue.name, kind)] = (*moment, line.classes[kind].members[0].key)


def _moment(world: QueueState, queue: ClusterQueueObserved, when: When) -> tuple[int, Millis]:
    """A version of all that the answer for a queue's parked classes depends on: the same version, the same answer."""
    changes = world.quota.changed(queue.name) + world.quota.lessened(queue.name) + world.lines.of(queue.name).news[0]
    if world.cards.nodes and any(not config_of(world).names.isdisjoint(group.resources) for group in queue.groups):
        changes += world.cards.count[0]  # What trees share beside their quota.
    return changes, when.at if when.timed or when.moving else 0


def _head(world: AdmitterState, queue: ClusterQueueObserved, line: PendingQueue, when: When) -> QueueHead | None:
    first, kind = line.head(), ""
    if line.classes:
        refused = _first_refused(world, queue, line, first, when)
        if refused is not None:
            first, kind = refused
    workload = world.workloads.get(first.key) if first is not None else None
    return None if workload is None else QueueHead(workload=workload, queue=queue, parked_as=kind, when=when)


def _head_by_usage(
    world: AdmitterState, queue: ClusterQueueObserved, line: PendingQueue, when: When
) -> QueueHead | None:
    """Whoever waits for the room of its victims; else the head of the LocalQueue with the least past usage.

    Rule: docs/rules/fair-sharing.md#usage-order, docs/rules/fair-sharing.md#usage-preemptor
    """
    while True:
        first = _first_by_local_queue(world, queue, line, when)
        if not first:
            return None
        *_, place, kind = min(
            (one[0].key not in world.requests, past_usage(world, local_queue, when.at), *one)
            for local_queue, one in first.items()
        )
        if not kind or not _would_be_refused_again(world, queue, place.key, kind):
            return QueueHead(workload=world.workloads[place.key], queue=queue, parked_as=kind, when=when)
        _note(world, queue, kind, line, _moment(world, queue, when))


def _first_by_local_queue(
    world: AdmitterState, queue: ClusterQueueObserved, line: PendingQueue, when: When
) -> dict[str, tuple[PlaceInLine, str]]:
    """By LocalQueue its first workload, and the class under which that is parked (empty when in line)."""
    first = {local_queue: (place, "") for local_queue, place in line.heads_by_local_queue()}
    for kind, parked in _retriable(world, queue, line, when):
        unseen = set(world.local_queues_of.get(queue.name, ()))
        for place in parked.members:
            local_queue = world.workloads[place.key].local_queue
            if local_queue not in first or place < first[local_queue][0]:
                first[local_queue] = (place, kind)
            unseen.discard(local_queue)
            if not unseen:
                break
    return first


def _first_refused(
    world: AdmitterState, queue: ClusterQueueObserved, line: PendingQueue, first: PlaceInLine | None, when: When
) -> tuple[PlaceInLine, str] | None:
    """The first parked workload that may be tried again, with its class, if it comes before the first in line."""
    best: tuple[PlaceInLine, str] | None = None
    for kind, parked in _retriable(world, queue, line, when):
        place = parked.members[0]
        if (first is not None and place > first) or (best is not None and place > best[0]):
            continue
        if _would_be_refused_again(world, queue, place.key, kind):
            _note(world, queue, kind, line, _moment(world, queue, when))
        else:
            best = (place, kind)
    return best


def _retriable(
    world: AdmitterState, queue: ClusterQueueObserved, line: PendingQueue, when: When
) -> Iterator[tuple[str, ParkedClass]]:
    """The parked classes for which something has changed since they were tried, by name."""
    if when.in_line:
        return
    stamp, moment = world.stamp(queue.name), _moment(world, queue, when)
    for kind, parked in line.classes.items():
        if parked.stamp == stamp and not when.timed:
            continue
        if parked.members and world.examined.get((queue.name, kind)) != (*moment, parked.members[0].key):
            yield kind, parked


def _would_be_refused_again(world: AdmitterState, queue: ClusterQueueObserved, key: str, kind: str) -> bool:
    workload, node = world.workloads.get(key), world.quota.node(queue.name)
    if workload is None or node is None or not world.shortcuts or barrier_to(world, workload, queue):
        return False
    if workloads_over_limit(world, queue):
        return False
    return refused_again(
        world, workload, plan_for(world, QueueHead(workload=workload, queue=queue, parked_as=kind)), node
    )
