"""What the accountant decides: the cards that a workload gets before it is admitted, and when they are free again."""

from events.catalogue import Decision
from events.device import DevicesRefused, DevicesReleased, DevicesReserved, PodPlacement
from events.event import Millis
from projections.card_holdings import TERMINAL, Holding, holding_key
from projections.devices.gang import Gang, place
from projections.devices.requests import CARD_RESOURCES, asks_for_cards
from projections.workloads import Workload
from projections.world import World

MOST_EVENTS = 200


class Accountant:
    """Decides who holds which card."""

    name = "accountant"

    def decide(self, world: World, at: Millis) -> list[Decision]:
        """Give cards to workloads that have quota, release those of attempts that are over."""
        del at
        events: list[Decision] = []
        mark = world.mark()
        for key in sorted(world.cards.holdings):
            proof = release_proof(world, world.cards.holdings[key])
            if proof:
                holding = world.cards.holdings[key]
                events.append(DevicesReleased(workload=holding.workload, reservation=holding.reservation, proof=proof))
        for key in sorted(world.review):
            workload = world.workloads.get(key)
            if workload is not None and _waits_for_cards(world, workload) and len(events) < MOST_EVENTS:
                events.append(_give(world, workload))
        world.undo(mark)
        return events


def release_proof(world: World, holding: Holding) -> str:
    """By what it is known that an attempt's cards are free; empty while they may still be in use."""
    workload = world.workloads.get(holding.workload)
    if workload is None:
        over = "workload deleted"
    elif workload.finished:
        over = "job finished"
    elif workload.admission is None or workload.admission.reservation != holding.reservation:
        over = "quota released"
    else:
        return ""
    if not holding.confirmed:
        return over
    alive = any(
        pod.workload == holding.workload and pod.node and pod.phase not in TERMINAL for pod in world.pods.values()
    )
    return "" if alive else f"{over}, no pod of it is left"


def _waits_for_cards(world: World, workload: Workload) -> bool:
    return (
        workload.admission is not None
        and workload.devices is None
        and not workload.evicted
        and not workload.finished
        and world.settings.devices
        and bool(world.cards.nodes)
        and any(asks_for_cards(pod_set.shape) for pod_set in workload.spec.pod_sets)
    )


def _give(world: World, workload: Workload) -> Decision:
    """The cards that were proposed with the quota if they are still free, else others, else none."""
    admission = workload.admission
    if admission is None:
        raise LookupError(workload.key)
    proposed = world.cards.holdings.get(holding_key(workload.key, admission.reservation))
    if proposed is not None and not world.cards.overfull({one.node for one in proposed.placements}):
        return _reserved(workload, admission.reservation, proposed.placements)
    world.cards.withdraw(workload.key, admission.reservation)
    gangs = [
        Gang(
            pod_set=pod_set,
            count=assignment.count,
            flavor=world.flavors.get(
                next((assignment.flavors[r] for r in sorted(assignment.flavors) if r in CARD_RESOURCES), "")
            ),
        )
        for pod_set, assignment in zip(workload.spec.pod_sets, admission.assignments, strict=True)
        if asks_for_cards(pod_set.shape)
    ]
    placed = place(world.cards, world.nodes, gangs, world.trail)
    if placed.reason:
        return DevicesRefused(
            workload=workload.key, reservation=admission.reservation, reason=placed.reason, message=placed.message
        )
    world.cards.trial(placed.placements)
    return _reserved(workload, admission.reservation, placed.placements)


def _reserved(workload: Workload, reservation: int, placements: tuple[PodPlacement, ...]) -> DevicesReserved:
    return DevicesReserved(workload=workload.key, reservation=reservation, placements=placements)
