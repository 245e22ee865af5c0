"""The annotation that a priority booster writes to a workload that has run long enough."""

from msgspec.structs import replace

from events.preemption import PreemptionOrdered
from events.settings import SettingsObserved
from events.workload import WorkloadChanged
from tests.stories.small_world import Story, job, platform


def boosted(*, on: bool) -> list[tuple[str, str]]:
    """Who is preempted for whom once one that runs is boosted down, beside one of the same priority that waits."""
    told = Story().told(SettingsObserved(gates={"PriorityBoost": on}), *platform(nominal=1, cards=1), job("runs"))
    told.decided()
    told.told(job("waits")).decided()
    assert told.world.workloads["team/runs"].admitted and not told.world.workloads["team/waits"].reserved
    lower = replace(told.world.workloads["team/runs"].spec, priority_boost=-100_000)
    said = told.told(WorkloadChanged(workload="team/runs", spec=lower)).decided()
    return [(one.workload, one.preemptor) for one in said if isinstance(one, PreemptionOrdered)]


def test_who_is_boosted_down_while_it_runs_makes_room_for_who_waits_with_the_same_priority() -> None:
    assert boosted(on=True) == [("team/runs", "team/waits")]


def test_without_the_gate_it_runs_on() -> None:
    assert boosted(on=False) == []
