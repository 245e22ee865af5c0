"""Who is decided about in a cycle: one head of each queue (kueue-semantics §3.6).

Workloads that were refused wait beside the line by class. A class whose stamp is older than its queue's is tried again as
if it were in line; that it was found not to fit once more is remembered without a word on the log.
"""

from events.quota import ClusterQueueObserved, StopPolicy
from projections.lines import Line, Place
from projections.world import World
from services.admitter.entry import Head
from services.admitter.hopeless import hopeless
from services.admitter.planning import plan_for


def heads(world: World, tree: str) -> list[Head]:
    """The first of every queue of the tree that takes workloads in."""
    found: list[Head] = []
    for name in world.quota.members(tree):
        queue = world.cluster_queues.get(name)
        if queue is None or queue.stop is not StopPolicy.NONE or queue.terminating or world.quota.cyclic(name):
            continue
        head = _head(world, queue, world.lines.of(name))
        if head is not None:
            found.append(head)
    return found


def _head(world: World, queue: ClusterQueueObserved, line: Line) -> Head | None:
    first, kind = line.head(), ""
    if line.classes:
        refused = _first_refused(world, queue, line, first)
        if refused is not None:
            first, kind = refused
    workload = world.workloads.get(first[1]) if first is not None else None
    return None if workload is None else Head(workload=workload, queue=queue, parked_as=kind)


def _first_refused(
    world: World, queue: ClusterQueueObserved, line: Line, first: Place | None
) -> tuple[Place, str] | None:
    """The first of the refused ones that may be tried again, if it comes before the first in line."""
    stamp = world.stamp(queue.name)
    by_time = queue.preemption.minimum_runtime or queue.preemption.cooldown
    best: tuple[Place, str] | None = None
    for kind, parked in line.classes.items():
        if parked.stamp == stamp and not by_time:
            continue
        if world.examined.get((queue.name, kind)) == stamp or not parked.members:
            continue
        place = parked.members[0]
        if (first is not None and place > first) or (best is not None and place > best[0]):
            continue
        if _hopeless(world, queue, place[1], kind):
            world.examined[(queue.name, kind)] = stamp
        else:
            best = (place, kind)
    return best


def _hopeless(world: World, queue: ClusterQueueObserved, key: str, kind: str) -> bool:
    workload, node = world.workloads.get(key), world.quota.node(queue.name)
    if workload is None or node is None:
        return False
    return hopeless(world, workload, plan_for(world, Head(workload=workload, queue=queue, parked_as=kind)), node)
