"""What the admitter decides: cycles over all trees until nothing more fits, and admission when everything is ready."""

from events.admission import QuotaReserved, WorkloadAdmitted
from events.catalogue import Decision
from events.event import Millis
from projections.devices.requests import asks_for_cards
from projections.evolve import evolve
from projections.place import Place
from projections.workloads import Workload, checks_ready
from projections.world import World
from services.admitter.cycle import heads, run_cycle

MOST_EVENTS = 200
"""A commit holds about so many events (design §2); what is left over is decided next."""


class Admitter:
    """Decides who gets quota and who may run."""

    name = "admitter"

    def decide(self, world: World, at: Millis) -> list[Decision]:
        """Reserve, refuse, ask for room, admit. Leaves the world as it was."""
        mark = world.mark()
        events = _admit_ready(world, list(world.review))
        _try(world, events, at)
        for tree in world.quota.trees():
            while len(events) < MOST_EVENTS:
                found = _cycle(world, tree, at)
                if not found:
                    break
                events.extend(found)
                _try(world, found, at)
                admitted = _admit_ready(world, [event.workload for event in found if isinstance(event, QuotaReserved)])
                events.extend(admitted)
                _try(world, admitted, at)
        world.undo(mark)
        return events


def _cycle(world: World, tree: str, at: Millis) -> list[Decision]:
    entering = heads(world, tree)
    if not entering:
        return []
    mark = world.mark()
    events = run_cycle(world, entering, at)
    world.undo(mark)
    return events


def _try(world: World, events: list[Decision], at: Millis) -> None:
    for event in events:
        evolve(world, event, Place(lane="", sequence=0, at=at))


def _admit_ready(world: World, keys: list[str]) -> list[Decision]:
    found: list[Decision] = []
    for key in sorted(set(keys)):
        workload = world.workloads.get(key)
        if workload is not None and may_be_admitted(world, workload):
            found.append(WorkloadAdmitted(workload=key, cluster_queue=workload.admission.cluster_queue))  # pyright: ignore[reportOptionalMemberAccess]
    return found


def may_be_admitted(world: World, workload: Workload) -> bool:
    """Quota is reserved, every required check is ready, and the cards are given if it needs any."""
    if workload.admission is None or workload.admitted or workload.evicted or workload.finished:
        return False
    if not checks_ready(workload):
        return False
    if not world.settings.devices or not world.cards.nodes:
        return True
    if not any(asks_for_cards(pod_set.shape) for pod_set in workload.spec.pod_sets):
        return True
    return workload.devices is not None and not workload.devices.refused
