"""What is decided about workloads that run on other clusters; their checks are answered by it."""

from functools import partial

from events.catalogue import Decision
from events.setting_aside import SetAside
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.set_aside.records import Scope, is_aside
from projections.world import World
from services.multikueue.reconcile import reconcile
from services.runtime.partition.guard import guarded

MOST_EVENTS = 200


class MultiKueue:
    """Nominates clusters, chooses the first that has admitted a copy, and says how the check of other clusters stands."""

    name = "multikueue"

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        """Look at every workload that something happened to; each decision is folded before the next one is made."""
        events: list[Decision] = []
        if world.settings.multikueue is None:
            return events
        world.begin()
        for key in world.work.take(self.name):
            workload = world.workloads.get(key)
            if workload is None or is_aside(world.aside, self.name, Scope.WORKLOAD, key):
                continue
            decided = guarded(partial(reconcile, world, workload, position.at), self.name, workload=key)
            for event in (decided,) if isinstance(decided, SetAside) else decided:
                evolve(world, event, position)
                events.append(event)
            if len(events) >= MOST_EVENTS:
                break
        return events
