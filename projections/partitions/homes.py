"""Where a queue is decided: its home, given when anybody can first have asked for it, and kept.

A home follows from facts of the whole cluster alone, so every partition that folds them finds the same one.

Rule: docs/rules/log.md#placed
"""

import hashlib
from collections.abc import Iterable, Sequence

from events.catalogue import Fact
from events.partition_map import PartitionMapObserved
from events.quota import ClusterQueueObserved
from events.routing import is_routed, namespace_of
from events.subjects import LOG, decisions_stream, family_of
from projections.partitions.lineage import lineage
from projections.partitions.state import PartitionState, PlacedState

FIRST = decisions_stream("0")
"""The partition of all trees that were there before the map, and of workloads whose queue nobody knows."""


def is_divided(world: PartitionState) -> bool:
    """Whether other partitions decide about trees of this log, which this world leaves to them."""
    return bool(world.partition_map) and family_of(world.partition) == LOG


def knows_its_trees(world: PartitionState) -> bool:
    """Whether it is known what is decided here: a partition beside the first one learns it from the map, and decides nothing before."""
    return world.partition in ("", FIRST) or family_of(world.partition) != LOG or is_divided(world)


def leads(world: PartitionState) -> bool:
    """Whether what belongs to no tree is looked after here."""
    return not is_divided(world) or world.partition == FIRST


def is_placed_here(world: PlacedState, workload: str) -> bool:
    """Whether what is observed beside a workload, such as the end of a pod or a copy in another cluster, is taken care of here."""
    if not is_divided(world):
        return True
    home = world.namespace_homes.get(workload.partition("/")[0])
    if home:
        return home == world.partition
    return workload in world.workloads or (leads(world) and workload not in world.elsewhere)


def owns_queue(world: PartitionState, cluster_queue: str) -> bool:
    """Whether a cluster queue is decided here."""
    return not is_divided(world) or world.homes.get(cluster_queue, FIRST) == world.partition


def owns_tree(world: PartitionState, tree: str) -> bool:
    """Whether all queues of a tree, and of the topologies that they share with other trees, are decided here.

    A tree that is split among partitions is nobody's: each knows only what its own workloads hold.
    """
    if not is_divided(world):
        return True
    homes = homes_of_tree(world, tree)
    return homes == {world.partition} or (not homes and leads(world))


def owned_trees(world: PartitionState, trees: Sequence[str]) -> list[str]:
    """Those of several trees that are decided here, found by one look at each queue."""
    if not is_divided(world):
        return list(trees)
    if len(trees) == 1:
        return [tree for tree in trees if owns_tree(world, tree)]
    by_topology: dict[str, set[str]] = {}
    for name, home in world.homes.items():
        for topology in _topologies(world, world.cluster_queues.get(name)):
            by_topology.setdefault(topology, set()).add(home)
    found: list[str] = []
    for tree in trees:
        members = world.quota.members(tree)
        topologies = {one for name in members for one in _topologies(world, world.cluster_queues.get(name))}
        homes = homes_of(world, members).union(*(by_topology.get(one, ()) for one in topologies))
        if homes == {world.partition} or (not homes and leads(world)):
            found.append(tree)
    return found


def homes_of_tree(world: PartitionState, tree: str) -> set[str]:
    """The partitions of a tree's queues, and of those that share a topology with them: several where it is split."""
    return homes_of(world, _decided_together(world, tree))


def parts_of_tree(world: PartitionState, tree: str) -> dict[str, tuple[str, ...]]:
    """By partition the queues that it decides about, of a tree and of those that share a topology with it."""
    found: dict[str, list[str]] = {}
    for name in sorted(_decided_together(world, tree)):
        if name in world.homes:
            found.setdefault(world.homes[name], []).append(name)
    return {home: tuple(found[home]) for home in sorted(found)}


def _decided_together(world: PartitionState, tree: str) -> set[str]:
    members = world.quota.members(tree)
    return {*members, *companions(world, members)}


def homes_of(world: PartitionState, cluster_queues: Iterable[str]) -> set[str]:
    """The homes of those queues that have one."""
    return {world.homes[name] for name in cluster_queues if name in world.homes}


def home_for(world: PartitionState, cluster_queue: str) -> str:
    """The home of a queue that has none yet: that of its tree, else of whom it shares a topology with, else where the map names
    the tree, else that of a namespace in which it can be asked, else by a hash.
    """
    tree = world.quota.root_of(cluster_queue)
    members = world.quota.members(tree)
    if homes := homes_of(world, members) or homes_of(world, companions(world, members)):
        return min(homes)
    known = world.partition_map[""]
    asking = {key.partition("/")[0] for key in world.local_queues_of.get(cluster_queue, {})}
    namespaces = {home for name in asking if (home := world.namespace_homes.get(name))}
    return named_by(known, tree) or min(namespaces, default="") or hashed(known, tree)


def home_of_namespace(world: PartitionState, namespace: str) -> str:
    """The partition to which all local queues of a namespace lead as they are now; empty where they lead to none, or to several."""
    homes = homes_of(world, queues_of_namespace(world, namespace))
    return min(homes) if len(homes) == 1 else ""


def queues_of_namespace(world: PartitionState, namespace: str) -> set[str]:
    """The cluster queues to which the local queues of a namespace lead."""
    prefix = f"{namespace}/"
    return {one.cluster_queue for key, one in world.local_queues.items() if key.startswith(prefix)}


def is_foreign(world: PartitionState, fact: Fact) -> bool:
    """Whether a fact about a workload is folded in another partition, to which its whole namespace belongs."""
    if not world.namespace_homes or not is_routed(fact) or not is_divided(world):
        return False
    return (world.namespace_homes.get(namespace_of(fact)) or world.partition) != world.partition


def is_misrouted(world: PartitionState, fact: Fact, partition: str) -> bool:
    """Whether a fact that is for one partition alone is about a workload that is not decided there, nor in a fork of it.

    Who has not heard yet that a namespace has moved goes on sending to where it was; the fork reads that.
    """
    home = world.namespace_homes.get(namespace_of(fact), "") if is_routed(fact) else ""
    return not home or partition not in lineage(world.forks, home)


def named_by(known: PartitionMapObserved, tree: str) -> str:
    """The partition's stream in which the map has placed a tree; empty where it does not name it."""
    return next((decisions_stream(str(one.partition)) for one in known.placements if one.tree == tree), "")


def hashed(known: PartitionMapObserved, tree: str) -> str:
    """The partition's stream of a tree that nothing places, which follows from its name."""
    digest = hashlib.sha256(tree.encode()).digest()
    return decisions_stream(str(int.from_bytes(digest[:8]) % known.partitions))


def companions(world: PartitionState, cluster_queues: Iterable[str]) -> set[str]:
    """Those of which the pods are placed in the same domains as those of these queues, themselves included where they are placed at all."""
    topologies = {one for name in cluster_queues for one in _topologies(world, world.cluster_queues.get(name))}
    if not topologies:
        return set()
    return {name for name, queue in world.cluster_queues.items() if topologies & _topologies(world, queue)}


def _topologies(world: PartitionState, queue: ClusterQueueObserved | None) -> set[str]:
    if queue is None:
        return set()
    flavors = (world.flavors.get(name) for name in queue.flavors)
    return {flavor.topology for flavor in flavors if flavor is not None and flavor.topology}
