"""Folding facts about configuration: queues, cohorts, flavors, classes, namespaces, settings.

After a change by which a refused workload may be admitted, its queue tries it again; a change of quota does so by itself
(docs/rules/queues.md#retry).
"""

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.configuration import ConfigurationObserved
from events.control import ObjectMended, ObjectRefused, ObjectRemoved
from events.multikueue import MultiKueueClusterObserved, MultiKueueConfigObserved
from events.pod import PodAccounted, PodEndForced
from events.quota import (
    AdmissionCheckObserved,
    ClusterQueueObserved,
    CohortObserved,
    ConfigurationFact,
    FlavorObserved,
    LimitRangeObserved,
    LocalQueueObserved,
    NamespaceObserved,
    PriorityClassObserved,
    QueueingStrategy,
)
from events.settings import SettingsObserved
from events.topology import TopologyObserved
from events.workload_object import WorkloadTerminating
from projections.claims.counted import counts_claims
from projections.configuration import table_of
from projections.devices.state import config_of
from projections.folds.changed_configuration import (
    flavor_changed,
    forget_plans,
    outdate_cards,
    readjust,
    reconfigured,
    review_multikueue,
)
from projections.folds.refused_objects import accept, refuse
from projections.limit_ranges import put_limit_range
from projections.log_position import LogPosition
from projections.partitions.homes import is_placed_here
from projections.queues.enqueue import line_up_refused
from projections.queues.retry import (
    retry_all_refused,
    retry_refused,
    retry_users_of_check,
    review_cluster_queue,
    review_local_queue,
)
from projections.topology.domains.flavor_nodes import placing_flavors
from projections.topology.placement.node_failures import review_owner, review_places
from projections.topology.pods.pods_of_workloads import forget_pod
from projections.trail import Trail
from projections.workloads.terminating import terminating
from projections.world import World

ObjectEvent: TypeAlias = (
    ConfigurationFact
    | SettingsObserved
    | PodAccounted
    | PodEndForced
    | WorkloadTerminating
    | ObjectRemoved
    | ObjectRefused
    | ObjectMended
)


def evolve_objects(world: World, event: ObjectEvent, position: LogPosition) -> None:  # noqa: C901, PLR0915 - one case after the other
    """Fold one fact about an object that is not a workload, a node or a pod."""
    put = world.trail.put
    match event:
        case ClusterQueueObserved():
            becomes_strict = _becomes_strict(world.cluster_queues.get(event.name), event)
            put(world.cluster_queues, event.name, event)
            accept(world, "ClusterQueue", "", event.name)
            world.quota.set_cluster_queue(event)
            if becomes_strict:
                line_up_refused(world, event.name)
            retry_refused(world.quota, world.lines, world.trail, event.name)
            review_cluster_queue(world, event.name)
        case CohortObserved():
            _review_if_moved(world, event.name, event.parent)
            put(world.cohorts, event.name, event)
            accept(world, "Cohort", "", event.name)
            world.quota.set_cohort(event)
        case LocalQueueObserved():
            key = f"{event.namespace}/{event.name}"
            _unhang(world.local_queues, world.local_queues_of, world.trail, key)
            put(world.local_queues, key, event)
            put(world.local_queues_of.setdefault(event.cluster_queue, {}), key, None)
            accept(world, "LocalQueue", event.namespace, event.name)
            review_local_queue(world.by_local_queue, world.work, key)
            world.quota.touch(event.cluster_queue)
        case FlavorObserved():
            put(world.flavors, event.name, event)
            world.domains.offers_changed()
            accept(world, "ResourceFlavor", "", event.name)
            flavor_changed(world, event.name)
        case TopologyObserved():
            put(world.topologies, event.name, event)
            world.domains.offers_changed()
            accept(world, "Topology", "", event.name)
            _retry_users_of_topology(world, event.name)
        case PriorityClassObserved():
            accept(
                world,
                "WorkloadPriorityClass" if event.workload else "PriorityClass",
                "",
                event.name,
            )
            put(world.priority_classes, _class_key(workload=event.workload, name=event.name), event)
        case NamespaceObserved():
            accept(world, "Namespace", "", event.name)
            put(world.namespaces, event.name, event)
            retry_all_refused(world)
        case AdmissionCheckObserved():
            accept(world, "AdmissionCheck", "", event.name)
            put(world.checks, event.name, event)
            retry_users_of_check(world, event.name)
        case MultiKueueConfigObserved():
            put(world.multikueue_configs, event.name, event)
            accept(world, event.kind, "", event.name)
            review_multikueue(world)
        case MultiKueueClusterObserved():
            put(world.multikueue_clusters, event.name, event)
            accept(world, event.kind, "", event.name)
            review_multikueue(world)
        case LimitRangeObserved():
            accept(world, "LimitRange", event.namespace, event.name)
            put(world.limit_ranges, f"{event.namespace}/{event.name}", event)
            put_limit_range(world.limits, world.trail, event.namespace, event.name, event)
            readjust(world, event.namespace)
        case ConfigurationObserved():
            _set_up(world, event)
        case SettingsObserved():
            before = config_of(world)
            put(world.sole, "settings", event)
            world.use(event)
            outdate_cards(world, before)
            if not counts_claims(event):
                # Nobody looks at them any more.
                world.trail.clear(world.resource_slices)
                world.trail.clear(world.resource_claims)
            _changed(world)
        case ObjectRefused():
            refuse(world, event)
            _review_refused(world, event)
        case ObjectMended():
            accept(world, event.kind, event.namespace, event.name)
        case PodEndForced():
            put(world.forced_pods, f"{event.namespace}/{event.pod}", event)
            world.work.mark_dirty(event.workload)  # There may be others that hang, and whatever else is due.
        case PodAccounted() if not is_placed_here(world, event.workload):
            pass
        case PodAccounted():
            key = f"{event.namespace}/{event.name}"
            put(world.accounted, key, event)
            world.pod_work.mark_dirty(key)
        case WorkloadTerminating() if not is_placed_here(world, f"{event.namespace}/{event.name}"):
            pass
        case WorkloadTerminating():
            key = f"{event.namespace}/{event.name}"
            put(world.terminating, key, terminating(event, world.workloads.get(key)))
            if key in world.workloads:
                world.work.mark_dirty(key)
        case ObjectRemoved():
            _remove(world, event, position)
        case _:
            assert_never(event)


