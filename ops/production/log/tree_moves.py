"""Trees in use that move: into which partition each, what has to go with it, and what is in the way.

Rule: docs/rules/log.md#moved
"""

from collections.abc import Mapping, Sequence

from events.control import ForkedFrom
from events.partition_map import PartitionForked, PartitionMapObserved, TreePlacement
from events.subjects import decisions_stream
from projections.folds.partitions import observe_map
from projections.partitions.forks import MovedTrees, moved_by, why_not_forked
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.runtime.control_log import Control

STEP = 1_000_000_000
"""The numbers of a fork are above the next multiple of this that its origin is far from: more than it decides before it reads the order."""


class PartitionsRefused(ValueError):
    """A log can't be divided so, and what can be done instead."""


def fork_of(order: PartitionForked) -> ForkedFrom:
    """What CONTROL says of the partition into which an order moves trees."""
    return ForkedFrom(partition=order.partition, origin=order.origin, above=order.above)


def moves_of(
    world: World,
    after: PartitionMapObserved,
    moving: Sequence[TreePlacement],
    homes: Mapping[str, set[str]],
    control: Control,
    ends: Mapping[str, int],
    empty: Sequence[PartitionForked] = (),
) -> tuple[PartitionForked, ...]:
    """The orders that move trees, each to its partition, or none, once a map is folded; `ends` are the last sequences. Raises `PartitionsRefused`."""
    trees: dict[int, list[TreePlacement]] = {}
    for one in moving:
        trees.setdefault(one.partition, []).append(one)
    orders = [*empty, *(_order(trees[number], homes, control, ends) for number in sorted(trees))]
    with world.trial():
        observe_map(world, after, 0)
        for order in orders:
            if why := why_not_forked(world, order) or _in_the_way(world, order, moved_by(world, order)):
                what = (
                    f"{' and '.join(order.trees)} can't be moved"
                    if order.trees
                    else f"LOG_{order.partition} can't begin"
                )
                raise PartitionsRefused(f"{what} from LOG_{order.origin}: {why}")
    return tuple(orders)


def _order(
    trees: Sequence[TreePlacement], homes: Mapping[str, set[str]], control: Control, ends: Mapping[str, int]
) -> PartitionForked:
    partition = trees[0].partition
    origins = {one.tree: sorted(homes[one.tree]) for one in trees}
    for tree, found in origins.items():
        if len(found) > 1:
            raise PartitionsRefused(
                f"{tree} is split among {' and '.join(found)}, and a split tree does not move: `kuelog explain` says what to do"
            )
    where = {found[0] for found in origins.values()}
    if len(where) > 1:
        raise PartitionsRefused(
            f"trees of {' and '.join(sorted(where))} can't move to LOG_{partition} together: move those of one to a partition of their own"
        )
    where_from = where.pop()
    origin = int(where_from.removeprefix("LOG_"))
    if origin > partition:
        raise PartitionsRefused(
            f"{trees[0].tree} is decided in LOG_{origin}, and trees move to a partition with a higher number"
        )
    declared = control.forks.get(decisions_stream(str(partition)))
    if declared is not None and declared.origin != origin:
        raise PartitionsRefused(
            f"LOG_{partition} begins as a fork of LOG_{declared.origin}, and {trees[0].tree} is decided in LOG_{origin}: name another partition"
        )
    return _forked(partition, origin, sorted(one.tree for one in trees), control, ends)


def empty_fork(partition: int, control: Control, ends: Mapping[str, int]) -> PartitionForked:
    """The order by which a partition begins without trees, with what the origin that was said has folded, else the first partition."""
    declared = control.forks.get(decisions_stream(str(partition)))
    return _forked(partition, declared.origin if declared is not None else 0, (), control, ends)


def _forked(
    partition: int, origin: int, trees: Sequence[str], control: Control, ends: Mapping[str, int]
) -> PartitionForked:
    declared, where_from = control.forks.get(decisions_stream(str(partition))), decisions_stream(str(origin))
    reached = control.number(where_from, ends.get(where_from, 0))
    above = declared.above if declared is not None else _above(reached)
    return PartitionForked(partition=partition, origin=origin, above=above, trees=tuple(trees))


def _above(number: int) -> int:
    """Above a number that was given out, and those that come before the order is read."""
    return ((number + STEP // 2) // STEP + 1) * STEP


def _in_the_way(world: World, order: PartitionForked, moved: MovedTrees) -> str:
    """What only the partition that is left knows: workloads that would be torn from what they hold."""
    for key in sorted(world.workloads):
        workload = world.workloads[key]
        queue = _asked(world, workload)
        if not queue or world.homes.get(queue) != decisions_stream(str(order.origin)):
            continue
        stays, goes = workload.namespace not in moved.namespaces, queue in moved.queues
        if stays and goes:
            return (
                f"workload {key} is in ClusterQueue {queue}, and namespace {workload.namespace} does not move: no LocalQueue of it leads there "
                "any more, or its jobs were told before facts had versions. Wait until the workload has ended, or delete its job"
            )
        if not stays and not goes:
            return (
                f"workload {key} is in ClusterQueue {queue}, which stays, and namespace {workload.namespace} moves: "
                f"move {world.quota.root_of(queue) or 'that queue'} as well, wait until the workload has ended, or delete its job"
            )
        if goes and key in world.dispatches:
            return f"workload {key} is sent to another cluster: wait until it has ended"
    return ""


def _asked(world: World, workload: Workload) -> str:
    """The cluster queue whose quota a workload holds, or in which it waits; empty where that is none."""
    if workload.admission is not None:
        return workload.admission.cluster_queue
    return "" if workload.finished else workload.line
