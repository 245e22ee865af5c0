"""Folding where trees are decided: the map, the homes of queues, and workloads that wait for theirs.

A world keeps the workloads that are decided in its partition and no others, so nobody who decides or writes has to ask whose they are.
"""

from collections.abc import Iterable

from events.event import Millis
from events.partition_map import PartitionMapObserved
from events.routing import namespace_of
from events.workload import WorkloadChanged, WorkloadDeleted, WorkloadSubmitted
from events.workload_facts import WorkloadFact
from projections.budgets.counting import follow as count_in_budgets
from projections.budgets.partitions import budgeted_namespaces, let_go_of_use
from projections.folds.dispatch import drop_copies, drop_dispatch
from projections.folds.quota_automation import place_automation
from projections.folds.workloads import drop_workload
from projections.partitions.homes import FIRST, home_for, home_of_namespace, is_divided, leads, queues_of_namespace
from projections.world import World


def observe_map(world: World, event: PartitionMapObserved, at: Millis) -> None:
    """From now on trees are placed by a map; what was there before the first one, on a log that is in use, stays where it is."""
    first = not world.partition_map
    if first:
        _keep_in_the_first(world, event)
    world.trail.put(world.partition_map, "", event)
    if first and is_divided(world) and not leads(world):
        _leave_to_the_first(world, at)
    if first:
        for scope in sorted(world.budgets):
            world.budget_work.mark_dirty(scope)  # There are others from now on who share it.


def _keep_in_the_first(world: World, event: PartitionMapObserved) -> None:
    """Whatever may hold quota stays, and so does every tree that the map itself does not place.

    On a log on which nobody has asked for anything all queues can be placed. Logs of before there were versions don't show who has.
    """
    in_use = _in_use(world)
    shown = bool(world.versions.known) and not world.versions.epoch
    if shown and not in_use:
        return
    placed = {one.tree for one in event.placements}
    doors = {name: keys for name, keys in world.local_queues_of.items() if keys}
    for name in sorted({*world.cluster_queues, *doors}):
        asking = {key.partition("/")[0] for key in doors.get(name, ())}
        if (asking & in_use if shown else asking) or world.quota.root_of(name) not in placed:
            world.trail.put(world.homes, name, FIRST)
    for namespace in sorted(in_use):
        world.trail.put(world.namespace_homes, namespace, home_of_namespace(world, namespace))


def _leave_to_the_first(world: World, at: Millis) -> None:
    """What was there before the map is decided in the first partition: the others have folded it only until they knew."""
    for key in sorted(world.workloads):
        world.trail.put(world.elsewhere, key, None)
        drop_workload(world, key)
        count_in_budgets(world, key, at)
    let_go_of_use(world, budgeted_namespaces(world), at, counted_in=FIRST)
    for key in sorted({*world.dispatches, *world.left_behind}):
        drop_dispatch(world, key)
    for namespace in world.namespace_homes:
        _leave_copies(world, namespace)
    for key in sorted(world.accounted):
        world.trail.drop(world.accounted, key)
    for key in sorted(world.terminating):
        world.trail.drop(world.terminating, key)


def give_namespace_home(world: World, fact: WorkloadSubmitted) -> None:
    """With its first workload a namespace gets its home, for good, and so do the queues to which it leads.

    Facts about its workloads may then leave out the others. A local queue that leads to another partition later can't be asked from there.
    """
    namespace = namespace_of(fact)
    if not world.partition_map or namespace in world.namespace_homes:
        return
    for cluster_queue in sorted(queues_of_namespace(world, namespace)):
        _give_home(world, cluster_queue)
    world.trail.put(world.namespace_homes, namespace, home_of_namespace(world, namespace))
    _leave_copies(world, namespace)


def _leave_copies(world: World, namespace: str) -> None:
    """What was seen in other clusters of workloads of a namespace that is at home elsewhere is of no interest here.

    Where it has no home all partitions keep what is seen: a workload may be placed after its copies were seen.
    """
    home = world.namespace_homes[namespace]
    if home and home != world.partition and is_divided(world):
        for key in sorted(key for key in world.remotes if key.startswith(f"{namespace}/")):
            drop_copies(world, key)


def _in_use(world: World) -> set[str]:
    """The namespaces of which anything but queues was ever observed: they may have workloads."""
    places = (key.split("/") for key in world.versions.known)
    return {namespace for kind, namespace, *_ in places if namespace and kind != "LocalQueue"}


def give_home(world: World, cluster_queue: str) -> list[WorkloadFact]:
    """Give a queue its home as soon as a namespace with workloads leads to it; what is to be folded here now of those that waited for one."""
    if not world.partition_map or cluster_queue not in world.cluster_queues:
        return []
    if any(key.partition("/")[0] in world.namespace_homes for key in world.local_queues_of.get(cluster_queue, ())):
        _give_home(world, cluster_queue)
    return [one for key in sorted(world.unplaced) for one in _settle(world, key)]


def _give_home(world: World, cluster_queue: str) -> None:
    if cluster_queue in world.cluster_queues and cluster_queue not in world.homes:
        world.trail.put(world.homes, cluster_queue, home_for(world, cluster_queue))
        place_automation(world, (cluster_queue,))


def placed(world: World, event: WorkloadFact) -> list[WorkloadFact]:
    """What is folded here when a fact about a workload comes: nothing of what is decided elsewhere.

    What was observed of a workload while its queue had no home is folded as soon as that is here.
    """
    key = event.workload
    if isinstance(event, WorkloadSubmitted):
        give_namespace_home(world, event)
    if not is_divided(world):
        return [event]
    home = world.namespace_homes.get(namespace_of(event))
    if home:
        return [event] if home == world.partition else []
    if isinstance(event, WorkloadDeleted):
        world.trail.drop(world.elsewhere, key)
        world.trail.drop(world.unplaced, key)
        return [event]
    if key in world.unplaced:
        world.trail.put(world.unplaced, key, (*world.unplaced[key], event))
        here = [event] if key in world.workloads else []
        return here + _settle(world, key)
    if key in world.elsewhere:
        return []  # Whatever it asks for by now, its partition has not let go of it.
    if isinstance(event, WorkloadSubmitted) and key not in world.workloads:
        world.trail.put(world.unplaced, key, (event,))
        return _settle(world, key) or ([event] if key in world.unplaced and leads(world) else [])
    return [event]


def _settle(world: World, key: str) -> list[WorkloadFact]:
    """Place a workload if its queue has a home; what is to be folded of it here."""
    facts = world.unplaced[key]
    home = _home_of(world, facts)
    if home is None:
        return []
    world.trail.drop(world.unplaced, key)
    if home == world.partition:
        return [] if key in world.workloads else list(facts)
    world.trail.put(world.elsewhere, key, None)
    world.remote_work.mark_dirty(key)
    if key in world.workloads:
        drop_workload(world, key)
        drop_dispatch(world, key)
    return []


def _home_of(world: World, facts: Iterable[WorkloadFact]) -> str | None:
    """The home of the queue that a workload asks for; None while it has none."""
    asked = [one for one in facts if isinstance(one, WorkloadSubmitted | WorkloadChanged)]
    queue = world.local_queues.get(f"{asked[-1].workload.partition('/')[0]}/{asked[-1].spec.queue}")
    return None if queue is None else world.homes.get(queue.cluster_queue)
