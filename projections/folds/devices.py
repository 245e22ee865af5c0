"""Folding nodes, cards and pods, and what the accountant decides about them."""

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.device import (
    AllocationStale,
    CapacityCovered,
    CapacityShort,
    CardQuotaObserved,
    CardReturned,
    DevicesRefused,
    DevicesRegistered,
    DevicesReleased,
    DevicesReserved,
    DriftDetected,
    DriftResolved,
    NodeLockObserved,
    NodeObserved,
    NodeUsageObserved,
    PluginLost,
    PodCardsAssigned,
    PodObserved,
)
from events.device_config import DeviceConfigObserved, NodeConfigsObserved
from projections.devices.annotations.pins import needs_pins
from projections.devices.holdings.card_care import OVERDUE, ReportedDrift, Suspect
from projections.devices.holdings.card_holdings import holding_key
from projections.devices.placement.pod_cards import assign, forget_assignments, keep_assignments
from projections.devices.state import config_of
from projections.folds.changed_configuration import flavor_changed, readjust, reconfigured
from projections.folds.refused_objects import accept
from projections.log_position import LogPosition
from projections.queues.retry import retry_all_refused
from projections.topology.domains.flavor_nodes import placing_flavors
from projections.topology.placement.node_failures import NOT_READY_FOR, review_places
from projections.topology.pods.pods_of_workloads import note_pod
from projections.workloads.lifecycle import Devices, Workload
from projections.workloads.slices import holder_of
from projections.world import World

CareEvent: TypeAlias = (
    CardReturned | PluginLost | DriftDetected | DriftResolved | AllocationStale | CapacityShort | CapacityCovered
)
DeviceEvent: TypeAlias = (
    NodeObserved
    | DevicesRegistered
    | NodeLockObserved
    | NodeUsageObserved
    | PodObserved
    | CardQuotaObserved
    | DeviceConfigObserved
    | NodeConfigsObserved
    | DevicesReserved
    | DevicesRefused
    | PodCardsAssigned
    | DevicesReleased
    | CareEvent
)


def evolve_devices(world: World, event: DeviceEvent, position: LogPosition) -> None:  # noqa: C901 - one case for each event
    """Fold one event about nodes, pods or cards."""
    put, drop, care = world.trail.put, world.trail.drop, world.cards.care
    match event:
        case NodeObserved():
            before = world.nodes.get(event.name)
            put(world.nodes, event.name, event)
            world.domains.node_changed(before, event)
            world.cards.change_service(event.name)
            care.node_seen(event.name)
            review_places(world, event.name)
            if event.not_ready_since:
                world.review_node_at(event.not_ready_since + NOT_READY_FOR, event.name)
            retry_all_refused(world)
        case DevicesRegistered():
            _register(world, event, position)
        case NodeLockObserved():
            # A pod is bound in a moment: nobody is placed otherwise for it, so nothing is looked at again.
            if event.since:
                put(world.node_locks, event.node, event)
            else:
                drop(world.node_locks, event.node)
        case PodObserved():
            _see_pod(world, event, position)
        case CardQuotaObserved():
            accept(world, "ResourceQuota", event.namespace, event.name)
            care.set_quota(event)
            readjust(world, event.namespace)
            retry_all_refused(world)
        case DeviceConfigObserved() | NodeConfigsObserved():
            _configure(world, event)
        case DevicesReserved():
            _reserve(world, event)
        case DevicesRefused():
            world.cards.withdraw(event.workload, event.reservation)
            refused = Devices(reservation=event.reservation, refused=event.reason, message=event.message)
            _answer(world, event.workload, refused)
        case NodeUsageObserved():
            _use_node(world, event)
        case PodCardsAssigned():
            assign(world, event)
        case DevicesReleased():
            world.cards.release(event.workload, event.reservation)
            forget_assignments(world, event.workload, event.reservation)
            retry_all_refused(world)
        case _:
            _evolve_care(world, event)


def _reserve(world: World, event: DevicesReserved) -> None:
    before = world.cards.holdings.get(holding_key(event.workload, event.reservation))
    world.cards.confirm(event.workload, event.reservation, event.placements)
    keep_assignments(world, event)
    had = world.workloads.get(event.workload)
    if (before is not None and before.confirmed) or (had is not None and had.devices is not None):
        retry_all_refused(world)  # A slice has become smaller, or pods have others: cards have come back.
    own = _told_apart(had) if had is not None else ()
    _answer(world, event.workload, Devices(reservation=event.reservation, placements=event.placements, own=own))


