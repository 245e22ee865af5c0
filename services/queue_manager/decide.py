"""What the queue manager decides: which workloads are queued, parked, evicted, and when their quota is released."""

from functools import partial

from events.catalogue import Decision
from events.setting_aside import SetAside
from events.workload import WorkloadQueued
from projections.budgets.enforcement import news_of
from projections.budgets.partitions import untold
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.set_aside.records import Scope, is_aside
from projections.world import World
from services.queue_manager.reconcile import reconcile
from services.runtime.partition.guard import guarded

MOST_EVENTS = 200


class QueueManager:
    """Decides where workloads wait, when they are evicted (stop policies, time limits, checks), and when they are over."""

    name = "queue-manager"

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        """Review every budget and every workload that something happened to; each decision is folded before the next one is made."""
        world.begin()
        events: list[Decision] = []
        _look_at_budgets(world, position, events)
        for key in world.work.take_in_turns(self.name, events, position.sequence):
            self._look_at(world, key, position, events)
            if len(events) >= MOST_EVENTS:
                break
        return events

    def _look_at(self, world: World, key: str, position: LogPosition, events: list[Decision]) -> None:
        workload = world.workloads.get(key)
        if workload is None or is_aside(world.aside, self.name, Scope.WORKLOAD, key):
            return
        decided = guarded(partial(reconcile, world, workload, position.at), self.name, workload=key)
        for event in (decided,) if isinstance(decided, SetAside) else decided:
            evolve(world, event, position)
            events.append(event)
            if isinstance(event, WorkloadQueued):
                world.work.mark_done(self.name, key)  # It is queued: there is nothing more to decide.


def _look_at_budgets(world: World, position: LogPosition, events: list[Decision]) -> None:
    for scope in world.budget_work.take(QueueManager.name):
        for event in news_of(world, scope, position.at):
            evolve(world, event, position)
            events.append(event)
        use = untold(world, scope, position.at)
        if use is not None:
            evolve(world, use, position)
            events.append(use)
