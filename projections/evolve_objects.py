"""Folding what the cluster's own objects say: queues, cohorts, flavors, classes, namespaces, settings.

A change that may let a parked workload in asks for its queue, or its whole tree, to be woken (kueue-semantics §3.8).
"""

from typing import TypeAlias, assert_never

from events.control import ObjectRefused, ObjectRemoved
from events.quota import (
    AdmissionCheckObserved,
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    LimitRangeObserved,
    LocalQueueObserved,
    NamespaceObserved,
    PriorityClassObserved,
    RuntimeClassObserved,
)
from events.settings import SettingsObserved
from projections.world import World

ObjectEvent: TypeAlias = (
    ClusterQueueObserved
    | CohortObserved
    | LocalQueueObserved
    | FlavorObserved
    | PriorityClassObserved
    | NamespaceObserved
    | AdmissionCheckObserved
    | LimitRangeObserved
    | RuntimeClassObserved
    | SettingsObserved
    | ObjectRemoved
    | ObjectRefused
)


def evolve_objects(world: World, event: ObjectEvent) -> None:  # noqa: C901 - one case after the other
    """Fold one fact about an object that is not a workload, a node or a pod."""
    put = world.trail.put
    match event:
        case ClusterQueueObserved():
            put(world.cluster_queues, event.name, event)
            _accept(world, "ClusterQueue", "", event.name)
            world.quota.set_cluster_queue(event)
            wake_tree(world, event.name, "ClusterQueueUpdated")
            review_cluster_queue(world, event.name)
        case CohortObserved():
            put(world.cohorts, event.name, event)
            _accept(world, "Cohort", "", event.name)
            world.quota.set_cohort(event)
            wake_cohort(world, event.name, "CohortUpdated")
        case LocalQueueObserved():
            key = f"{event.namespace}/{event.name}"
            put(world.local_queues, key, event)
            _accept(world, "LocalQueue", event.namespace, event.name)
            review_local_queue(world, key)
        case FlavorObserved():
            put(world.flavors, event.name, event)
            _accept(world, "ResourceFlavor", "", event.name)
            _wake_users_of_flavor(world, event.name)
        case PriorityClassObserved():
            put(world.priority_classes, _class_key(workload=event.workload, name=event.name), event)
        case NamespaceObserved():
            put(world.namespaces, event.name, event)
            for name in sorted(world.cluster_queues):
                wake(world, name, "NamespaceUpdated")
        case AdmissionCheckObserved():
            put(world.checks, event.name, event)
            for name, queue in sorted(world.cluster_queues.items()):
                if any(rule.name == event.name for rule in queue.checks):
                    wake(world, name, "AdmissionCheckUpdated")
                    review_cluster_queue(world, name)
        case LimitRangeObserved():
            put(world.limit_ranges, f"{event.namespace}/{event.name}", event)
            for name in sorted(world.cluster_queues):
                wake(world, name, "LimitRangeUpdated")
        case RuntimeClassObserved():
            put(world.runtime_classes, event.name, event)
        case SettingsObserved():
            put(world.sole, "settings", event)
            world.settings_changed()
        case ObjectRefused():
            put(world.refused, f"{event.kind}/{event.namespace}/{event.name}", event)
        case ObjectRemoved():
            _remove(world, event)
        case _:
            assert_never(event)


def wake(world: World, cluster_queue: str, cause: str) -> None:
    """Ask for the parked workloads of one queue to be tried again."""
    if cluster_queue not in world.wakes and world.lines.of(cluster_queue).parked:
        world.trail.put(world.wakes, cluster_queue, cause)


def wake_tree(world: World, cluster_queue: str, cause: str) -> None:
    """Ask for the parked workloads of all queues of the tree to be tried again: they share its quota."""
    for member in world.quota.members(world.quota.root_of(cluster_queue)):
        wake(world, member, cause)


def wake_cohort(world: World, cohort: str, cause: str) -> None:
    """Ask for the parked workloads of every queue in the cohort's tree to be tried again."""
    for tree in world.quota.trees():
        members = world.quota.members(tree)
        if tree == cohort or cohort in world.quota.cohorts_of(tree):
            for member in members:
                wake(world, member, cause)


def review_local_queue(world: World, key: str) -> None:
    """Have all workloads of a local queue looked at."""
    for workload in world.by_local_queue.get(key, ()):
        world.review[workload] = None


def review_cluster_queue(world: World, name: str) -> None:
    """Have all workloads whose local queue leads to this cluster queue looked at."""
    for key, door in sorted(world.local_queues.items()):
        if door.cluster_queue == name:
            review_local_queue(world, key)
    for workload in world.holding.get(name, ()):
        world.review[workload] = None


def _accept(world: World, kind: str, namespace: str, name: str) -> None:
    world.trail.drop(world.refused, f"{kind}/{namespace}/{name}")


def _class_key(*, workload: bool, name: str) -> str:
    return f"{'WorkloadPriorityClass' if workload else 'PriorityClass'}/{name}"


def _wake_users_of_flavor(world: World, flavor: str) -> None:
    for name, queue in sorted(world.cluster_queues.items()):
        if any(quotas.flavor == flavor for group in queue.groups for quotas in group.flavors):
            wake(world, name, "FlavorUpdated")
            review_cluster_queue(world, name)


def _remove(world: World, event: ObjectRemoved) -> None:  # noqa: C901 - one case after the other
    drop = world.trail.drop
    _accept(world, event.kind, event.namespace, event.name)
    spaced = f"{event.namespace}/{event.name}"
    match event.kind:
        case "ClusterQueue":
            review_cluster_queue(world, event.name)
            wake_tree(world, event.name, "ClusterQueueRemoved")
            drop(world.cluster_queues, event.name)
            world.quota.remove_cluster_queue(event.name)
        case "Cohort":
            wake_cohort(world, event.name, "CohortRemoved")
            drop(world.cohorts, event.name)
            world.quota.remove_cohort(event.name)
        case "LocalQueue":
            drop(world.local_queues, spaced)
            review_local_queue(world, spaced)
        case "ResourceFlavor":
            _wake_users_of_flavor(world, event.name)
            drop(world.flavors, event.name)
        case "WorkloadPriorityClass" | "PriorityClass":
            drop(world.priority_classes, f"{event.kind}/{event.name}")
        case "Namespace":
            drop(world.namespaces, event.name)
        case "AdmissionCheck":
            drop(world.checks, event.name)
            for name in sorted(world.cluster_queues):
                review_cluster_queue(world, name)
        case "LimitRange":
            drop(world.limit_ranges, spaced)
        case "RuntimeClass":
            drop(world.runtime_classes, event.name)
        case "Node":
            drop(world.nodes, event.name)
            drop(world.registered, event.name)
            world.cards.remove_node(event.name)
        case "Pod":
            world.cards.remove_pod(spaced)
            drop(world.pods, spaced)
        case _:
            pass  # An object of a kind that decides nothing, such as a job that was refused.
