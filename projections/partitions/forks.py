"""Which trees can move into a partition that begins as a fork of theirs, and what goes with them.

All of it follows from facts for all, so every partition that folds an order finds the same.

Rule: docs/rules/log.md#moved
"""

from typing import NamedTuple

from events.partition_map import PartitionForked
from events.subjects import decisions_stream
from projections.partitions.homes import companions, queues_of_namespace
from projections.partitions.state import PartitionState


class MovedTrees(NamedTuple):
    """What goes along with the trees of an order."""

    queues: frozenset[str]
    """Cluster queues: all of those trees."""
    namespaces: frozenset[str]
    """Namespaces that are at home in the partition that is left, and whose local queues lead to those trees."""


def moved_by(world: PartitionState, order: PartitionForked) -> MovedTrees:
    """All that an order takes along, whether or not it can be followed."""
    queues = frozenset(name for tree in order.trees for name in world.quota.members(tree))
    origin = decisions_stream(str(order.origin))
    doors = (key for name in queues for key in world.local_queues_of.get(name, ()))
    asking = {key.partition("/")[0] for key in doors}
    return MovedTrees(queues, frozenset(one for one in asking if world.namespace_homes.get(one) == origin))


def why_not_forked(world: PartitionState, order: PartitionForked) -> str:
    """Why an order is not followed, with the object that is in the way and what to do; empty where it is."""
    origin, fork = decisions_stream(str(order.origin)), decisions_stream(str(order.partition))
    known = world.partition_map.get("")
    if known is None or order.origin >= order.partition or order.partition < known.partitions:
        return f"{fork} is no partition that can begin as a fork of {origin}"
    taken = fork in world.forks or fork in world.homes.values() or fork in world.namespace_homes.values()
    if taken or any(one.partition == order.partition for one in known.placements):
        return f"{fork} has trees already, and a tree moves into a partition that is fresh: name one that the log has not yet"
    moved = moved_by(world, order)
    return _in_the_way(world, order, moved, origin)


def _in_the_way(world: PartitionState, order: PartitionForked, moved: MovedTrees, origin: str) -> str:
    for tree in order.trees:
        members = world.quota.members(tree)
        if not any(world.homes.get(name) == origin for name in members):
            return f"no queue of {tree} is decided in {origin}"
    for name in sorted(moved.queues):
        if world.homes.get(name, origin) != origin:
            return f"ClusterQueue {name} is decided in {world.homes[name]}, not in {origin}: the tree is split, and a split tree does not move"
    for name in sorted(companions(world, moved.queues) - moved.queues):
        tree = world.quota.root_of(name)
        return f"{tree} places pods by the same topology as the trees that move: move {tree} with them"
    for name in sorted(moved.queues):
        for key in sorted(world.local_queues_of.get(name, ())):
            namespace = key.partition("/")[0]
            home = world.namespace_homes.get(namespace)
            if home == "":
                return (
                    f"LocalQueue {key} leads to ClusterQueue {name}, and its namespace had queues of several partitions, or none, when "
                    "its first job came: remove that LocalQueue, and submit the jobs in another namespace"
                )
            if home == origin and (stays := _staying(world, namespace, moved, origin)):
                tree = world.quota.root_of(stays)
                return (
                    f"namespace {namespace} leads to ClusterQueue {name} and to ClusterQueue {stays} of {tree}, which stays: "
                    f"move {tree} as well, or remove one of the two LocalQueues"
                )
    return ""


def _staying(world: PartitionState, namespace: str, moved: MovedTrees, origin: str) -> str:
    """A queue that a namespace leads to, and that stays where it is; empty where there is none."""
    others = queues_of_namespace(world, namespace) - moved.queues
    return min((one for one in others if world.homes.get(one) == origin), default="")
