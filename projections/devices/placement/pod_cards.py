"""Which pod of a workload has which of the cards that were reserved for all of them.

A job makes all pods of a set alike, but the cards reserved for them may differ. Where they do, each pod is assigned its
own and annotated with them before its scheduling gate is removed; the assignments are on the log (`PodCardsAssigned`).

Rule: docs/rules/devices.md#own-cards
"""

from collections.abc import Collection, Iterator, Mapping

import msgspec

from events.device import DevicesReserved, PodCardsAssigned, PodObserved, PodPlacement
from events.workload import Member, MemberState
from projections.devices.annotations.pins import needs_pins, pins, placements_of
from projections.devices.holdings.card_holdings import TERMINAL
from projections.devices.placement.elastic_pods import pods_with_room
from projections.devices.state import DeviceState
from projections.nodes.affinity import has_labels
from projections.workloads.lifecycle import Workload
from projections.workloads.slices import chain_of, holder_of, is_replaced


def assigned(world: DeviceState, workload: Workload) -> tuple[PodCardsAssigned, ...]:
    """The assignments of cards to pods under the reservation in force."""
    reservation = workload.devices.reservation if workload.devices is not None else 0
    return tuple(one for one in world.pod_cards.get(workload.key, ()) if one.reservation == reservation)


def living_assignments(world: DeviceState, workload: Workload) -> set[tuple[str, int]]:
    """The pod set and index of each placement that a living pod has."""
    return {(one.pod_set, one.index) for one in assigned(world, workload) if _lives(world, workload, one)}


def pins_by_pod(world: DeviceState, workload: Workload) -> dict[str, dict[str, str]]:
    """By pod UID, the annotations that keep each pod to the cards assigned to it."""
    found = {(one.pod_set, one.index): one for one in (workload.devices.placements if workload.devices else ())}
    return {one.uid: pins([found[one.pod_set, one.index]]) for one in assigned(world, workload)}


Homes = Mapping[str, Mapping[str, Mapping[str, str]]]
"""By pod set that is placed by topology and UID of a pod, the labels of the domain where it is to run; none for who waits."""


def next_assignments(world: DeviceState, workload: Workload, homes: Homes) -> Iterator[PodCardsAssigned]:
    """Assign cards that no living pod has to gated pods: those of its index to a pod of an Indexed Job, else the first.

    A pod that is placed by topology gets cards of its domain (docs/rules/topology.md#card-pins).
    """
    if workload.devices is None:
        return
    held_back = _held_back(world, workload)
    for pod_set in sorted({one.pod_set for one in workload.devices.placements}):
        if needs_pins(workload, pod_set):
            reservation, of_set = workload.devices.reservation, homes.get(pod_set)
            yield from _for_set(world, workload, reservation, pod_set, of_set, held_back)


def _for_set(
    world: DeviceState,
    workload: Workload,
    reservation: int,
    pod_set: str,
    homes: Mapping[str, Mapping[str, str]] | None,
    held_back: Collection[str],
) -> Iterator[PodCardsAssigned]:
    known = [one for one in assigned(world, workload) if one.pod_set == pod_set and one.uid not in held_back]
    taken = {one.index for one in known if _lives(world, workload, one)}
    served = {one.uid for one in known}
    free = [one for one in placements_of(workload, pod_set) if one.index not in taken]
    for pod in _waiting(world, workload, pod_set):
        if pod.uid in served or pod.uid in held_back:
            continue
        suited = free if homes is None else [one for one in free if _in_domain(world, one, homes.get(pod.uid))]
        if not suited:
            continue
        chosen = next((one for one in suited if one.index == pod.completion_index), suited[0])
        free.remove(chosen)
        yield PodCardsAssigned(
            workload=workload.key,
            reservation=reservation,
            pod_set=pod_set,
            index=chosen.index,
            pod=pod.name,
            uid=pod.uid,
        )


def _in_domain(world: DeviceState, placement: PodPlacement, home: Mapping[str, str] | None) -> bool:
    node = world.nodes.get(placement.node)
    return home is not None and bool(home) and node is not None and has_labels(node, home)


class GatedPod(msgspec.Struct, frozen=True):
    """A pod that waits at its scheduling gate."""

    name: str
    uid: str
    completion_index: int | None = None


