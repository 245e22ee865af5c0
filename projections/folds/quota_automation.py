"""Folding what was told of the queues of other clusters, and what was decided about quota that follows them."""

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.multikueue import (
    MultiKueueClusterObserved,
    MultiKueueConfigObserved,
    QuotaAutomationEnded,
    QuotaAutomationSettled,
    RemoteQueuesObserved,
)
from events.quota import AdmissionCheckObserved, ClusterQueueObserved, LocalQueueObserved
from events.settings import SettingsObserved
from projections.checks.quota_automation import AutomationState
from projections.checks.state import DispatchState
from projections.log_position import LogPosition
from projections.partitions.homes import owns_queue

QuotaAutomationEvent: TypeAlias = RemoteQueuesObserved | QuotaAutomationSettled | QuotaAutomationEnded
_KINDS = ("ClusterQueue", "AdmissionCheck", "MultiKueueConfig", "MultiKueueCluster")


def evolve_quota_automation(world: DispatchState, event: QuotaAutomationEvent, position: LogPosition) -> None:
    """Fold one such event; what is told of a cluster that is gone by now changes nothing."""
    del position
    match event:
        case RemoteQueuesObserved():
            if event.cluster in world.multikueue_clusters:
                world.trail.put(world.remote_queues, event.cluster, event)
                review_automation(world, world.cluster_queues)
        case QuotaAutomationSettled():
            if event.cluster_queue in world.cluster_queues:
                world.trail.put(world.quota_automation, event.cluster_queue, event)
        case QuotaAutomationEnded():
            world.trail.drop(world.quota_automation, event.cluster_queue)
        case _:
            assert_never(event)


def review_automation(world: DispatchState, queues: Iterable[str]) -> None:
    """Have cluster queues looked at whose quota may have to follow otherwise."""
    for name in queues:
        world.automation_work.mark_dirty(name)


def place_automation(world: AutomationState, queues: Iterable[str]) -> None:
    """Where these queues are decided is another place by now: what was decided here about those of others is not kept."""
    for name in queues:
        world.automation_work.mark_dirty(name)
        if not owns_queue(world, name):
            world.trail.drop(world.quota_automation, name)


def miss_automation(world: DispatchState, event: AnyEvent) -> None:
    """Before an object is folded: which queues it concerns, and what is known of a queue or cluster that goes."""
    match event:
        case ClusterQueueObserved():
            review_automation(world, (event.name,))
        case LocalQueueObserved():
            review_automation(world, (event.cluster_queue, *_led_to(world, event)))
        case ObjectRemoved(kind="LocalQueue"):
            review_automation(world, _led_to(world, event))
        case AdmissionCheckObserved() | MultiKueueConfigObserved() | MultiKueueClusterObserved() | SettingsObserved():
            review_automation(world, world.cluster_queues)
        case ObjectRemoved() if event.kind in _KINDS:
            review_automation(world, world.cluster_queues)
            if event.kind == "ClusterQueue":
                world.trail.drop(world.quota_automation, event.name)
            elif event.kind == "MultiKueueCluster":
                world.trail.drop(world.remote_queues, event.name)
        case _:
            pass


def _led_to(world: DispatchState, local_queue: LocalQueueObserved | ObjectRemoved) -> tuple[str, ...]:
    """The cluster queue to which a local queue has led until now, if it was there."""
    known = world.local_queues.get(f"{local_queue.namespace}/{local_queue.name}")
    return () if known is None else (known.cluster_queue,)
