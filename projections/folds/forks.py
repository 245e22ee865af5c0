"""Folding that trees move into a partition that begins as a fork of theirs: each of the two lets go of what is the other's.

The fork has folded all that its origin had until here, so nothing has to be handed over.

Rule: docs/rules/log.md#moved
"""

from collections.abc import Collection

from events.event import Millis
from events.partition_map import PartitionForked
from events.subjects import decisions_stream
from projections.budgets.counting import follow as count_in_budgets
from projections.budgets.partitions import budgeted_namespaces, let_go_of_use
from projections.fair_sharing.admission_usage import follow as count_in_ledgers
from projections.folds.dispatch import drop_copies, drop_dispatch
from projections.folds.workloads import drop_workload
from projections.partitions.forks import moved_by, why_not_forked
from projections.partitions.homes import is_divided
from projections.set_aside.records import Scope
from projections.world import World


def observe_fork(world: World, order: PartitionForked, at: Millis) -> None:
    """From now on these trees, and the namespaces that lead to them, are at home in the fork."""
    if why_not_forked(world, order):
        return
    moved, fork = moved_by(world, order), decisions_stream(str(order.partition))
    for name in sorted(moved.queues):
        if name in world.homes:
            world.trail.put(world.homes, name, fork)
    for namespace in sorted(moved.namespaces):
        world.trail.put(world.namespace_homes, namespace, fork)
    world.trail.put(world.forks, fork, order)
    if not is_divided(world):
        return
    if world.partition == decisions_stream(str(order.origin)):
        let_go(world, moved.namespaces, at, counted_in=fork)
        _forget_trees(world, set(order.trees))
    elif world.partition == fork:
        keep_only(world, moved.namespaces, at, origin=decisions_stream(str(order.origin)))
        _forget_trees(world, set(world.quota.trees()) - set(order.trees))


def keep_only(world: World, namespaces: Collection[str], at: Millis, *, origin: str) -> None:
    """In a fork: let go of everything that is not of these namespaces, and is decided in its origin."""
    known = (world.workloads, world.accounted, world.terminating, world.dispatches, world.left_behind, world.remotes)
    found = {key.partition("/")[0] for table in known for key in table}
    let_go(world, (found | budgeted_namespaces(world)).difference(namespaces), at, counted_in=origin)


def let_go(world: World, namespaces: Collection[str], at: Millis, *, counted_in: str) -> None:
    """What is in these namespaces is decided in another partition from now on."""
    gone = [key for key in sorted(world.workloads) if key.partition("/")[0] in namespaces]
    for key in gone:
        if not world.namespace_homes.get(key.partition("/")[0]):
            world.trail.put(world.elsewhere, key, None)
        drop_workload(world, key)
        count_in_budgets(world, key, at)
        count_in_ledgers(world, key, at)
    for key in sorted({*world.dispatches, *world.left_behind, *world.remotes}):
        if key.partition("/")[0] in namespaces:
            drop_dispatch(world, key)
            drop_copies(world, key)
    for key in [key for key in world.accounted if key.partition("/")[0] in namespaces]:
        world.trail.drop(world.accounted, key)
    for key in [key for key in world.terminating if key.partition("/")[0] in namespaces]:
        world.trail.drop(world.terminating, key)
    let_go_of_use(world, namespaces, at, counted_in=counted_in)
    away = {key for key, one in world.aside.items() if one.scope is Scope.WORKLOAD and one.name in gone}
    for key in sorted(away):
        world.trail.drop(world.aside, key)


def _forget_trees(world: World, trees: Collection[str]) -> None:
    for key in sorted(key for key, one in world.aside.items() if one.scope is Scope.TREE and one.name in trees):
        world.trail.drop(world.aside, key)
