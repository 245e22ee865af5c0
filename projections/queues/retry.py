"""Who is tried again, and who is looked at again, when what refused workloads and waiting ones depend on has changed.

Rule: docs/rules/queues.md#retry

A change of quota has refused workloads tried again by itself; everything else that may let one in says so here.
"""

from collections.abc import Sequence

from projections.queues.enqueue import reclass
from projections.queues.pending_queues import PendingQueues
from projections.queues.state import QueueState
from projections.quota.state import QuotaState
from projections.quota.tree import QuotaTree
from projections.sorted_keys import SortedKeys
from projections.trail import Trail
from projections.work_queue import WorkQueue


def retry_refused(quota: QuotaTree, lines: PendingQueues, trail: Trail, cluster_queue: str) -> None:
    """Let what was refused in one queue be tried again."""
    lines.of(cluster_queue).retry_refused(trail)
    quota.touch(cluster_queue)


def retry_all_refused(world: QueueState) -> None:
    """Let everything that was refused be tried again."""
    for name in sorted(world.cluster_queues):
        retry_refused(world.quota, world.lines, world.trail, name)


def retry_users_of_flavor(world: QueueState, flavor: str) -> None:
    """Let what was refused in the trees of a flavor's queues be tried again, and have all workloads of these looked at."""
    _retry_trees(world, [name for name, queue in sorted(world.cluster_queues.items()) if flavor in queue.flavors])


def retry_users_of_check(world: QueueState, check: str) -> None:
    """Let what was refused in the trees of a check's queues be tried again, and have all workloads of these looked at."""
    asking = [
        name for name, queue in sorted(world.cluster_queues.items()) if any(one.name == check for one in queue.checks)
    ]
    _retry_trees(world, asking)


def _retry_trees(world: QueueState, changed: Sequence[str]) -> None:
    """Who waits in another queue of the tree may have to wait no more: only one that is active gives back what it borrows."""
    for tree in dict.fromkeys(map(world.quota.root_of, changed)):
        for name in world.quota.members(tree):
            retry_refused(world.quota, world.lines, world.trail, name)
    for name in changed:
        review_cluster_queue(world, name)


def reclass_namespace(world: QueueState, namespace: str) -> None:
    """Have what the workloads of a namespace ask for counted anew: what fills in their requests has changed."""
    for local_queue in sorted(world.by_local_queue):
        if local_queue.partition("/")[0] == namespace:
            for key in list(world.by_local_queue[local_queue]):
                reclass(world, world.workloads[key])


def review_local_queue(by_local_queue: dict[str, SortedKeys], work: WorkQueue, key: str) -> None:
    """Have all workloads of a local queue looked at."""
    for workload in by_local_queue.get(key, ()):
        work.mark_dirty(workload)


def review_cluster_queue(world: QuotaState, name: str) -> None:
    """Have all workloads whose local queue leads to this cluster queue looked at."""
    for key in world.local_queues_of.get(name, ()):
        review_local_queue(world.by_local_queue, world.work, key)
    for workload in world.holding.get(name, ()):
        world.work.mark_dirty(workload)
