"""What the admitter decides: cycles over all trees until nothing more fits, and admission when everything is ready."""

from collections.abc import Iterable
from functools import partial

from events.admission import QuotaReserved, WorkloadAdmitted
from events.catalogue import Decision
from events.event import Millis
from events.setting_aside import SetAside
from projections.configured_cards import config_of
from projections.devices.requests import asks_for_cards
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.set_aside.records import ADMITTER, Scope, is_aside
from projections.workloads.lifecycle import DEACTIVATION_TARGET, Workload, checks_ready
from projections.world import World
from services.admitter.block_admission import blocks_admission
from services.admitter.cycle import Cycle
from services.admitter.heads import changes_with_time, heads
from services.runtime.guard import guarded

MOST_EVENTS = 50
"""A commit holds about so many events; what is left over is decided next (docs/rules/log.md#inputs)."""


class Admitter:
    """Decides who gets quota and who may run."""

    name = ADMITTER

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        """Reserve, refuse, ask for room, admit; each decision is folded before the next one is made."""
        world.begin()
        events = _fold(world, _admit_ready(world, world.reserved_work.take(self.name)), position)
        known, touched = world.cards.count[0], world.touched_trees()
        for tree in _in_turn(world, position):
            if tree not in touched and not _concerns_all(world) and not changes_with_time(world, tree):
                continue
            if is_aside(world.aside, self.name, Scope.TREE, tree):
                continue
            while len(events) < MOST_EVENTS and one_cycle(world, tree, position, events):
                pass
            if len(events) >= MOST_EVENTS:
                return events
            world.quota.looked_at(tree)
        world.cards_looked_at = known
        return events


def _concerns_all(world: World) -> bool:
    """Whether something has changed that no tree knows of: cards serve many, and so does the wait for ready pods."""
    return blocks_admission(world) or world.cards.count[0] != world.cards_looked_at


def _in_turn(world: World, position: LogPosition) -> list[str]:
    """All trees, from another one on each time, so that each gets its turn."""
    trees = world.quota.trees()
    first = position.sequence % len(trees) if trees else 0
    return [*trees[first:], *trees[:first]]


def one_cycle(world: World, tree: str, position: LogPosition, events: list[Decision]) -> bool:
    """Run one cycle over a tree and admit who needs nothing more, into `events`; whether another cycle may find more."""
    if not world.shortcuts:
        world.examined.clear()  # Within one cycle it is how the next of a queue is found.
    found = guarded(partial(_decided, world, tree, position.at, MOST_EVENTS - len(events)), ADMITTER, tree=tree)
    if isinstance(found, SetAside):
        events.extend(_fold(world, [found], position))
        return False
    events.extend(_fold(world, found, position))
    reserved = [event.workload for event in found if isinstance(event, QuotaReserved)]
    events.extend(_fold(world, _admit_ready(world, reserved), position))
    return bool(found)


def _decided(world: World, tree: str, at: Millis, most: int) -> list[Decision]:
    """What one cycle says; the world is left as it was, also when it fails."""
    entering = heads(world, tree, at)
    cycle = Cycle(world, at)
    if entering:
        with world.trial():
            cycle.run(entering, most)
    return cycle.events


def _fold(world: World, events: list[Decision], position: LogPosition) -> list[Decision]:
    for event in events:
        evolve(world, event, position)
    return events


def _admit_ready(world: World, keys: Iterable[str]) -> list[Decision]:
    found: list[Decision] = []
    for key in keys:
        workload = world.workloads.get(key)
        if workload is None or is_aside(world.aside, ADMITTER, Scope.WORKLOAD, key):
            continue
        said = guarded(partial(admission_of, world, workload), ADMITTER, workload=key)
        found.extend([said] if isinstance(said, SetAside) else said)
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
    if not any(asks_for_cards(pod_set.shape, config_of(world)) for pod_set in workload.spec.pod_sets):
        return True
    return workload.devices is not None and not workload.devices.refused
