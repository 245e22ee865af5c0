"""Folding nodes, cards and pods, and what the accountant decides about them."""

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.device import (
    AllocationStale,
    DevicesRefused,
    DevicesRegistered,
    DevicesReleased,
    DevicesReserved,
    DriftDetected,
    NodeObserved,
    PodObserved,
)
from projections.evolve_objects import wake
from projections.place import Place
from projections.workloads import Devices
from projections.world import World

DeviceEvent: TypeAlias = (
    NodeObserved
    | DevicesRegistered
    | PodObserved
    | DevicesReserved
    | DevicesRefused
    | DevicesReleased
    | DriftDetected
    | AllocationStale
)


def evolve_devices(world: World, event: DeviceEvent, place: Place) -> None:
    """Fold one event about nodes, pods or cards."""
    del place
    match event:
        case NodeObserved():
            world.trail.put(world.nodes, event.name, event)
            wake_all(world, "NodeChanged")
        case DevicesRegistered():
            world.trail.put(world.registered, event.node, event)
            world.cards.register(event)
            wake_all(world, "DevicesRegistered")
        case PodObserved():
            key = f"{event.namespace}/{event.name}"
            world.trail.put(world.pods, key, event)
            world.cards.observe_pod(event, covered=bool(event.workload) and world.cards.covers(event.workload))
            if event.workload in world.workloads:
                world.review[event.workload] = None
        case DevicesReserved():
            world.cards.confirm(event.workload, event.reservation, event.placements)
            _answer(world, event.workload, Devices(reservation=event.reservation, placements=event.placements))
        case DevicesRefused():
            world.cards.withdraw(event.workload, event.reservation)
            refused = Devices(reservation=event.reservation, refused=event.reason, message=event.message)
            _answer(world, event.workload, refused)
        case DevicesReleased():
            world.cards.release(event.workload, event.reservation)
            wake_all(world, "DevicesReleased")
        case DriftDetected() | AllocationStale():
            pass  # Told to people; the ledger already charges what is really there.
        case _:
            assert_never(event)


def wake_all(world: World, cause: str) -> None:
    """Ask for all parked workloads to be tried again: cards serve every tree."""
    for name in world.lines.names():
        wake(world, name, cause)


def _answer(world: World, key: str, devices: Devices) -> None:
    workload = world.workloads.get(key)
    if workload is None or workload.admission is None or workload.admission.reservation != devices.reservation:
        return
    world.put_workload(replace(workload, devices=devices))