def _set_up(world: World, event: ConfigurationFact) -> None:
    """Keep an object of which no more is known than that decisions may depend on it."""
    kind, namespace, name = event.place.split("/", 2)
    table = table_of(world, kind)
    if table is not None:
        accept(world, kind, namespace, name)
        world.trail.put(table, f"{namespace}/{name}" if namespace else name, event)
        _changed(world)


def _changed(world: World) -> None:
    """Anything that was planned or refused may come out otherwise."""
    forget_plans(world)
    retry_all_refused(world)


def _becomes_strict(before: ClusterQueueObserved | None, queue: ClusterQueueObserved) -> bool:
    was = before is not None and before.strategy is QueueingStrategy.STRICT_FIFO
    return queue.strategy is QueueingStrategy.STRICT_FIFO and not was


def _review_if_moved(world: World, cohort: str, parent: str) -> None:
    """Review all cluster queues if the cohort gets another parent: queues below a cycle of cohorts are inactive."""
    before = world.cohorts.get(cohort)
    if (before.parent if before is not None else "") != parent:
        for name in sorted(world.cluster_queues):
            review_cluster_queue(world, name)


def _review_refused(world: World, event: ObjectRefused) -> None:
    """Who asks for a queue that there is none of is told why."""
    match event.kind:
        case "ClusterQueue":
            review_cluster_queue(world, event.name)
        case "LocalQueue":
            review_local_queue(world.by_local_queue, world.work, f"{event.namespace}/{event.name}")
        case "MultiKueueConfig" | "MultiKueueCluster":
            review_multikueue(world)
        case _:
            pass


def _class_key(*, workload: bool, name: str) -> str:
    return f"{'WorkloadPriorityClass' if workload else 'PriorityClass'}/{name}"


def _unhang(
    local_queues: Mapping[str, LocalQueueObserved],
    local_queues_of: dict[str, dict[str, None]],
    trail: Trail,
    local_queue: str,
) -> None:
    old = local_queues.get(local_queue)
    if old is not None:
        trail.drop(local_queues_of.get(old.cluster_queue, {}), local_queue)