def _told_apart(workload: Workload) -> tuple[str, ...]:
    """The pod sets whose pods have cards of their own since they were let in."""
    if workload.admission is None or workload.devices is None:
        return ()
    if workload.devices.reservation != workload.admission.reservation:
        return ()
    sets = sorted({one.pod_set for one in workload.devices.placements} | set(workload.devices.own))
    return tuple(one for one in sets if one in workload.devices.own or needs_pins(workload, one))


def _configure(world: World, event: DeviceConfigObserved | NodeConfigsObserved) -> None:
    """HAMi's configuration changed: requests and the choice of cards follow it from now on; cards that are reserved stay so."""
    care, key = world.cards.care, f"{event.namespace}/{event.name}"
    accept(world, "ConfigMap", event.namespace, event.name)
    if isinstance(event, NodeConfigsObserved):
        world.trail.put(care.node_configs, key, event)
        return
    before = config_of(world)
    world.trail.put(care.device_configs, key, event)
    reconfigured(world, before)


def _register(world: World, event: DevicesRegistered, position: LogPosition) -> None:
    world.trail.put(world.registered, event.node, event)
    accept(world, "Node", "", event.node)
    for due in world.cards.care.register(event, position.at):
        world.look_again(due)
    if not world.cards.nodes:
        world.review_holders()
    world.cards.register(event)
    review_places(world, event.node)
    retry_all_refused(world)


def _use_node(world: World, event: NodeUsageObserved) -> None:
    """Other pods of a node hold more or less of it; where there is more room than before, refused workloads are tried again.

    Where there is less, who is at the head of his line may fit nowhere by now.
    """
    before: Mapping[str, int] = world.node_usage.get(event.node, {})
    if event.requests:
        world.trail.put(world.node_usage, event.node, event.requests)
    else:
        world.trail.drop(world.node_usage, event.node)
    world.domains.node_usage_changed(event.node, before, event.requests)
    placing = placing_flavors(world.flavors, world.nodes.get(event.node))
    world.quota.touch_users_of(placing)
    if any(event.requests.get(resource, 0) < amount for resource, amount in before.items()):
        for flavor in placing:
            flavor_changed(world, flavor)


def _see_pod(world: World, event: PodObserved, position: LogPosition) -> None:
    if event.elastic:
        # The pods of an elastic job outlive its slices: they belong to whichever holds the quota.
        event = replace(event, workload=holder_of(world, event.workload))
    note_pod(world, event)
    world.trail.put(world.pods, f"{event.namespace}/{event.name}", event)
    accept(world, "Pod", event.namespace, event.name)
    if not event.cardless and world.cards.observe_pod(event, position.at):
        retry_all_refused(world)
    suspect = world.cards.care.suspects.get(f"{event.namespace}/{event.name}")
    if suspect is not None:
        world.look_again(suspect.since + OVERDUE)
    if event.workload in world.workloads:
        world.work.mark_dirty(event.workload)


def _evolve_care(world: World, event: CareEvent) -> None:
    care = world.cards.care
    match event:
        case CardReturned():
            care.card_returned(event.card)
            world.cards.change_service(event.node)
            retry_all_refused(world)
        case PluginLost():
            care.plugin_lost(event.node, event.vendor, event.since)
            world.cards.change_service(event.node)
        case DriftDetected():
            if event.kind is not None:
                care.report(event.card, ReportedDrift(kind=event.kind, holder=event.holder, node=event.node))
        case DriftResolved():
            care.resolve(event.card, event.kind, event.holder)
        case AllocationStale():
            world.trail.put(care.stale, event.pod, Suspect(node=event.node, since=event.since, why=event.message))
        case CapacityShort():
            world.trail.put(care.short, f"{event.flavor}/{event.resource}", (event.nominal, event.offered))
        case CapacityCovered():
            world.trail.drop(care.short, f"{event.flavor}/{event.resource}")
        case _:
            assert_never(event)


def _answer(world: World, key: str, devices: Devices) -> None:
    workload = world.workloads.get(key)
    if workload is None or workload.admission is None or workload.admission.reservation != devices.reservation:
        return
    world.put_workload(replace(workload, devices=devices))
