"""Who is decided about in a cycle: one head of each queue (docs/rules/cycle.md#heads).

Workloads that were refused wait beside the line by class. A class whose stamp is older than its queue's is tried again as
if it were in line; that it was found not to fit once more is remembered without a word on the log. The next of its queue
takes its place in the same cycle, so that nobody is decided about otherwise where that is not remembered.
"""

from collections.abc import Iterator

from events.event import Millis
from events.quota import ClusterQueueObserved, StopPolicy
from projections.configured_cards import config_of
from projections.fair_sharing.past_usage import past_usage
from projections.fair_sharing.usage_mode import by_usage
from projections.queues.pending_queues import ParkedClass, PendingQueue, Place
from projections.world import World
from services.admitter.admission_prefilter import refused_again
from services.admitter.barriers import barrier_of
from services.admitter.concurrency_limits import workloads_over_limit
from services.admitter.entry import Head, When
from services.admitter.flavor_plans import plan_for


def heads(world: World, tree: str, at: Millis) -> list[Head]:
    """The first of every queue of the tree that takes workloads in."""
    found: list[Head] = []
    when = When(at=at, timed=world.quota.timed(tree), moving=changes_with_time(world, tree))
    for name in world.quota.members(tree):
        line = world.lines.of(name)
        if not line.waiting and not line.classes:
            continue
        queue = world.cluster_queues.get(name)
        if queue is None or queue.stop is not StopPolicy.NONE or queue.terminating or world.quota.cyclic(name):
            continue
        head = head_of(world, queue, when)
        if head is not None:
            found.append(head)
    return found


def changes_with_time(world: World, tree: str) -> bool:
    """Whether somebody else may come first there though nothing happened: past usage fades."""
    return world.settings.admission_fair_sharing is not None and any(
        by_usage(world, name) for name in world.quota.members(tree)
    )


def head_of(world: World, queue: ClusterQueueObserved, when: When) -> Head | None:
    """The first of a queue."""
    if by_usage(world, queue.name):
        return _head_by_usage(world, queue, world.lines.of(queue.name), when)
    return _head(world, queue, world.lines.of(queue.name), when)


def remember(world: World, head: Head) -> None:
    """The head's class of refused workloads was found not to fit again."""
    moment = _moment(world, head.queue, head.when)
    _note(world, head.queue, head.parked_as, world.lines.of(head.queue.name), moment)


def _note(world: World, queue: ClusterQueueObserved, kind: str, line: PendingQueue, moment: tuple[int, Millis]) -> None:
    # The first of the class is part of it: whoever comes first after him may never have been told anything.
    world.examined[(queue.name, kind)] = (*moment, line.classes[kind].members[0][1])


def _moment(world: World, queue: ClusterQueueObserved, when: When) -> tuple[int, Millis]:
    """As long as this is the same, the answer is."""
    changes = world.quota.changed(queue.name) + world.lines.of(queue.name).news[0]
    if world.cards.nodes and any(not config_of(world).names.isdisjoint(group.resources) for group in queue.groups):
        changes += world.cards.count[0]  # What trees share beside their quota.
    return changes, when.at if when.timed or when.moving else 0


def _head(world: World, queue: ClusterQueueObserved, line: PendingQueue, when: When) -> Head | None:
    first, kind = line.head(), ""
    if line.classes:
        refused = _first_refused(world, queue, line, first, when)
        if refused is not None:
            first, kind = refused
    workload = world.workloads.get(first[1]) if first is not None else None
    return None if workload is None else Head(workload=workload, queue=queue, parked_as=kind, when=when)


def _head_by_usage(world: World, queue: ClusterQueueObserved, line: PendingQueue, when: When) -> Head | None:
    """The first of the local queue that has used the least (docs/rules/fair-sharing.md#usage-order)."""
    while True:
        first = _first_by_door(world, queue, line, when)
        if not first:
            return None
        _, (_, key), kind = min((past_usage(world, local_queue, when.at), *one) for local_queue, one in first.items())
        if not kind or not _hopeless(world, queue, key, kind):
            return Head(workload=world.workloads[key], queue=queue, parked_as=kind, when=when)
        _note(world, queue, kind, line, _moment(world, queue, when))


def _first_by_door(
    world: World, queue: ClusterQueueObserved, line: PendingQueue, when: When
) -> dict[str, tuple[Place, str]]:
    """By local queue, who would be first if there were no other, and the class under which it is parked."""
    first = {local_queue: (place, "") for local_queue, place in line.heads_by_local_queue()}
    for kind, parked in _retriable(world, queue, line, when):
        unseen = set(world.local_queues_of.get(queue.name, ()))
        for place in parked.members:
            local_queue = world.workloads[place[1]].local_queue
            if local_queue not in first or place < first[local_queue][0]:
                first[local_queue] = (place, kind)
            unseen.discard(local_queue)
            if not unseen:
                break
    return first


def _first_refused(
    world: World, queue: ClusterQueueObserved, line: PendingQueue, first: Place | None, when: When
) -> tuple[Place, str] | None:
    """The first of the refused ones that may be tried again, if it comes before the first in line."""
    best: tuple[Place, str] | None = None
    for kind, parked in _retriable(world, queue, line, when):
        place = parked.members[0]
        if (first is not None and place > first) or (best is not None and place > best[0]):
            continue
        if _hopeless(world, queue, place[1], kind):
            _note(world, queue, kind, line, _moment(world, queue, when))
        else:
            best = (place, kind)
    return best


def _retriable(
    world: World, queue: ClusterQueueObserved, line: PendingQueue, when: When
) -> Iterator[tuple[str, ParkedClass]]:
    """The classes of refused workloads for which something has changed since they were tried."""
    stamp, moment = world.stamp(queue.name), _moment(world, queue, when)
    for kind, parked in line.classes.items():
        if parked.stamp == stamp and not when.timed:
            continue
        if parked.members and world.examined.get((queue.name, kind)) != (*moment, parked.members[0][1]):
            yield kind, parked


def _hopeless(world: World, queue: ClusterQueueObserved, key: str, kind: str) -> bool:
    workload, node = world.workloads.get(key), world.quota.node(queue.name)
    if workload is None or node is None or not world.shortcuts or barrier_of(world, workload, queue):
        return False
    if workloads_over_limit(world, queue):
        return False
    return refused_again(world, workload, plan_for(world, Head(workload=workload, queue=queue, parked_as=kind)), node)