def _waiting(world: DeviceState, workload: Workload, pod_set: str) -> list[GatedPod]:
    """The gated pods of a pod set, in the order of their creation."""
    if workload.spec.members:
        return [
            GatedPod(one.name, one.uid)
            for one in workload.spec.members
            if one.pod_set == pod_set and one.state is MemberState.GATED
        ]
    found = [
        one
        for one in _pods_of(world, workload)
        if one.pod_set == pod_set
        and one.workload == workload.key
        and one.gated
        and not one.terminating
        and one.phase not in TERMINAL
    ]
    found.sort(key=lambda one: (one.created_at, one.name, one.uid))
    return [GatedPod(one.name, one.uid, one.completion_index) for one in found]


def _held_back(world: DeviceState, workload: Workload) -> set[str]:
    """The UIDs of pods that wait for a later slice: the one that holds quota has no room for them."""
    waiting = {one.uid for one in _pods_of(world, workload) if one.waits_for_slice}
    return waiting - {one.uid for one in pods_with_room(world, workload)} if waiting else waiting


def _pods_of(world: DeviceState, workload: Workload) -> list[PodObserved]:
    return [world.pods[key] for key in world.cards.care.gated.get(workload.key, ())]


def _lives(world: DeviceState, workload: Workload, one: PodCardsAssigned) -> bool:
    members: tuple[Member, ...] = workload.spec.members
    if any(each.uid == one.uid and each.state is not MemberState.OVER for each in members):
        return True
    pod = world.pods.get(f"{workload.namespace}/{one.pod}")
    return pod is not None and pod.uid == one.uid and pod.phase not in TERMINAL


def hold_at_gate(world: DeviceState, pod: PodObserved) -> None:
    """Record whether a pod waits at its scheduling gate for its cards, and for those of no other workload than its own of now."""
    key = f"{pod.namespace}/{pod.name}"
    before = world.pods.get(key)
    if before is not None and before.workload != pod.workload:
        world.trail.take(world.cards.care.gated, before.workload, key)
    if pod.gated and pod.workload:
        world.trail.add(world.cards.care.gated, pod.workload, key)
    else:
        world.trail.take(world.cards.care.gated, pod.workload, key)


def leave_gate(world: DeviceState, key: str) -> None:
    """A pod is gone: the cards assigned to it may be assigned to another one."""
    pod = world.pods.get(key)
    if pod is None:
        return
    world.trail.take(world.cards.care.gated, pod.workload, key)
    if pod.workload in world.workloads:
        world.work.mark_dirty(pod.workload)


def assign(world: DeviceState, event: PodCardsAssigned) -> None:
    """Cards are assigned to a pod; an earlier assignment of the same cards was to a pod that is gone."""
    workload = world.workloads.get(event.workload)
    if workload is not None and is_replaced(workload):
        _assign_in_its_place(world, workload, event)
        return
    if workload is None or workload.devices is None or workload.devices.reservation != event.reservation:
        return
    place = (event.pod_set, event.index)
    others = tuple(one for one in assigned(world, workload) if (one.pod_set, one.index) != place)
    world.trail.put(world.pod_cards, event.workload, (*others, event))
    world.work.mark_dirty(event.workload)


def _assign_in_its_place(world: DeviceState, replaced: Workload, event: PodCardsAssigned) -> None:
    """Cards of a slice are assigned whose place another has taken, of which the cards' partition had not read: there they are the pod's."""
    heir = world.workloads.get(holder_of(world, chain_of(replaced)))
    if heir is None or heir.admission is None:
        return
    moved = msgspec.structs.replace(event, workload=heir.key, reservation=heir.admission.reservation)
    world.trail.put(world.pod_cards, heir.key, (*world.pod_cards.get(heir.key, ()), moved))
    world.work.mark_dirty(heir.key)


def keep_assignments(world: DeviceState, event: DevicesReserved) -> None:
    """Pods keep what they were assigned of the placements that are still reserved."""
    known = world.pod_cards.get(event.workload, ())
    there = {(one.pod_set, one.index) for one in event.placements}
    kept = tuple(one for one in known if (one.pod_set, one.index) in there)
    if kept != known:
        world.trail.put(world.pod_cards, event.workload, kept)


def forget_assignments(world: DeviceState, workload: str, reservation: int) -> None:
    """The cards of an attempt are free again."""
    if any(one.reservation == reservation for one in world.pod_cards.get(workload, ())):
        world.trail.drop(world.pod_cards, workload)