def _retry_users_of_topology(world: World, topology: str) -> None:
    for flavor in sorted(name for name, one in world.flavors.items() if one.topology == topology):
        flavor_changed(world, flavor)


def _drop_configs(world: World, key: str) -> None:
    before = config_of(world)
    world.trail.drop(world.cards.care.node_configs, key)
    world.trail.drop(world.cards.care.device_configs, key)
    reconfigured(world, before)


def _drop_card_quota(world: World, event: ObjectRemoved) -> None:
    world.cards.care.drop_quota(event.namespace, event.name)
    readjust(world, event.namespace)
    retry_all_refused(world)


def _remove(world: World, event: ObjectRemoved, position: LogPosition) -> None:  # noqa: C901, PLR0915 - one case after the other
    drop = world.trail.drop
    accept(world, event.kind, event.namespace, event.name)
    spaced = f"{event.namespace}/{event.name}"
    match event.kind:
        case "ClusterQueue":
            review_cluster_queue(world, event.name)
            drop(world.cluster_queues, event.name)
            world.quota.remove_cluster_queue(event.name)
        case "Cohort":
            _review_if_moved(world, event.name, "")
            drop(world.cohorts, event.name)
            world.quota.remove_cohort(event.name)
        case "LocalQueue":
            _unhang(world.local_queues, world.local_queues_of, world.trail, spaced)
            drop(world.local_queues, spaced)
            review_local_queue(world.by_local_queue, world.work, spaced)
        case "ResourceFlavor":
            flavor_changed(world, event.name)
            drop(world.flavors, event.name)
            world.domains.flavor_gone(event.name)
        case "Topology":
            drop(world.topologies, event.name)
            world.domains.offers_changed()
            _retry_users_of_topology(world, event.name)
        case "WorkloadPriorityClass" | "PriorityClass":
            drop(world.priority_classes, f"{event.kind}/{event.name}")
        case "Namespace":
            drop(world.namespaces, event.name)
        case "AdmissionCheck":
            drop(world.checks, event.name)
            for name in sorted(world.cluster_queues):
                review_cluster_queue(world, name)
        case "MultiKueueConfig":
            drop(world.multikueue_configs, event.name)
            review_multikueue(world)
        case "MultiKueueCluster":
            drop(world.multikueue_clusters, event.name)
            review_multikueue(world)
        case "LimitRange":
            drop(world.limit_ranges, spaced)
            put_limit_range(world.limits, world.trail, event.namespace, event.name, None)
            readjust(world, event.namespace)
        case "ResourceQuota":
            _drop_card_quota(world, event)
        case "ConfigMap":
            _drop_configs(world, spaced)
        case "ResourceSlice":
            drop(world.resource_slices, event.name)
        case "ResourceClaim":
            drop(world.resource_claims, spaced)
        case "Node":
            _remove_node(world, event.name)
        case "Pod":
            review_owner(world, spaced)
            if world.cards.remove_pod(spaced):
                retry_all_refused(world)
            forget_pod(world, spaced)
            drop(world.pods, spaced)
            drop(world.accounted, spaced)
            world.pod_work.forget(spaced)
        case "Workload":
            _remove_workload_object(world, spaced, position)
        case kind if (table := table_of(world, kind)) is not None:
            drop(table, spaced if event.namespace else event.name)
            _changed(world)
        case _:
            pass  # An object of a kind that decides nothing, such as a job that was refused.


def _remove_workload_object(world: World, key: str, position: LogPosition) -> None:
    """The Workload object is gone; a workload that still needs it has it made anew."""
    world.trail.drop(world.terminating, key)
    workload = world.workloads.get(key)
    if workload is not None and not workload.finished and not workload.in_cluster.discarded:
        world.put_workload(replace(workload, applied=0, seen=position.sequence))


def _remove_node(world: World, name: str) -> None:
    placed_on = placing_flavors(world.flavors, world.nodes.get(name))
    review_places(world, name)
    world.domains.node_changed(world.nodes.get(name), None)
    world.trail.drop(world.nodes, name)
    world.trail.drop(world.registered, name)
    world.trail.drop(world.node_locks, name)
    world.trail.drop(world.node_usage, name)
    world.cards.remove_node(name)
    if placed_on:
        retry_all_refused(world)
    if not world.cards.nodes:
        world.review_holders()
