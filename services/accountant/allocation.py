"""Which cards a workload with reserved quota gets before it is admitted.

The cards proposed with its quota if they are still free, else others, where its pods are placed by topology on the same hosts; if
there are none, `DevicesRefused`.
"""

from collections.abc import Iterator
from functools import partial

from events.catalogue import Decision
from events.device import DevicesRefused, DevicesReserved, PodPlacement
from projections.checks.dispatch import stays_elsewhere
from projections.devices.holdings.card_holdings import holding_key
from projections.devices.holdings.clashes import clashes
from projections.devices.placement.slice_cards import numbered
from projections.devices.placement.workload_gangs import chooses_cards
from projections.devices.requests.card_requests import any_asks_for_cards
from projections.devices.state import DeviceState, config_of
from projections.set_aside.records import Scope
from projections.topology.placement.cards_left import cards_left
from projections.topology.placement.workload_cards import cards_where_placed
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Workload
from projections.workloads.second_pass import has_delayed_topology
from services.accountant.guarding import one
from services.accountant.state import AccountantState


def allocations(world: AccountantState, workload: Workload) -> Iterator[Decision]:
    """Reserve or refuse cards for a workload under review, if it waits for them."""
    if chooses_cards(world, workload) and not stays_elsewhere(world.dispatches, workload):
        yield from one(world, Scope.WORKLOAD, workload.key, partial(_gift, world, workload))


def _gift(world: TopologyState, workload: Workload) -> list[Decision]:
    if _waits_for_cards(world, workload):
        return [_give(world, workload)]
    left = cards_left(world, workload)
    if left is None or workload.devices is None:
        return []
    return [_reserved(workload, workload.devices.reservation, left)]


def _waits_for_cards(world: DeviceState, workload: Workload) -> bool:
    return (
        workload.admission is not None
        and (workload.devices is None or _outdated(workload) or _proposed_anew(world, workload))
        and not workload.evicted
        and not workload.finished
        and not has_delayed_topology(workload)
        and any_asks_for_cards(workload.spec.pod_sets, config_of(world))
    )


def _outdated(workload: Workload) -> bool:
    return workload.devices is not None and workload.devices.outdated and not workload.admitted


def _proposed_anew(world: DeviceState, workload: Workload) -> bool:
    """Whether some of its pods are to have others, since a node has failed (docs/rules/topology.md#card-replacement)."""
    if workload.admission is None or (workload.devices is not None and workload.devices.refused):
        return False
    holding = world.cards.holdings.get(holding_key(workload.key, workload.admission.reservation))
    return holding is not None and not holding.confirmed


def _give(world: TopologyState, workload: Workload) -> Decision:
    admission = workload.admission
    if admission is None:
        raise LookupError(workload.key)
    if _has_cards_of_its_own(world, workload):
        return _reserved(workload, admission.reservation, ())
    proposed = world.cards.holdings.get(holding_key(workload.key, admission.reservation))
    outdated = _outdated(workload)
    if proposed is not None and not outdated and _may_be_given(world, workload, proposed.placements):
        return _reserved(workload, admission.reservation, proposed.placements)
    # Of a slice that goes on where another was, living pods keep the cards that they have.
    kept = () if proposed is None or outdated else _of_living_pods(world, workload, proposed.placements)
    with world.trial():
        world.cards.withdraw(workload.key, admission.reservation)
        if outdated:
            world.cards.release(workload.key, admission.reservation)
        if kept:
            world.cards.propose(workload.key, admission.reservation, kept)
        placed = cards_where_placed(world, workload, kept)
    if placed.reason and _was_let_in_before(workload):
        return _reserved(workload, admission.reservation, ())
    if placed.reason:
        return DevicesRefused(
            workload=workload.key, reservation=admission.reservation, reason=placed.reason, message=placed.message
        )
    fresh = numbered(placed.placements, kept) if kept else placed.placements
    return _reserved(workload, admission.reservation, (*kept, *fresh))


def _may_be_given(world: DeviceState, workload: Workload, placements: tuple[PodPlacement, ...]) -> bool:
    """Whether what was proposed goes with all that others have of these cards by now."""
    if world.cards.overfull({one.node for one in placements}):
        return False
    return not clashes(world.cards, workload.key, placements)


def _was_let_in_before(workload: Workload) -> bool:
    """Whether it was admitted when no cards were chosen for it: it is not stopped for what it could not be asked then.

    Rule: docs/rules/devices.md#let-in-before
    """
    return workload.admitted and workload.devices is None


def _has_cards_of_its_own(world: DeviceState, workload: Workload) -> bool:
    living = world.cards.living.get(workload.key, ())
    return _was_let_in_before(workload) and any(world.cards.pods[key].use for key in living)


def _of_living_pods(
    world: DeviceState, workload: Workload, placements: tuple[PodPlacement, ...]
) -> tuple[PodPlacement, ...]:
    alive = {
        (one.pod_set, one.index)
        for one in world.pod_cards.get(workload.key, ())
        if workload.resizing.continues and f"{workload.namespace}/{one.pod}" in world.pods
    }
    return tuple(one for one in placements if (one.pod_set, one.index) in alive)


def _reserved(workload: Workload, reservation: int, placements: tuple[PodPlacement, ...]) -> DevicesReserved:
    return DevicesReserved(workload=workload.key, reservation=reservation, placements=placements)
