"""What the admitter decides: cycles over all trees until nothing more fits, and admission when everything is ready."""

from collections.abc import Iterable

from events.admission import QuotaReserved, WorkloadAdmitted
from events.catalogue import Decision
from projections.devices.requests import asks_for_cards
from projections.evolve import evolve
from projections.place import Place
from projections.workloads import DEACTIVATION_TARGET, Workload, checks_ready
from projections.world import World
from services.admitter.blocking import blocks_admission
from services.admitter.cycle import Cycle
from services.admitter.heads import heads

MOST_EVENTS = 50
"""A commit holds about so many events (design §2); what is left over is decided next."""


class Admitter:
    """Decides who gets quota and who may run."""

    name = "admitter"

    def decide(self, world: World, place: Place) -> list[Decision]:
        """Reserve, refuse, ask for room, admit; each decision is folded before the next one is made."""
        events = _fold(world, _admit_ready(world, world.review_reserved.take(self.name)), place)
        known, touched = world.cards.count[0], world.touched_trees()
        for tree in _in_turn(world, place):
            if tree not in touched and not _concerns_all(world):
                continue
            while len(events) < MOST_EVENTS and _cycle(world, tree, place, events):
                pass
            if len(events) >= MOST_EVENTS:
                return events
        world.cards_looked_at = known
        return events


def _concerns_all(world: World) -> bool:
    """Whether something has changed that no tree knows of: cards serve many, and so does the wait for ready pods."""
    return blocks_admission(world) or (bool(world.cards.nodes) and world.cards.count[0] != world.cards_looked_at)


def _in_turn(world: World, place: Place) -> list[str]:
    """All trees, from another one on each time, so that each gets its turn."""
    trees = world.quota.trees()
    first = place.sequence % len(trees) if trees else 0
    return [*trees[first:], *trees[:first]]


def _cycle(world: World, tree: str, place: Place, events: list[Decision]) -> bool:
    """Run one cycle over a tree; whether another one may find more."""
    entering = heads(world, tree, place.at)
    if not entering:
        return False
    mark = world.mark()
    cycle = Cycle(world, place.at)
    cycle.run(entering, MOST_EVENTS - len(events))
    world.undo(mark)
    events.extend(_fold(world, cycle.events, place))
    reserved = [event.workload for event in cycle.events if isinstance(event, QuotaReserved)]
    events.extend(_fold(world, _admit_ready(world, reserved), place))
    return bool(cycle.events)


def _fold(world: World, events: list[Decision], place: Place) -> list[Decision]:
    for event in events:
        evolve(world, event, place)
    return events


def _admit_ready(world: World, keys: Iterable[str]) -> list[Decision]:
    found: list[Decision] = []
    for key in keys:
        workload = world.workloads.get(key)
        if workload is not None:
            found.extend(admission_of(world, workload))
    return found


def admission_of(world: World, workload: Workload) -> list[Decision]:
    """The admission of a workload that holds quota, as soon as nothing is missing any more."""
    if workload.admission is None or not may_be_admitted(world, workload):
        return []
    return [WorkloadAdmitted(workload=workload.key, cluster_queue=workload.admission.cluster_queue)]


def may_be_admitted(world: World, workload: Workload) -> bool:
    """Quota is reserved, every required check is ready, and the cards are given if it needs any."""
    if workload.admission is None or workload.admitted or workload.evicted or workload.finished:
        return False
    if not workload.spec.active or workload.spec.gated_by or workload.spec.on_hold:
        return False
    if workload.is_true(DEACTIVATION_TARGET) or not checks_ready(workload):
        return False
    if not world.settings.devices or not world.cards.nodes:
        return True
    if not any(asks_for_cards(pod_set.shape) for pod_set in workload.spec.pod_sets):
        return True
    return workload.devices is not None and not workload.devices.refused
