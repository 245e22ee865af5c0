"""When cards are released: those of an attempt once it is over and no pod of its workload is left, those of a pod once it is done."""

from collections.abc import Iterator, Mapping
from functools import partial

from events.catalogue import Decision
from events.device import DevicesReleased, DevicesReserved, PodPlacement
from projections.devices.holdings.card_holdings import CardHoldings, Holding
from projections.devices.placement.done_pods import left_by_done_pods
from projections.devices.state import DeviceState
from projections.set_aside.records import Scope
from projections.workloads.lifecycle import Workload
from projections.workloads.slices import is_replaced
from services.accountant.guarding import ACCOUNTANT, one
from services.accountant.state import AccountantState


def releases(world: AccountantState) -> Iterator[Decision]:
    """Release the cards of attempts that are over, each on proof, where holdings came, pods went or a workload moved.

    All of them before any cards are allocated, and in the order of keys, so that a replay decides the same.
    """
    gone = (key for key in world.cards.holders() if key not in world.workloads)
    for key in sorted({*world.cards.dirty_workloads, *gone, *world.work.waiting(ACCOUNTANT)}):
        if key in world.cards.holders():
            yield from one(world, Scope.WORKLOAD, key, partial(releases_of, world, key))
        world.cards.mark_workload_done(key)


def releases_of(world: DeviceState, key: str) -> Iterator[Decision]:
    """Release those attempts of one workload that are proven to be over, and of one that goes on what its pods have left that are done."""
    for holding in world.cards.attempts_of(key):
        proof = release_proof(world.workloads, world.cards, holding)
        if proof:
            yield DevicesReleased(workload=holding.workload, reservation=holding.reservation, proof=proof)
        elif (left := _left(world, holding)) is not None:
            yield DevicesReserved(workload=holding.workload, reservation=holding.reservation, placements=left)


def _left(world: DeviceState, holding: Holding) -> tuple[PodPlacement, ...] | None:
    workload = world.workloads.get(holding.workload)
    if workload is None or workload.devices is None or workload.devices.reservation != holding.reservation:
        return None
    return left_by_done_pods(world, workload) if holding.confirmed else None


def release_proof(workloads: Mapping[str, Workload], cards: CardHoldings, holding: Holding) -> str:
    """Why it is certain that an attempt's cards are free, such as "job finished"; empty while they may still be in use."""
    workload = workloads.get(holding.workload)
    if workload is None:
        over = "workload deleted"
    elif workload.finished:
        over = "replaced by another slice" if is_replaced(workload) else "job finished"
    elif workload.admission is None or workload.admission.reservation != holding.reservation:
        over = "quota released"
    else:
        return ""
    if not holding.confirmed and not holding.given:
        return over
    return "" if cards.living.get(holding.workload) else f"{over}, no pod of it is left"
