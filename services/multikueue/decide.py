"""What is decided about workloads that run on other clusters; their checks are answered by it."""

from functools import partial

from events.catalogue import Decision
from events.multikueue import QuotaAutomationEnded
from events.setting_aside import SetAside
from projections.checks.quota_automation import automation_of, is_automatic
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.partitions.homes import owns_queue
from projections.set_aside.records import Scope, is_aside
from projections.world import World
from services.multikueue.reconcile import reconcile
from services.runtime.partition.guard import guarded

MOST_EVENTS = 200


class MultiKueue:
    """Nominates clusters, chooses the first that has admitted a copy, and says how the check of other clusters stands; and what quota follows these."""

    name = "multikueue"

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        """Look at every workload and queue that something happened to; each decision is folded before the next one is made."""
        events: list[Decision] = []
        if world.settings.multikueue is None and not world.quota_automation:
            return events
        world.begin()
        if world.settings.multikueue is not None:
            self._look_at_workloads(world, position, events)
        if is_automatic(world) or world.quota_automation:
            self._look_at_queues(world, position, events)
        return events

    def _look_at_workloads(self, world: World, position: LogPosition, events: list[Decision]) -> None:
        for key in world.work.take_in_turns(self.name, events, position.sequence):
            workload = world.workloads.get(key)
            if workload is None or is_aside(world.aside, self.name, Scope.WORKLOAD, key):
                continue
            decided = guarded(partial(reconcile, world, workload, position.at), self.name, workload=key)
            for event in (decided,) if isinstance(decided, SetAside) else decided:
                evolve(world, event, position)
                events.append(event)
            if len(events) >= MOST_EVENTS:
                break

    def _look_at_queues(self, world: World, position: LogPosition, events: list[Decision]) -> None:
        """Say of each queue what is true of its quota, where anything else was said of it before.

        Rule: docs/rules/multikueue.md#quota
        """
        if len(events) >= MOST_EVENTS:
            return
        for name in world.automation_work.take(self.name):
            known, found = world.quota_automation.get(name), automation_of(world, name)
            if found == known or (found is None and not owns_queue(world, name)):
                continue
            event = QuotaAutomationEnded(cluster_queue=name) if found is None else found
            evolve(world, event, position)
            events.append(event)
            if len(events) >= MOST_EVENTS:
                break
