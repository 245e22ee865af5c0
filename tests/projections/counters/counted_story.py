"""A story that is counted while it happens."""

from events.catalogue import AnyEvent, Decision
from events.workload import PodsGone
from projections.counters.queue_counters import QueueCounters
from projections.log_position import LogPosition
from services.runtime.partition.host import Decider
from tests.laws.stop_of_pods import stop_of
from tests.stories.small_world import Story


class CountedStory(Story):
    """Facts and decisions are counted in the order in which they are folded."""

    def __init__(self) -> None:
        super().__init__()
        self.counters = QueueCounters()

    def told(self, *facts: AnyEvent) -> "CountedStory":
        for fact in facts:
            super().told(fact)
            self.counters.fold(fact, self.at)
        return self

    def _checked(self, decider: Decider, position: LogPosition) -> list[Decision]:
        events = super()._checked(decider, position)
        if events:
            self.counters.fold_commit(decider.name, events, position.at, position.sequence)
        return events

    def left(self) -> "CountedStory":
        """Whoever has to stop has stopped."""
        for key, one in sorted(self.world.workloads.items()):
            if one.evicted and one.reserved:
                self.told(PodsGone(workload=key, decision=stop_of(one, f"LOG_0/{one.stops.stopped_by}")))
        self.decided()
        return self
