import sys
from types import FrameType
from typing import Any

from events.control import ObjectRemoved
from events.pod_set import PodSet
from events.quota import LimitRangeItem, LimitRangeObserved
from events.workload import WorkloadSpec, WorkloadSubmitted
from projections.limit_ranges import bounds_of, put_limit_range
from projections.snapshot import tables_of, world_of
from projections.world import World
from tests.projections.quota.test_adjusted_pods import one, platform
from tests.stories.small_world import Story


def many(namespace: str, number: int = 200) -> list[LimitRangeObserved]:
    item = LimitRangeItem(kind="Container", minimum={"cpu": 1}, default={"cpu": 5})
    return [LimitRangeObserved(namespace=namespace, name=f"lr{index:03}", items=(item,)) for index in range(number)]


def steps_for_a_job(told: Story) -> int:
    """How many lines of what reckons quota run while a job of ten pod sets is tried that is like no other."""
    steps = 0

    def seen(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        file = frame.f_code.co_filename
        if "/tests/" in file or not ("/projections/quota/" in file or file.endswith("/projections/limit_ranges.py")):
            return None
        steps += event == "line"
        return seen

    pod_sets = tuple(PodSet(name=f"p{index}", count=1, shape=one({"cpu": 7})) for index in range(10))
    spec = WorkloadSpec(queue="lq", pod_sets=pod_sets)
    before = sys.gettrace()
    sys.settrace(seen)
    try:
        told.told(WorkloadSubmitted(workload="team/late", uid="late", created_at=0, spec=spec)).decided()
    finally:
        sys.settrace(before)
    return steps


def tried(*limits: LimitRangeObserved) -> Story:
    warm = WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=1, shape=one({"cpu": 3})),))
    told = platform("cpu").told(*limits, WorkloadSubmitted(workload="team/warm", uid="warm", created_at=0, spec=warm))
    told.decided()
    return told


def test_many_limit_ranges_of_a_namespace_cost_a_job_nothing_in_another_one() -> None:
    assert steps_for_a_job(tried(*many("other"))) <= steps_for_a_job(tried()) * 2


def test_many_limit_ranges_of_the_namespace_are_put_together_once_and_not_for_each_pod_set() -> None:
    assert steps_for_a_job(tried(*many("team"))) <= steps_for_a_job(tried(*many("team", 1))) * 2


def test_a_limit_range_that_changes_or_goes_is_put_together_anew_and_also_when_that_is_taken_back() -> None:
    told = platform("cpu").told(*many("team", 1))
    mine = lambda: bounds_of(told.world.limits, "team", "Container").default  # noqa: E731 - asked again and again
    assert mine() == {"cpu": 5}
    mark = told.world.mark()
    changed = LimitRangeObserved(
        namespace="team", name="lr000", items=(LimitRangeItem(kind="Container", default={"cpu": 9}),)
    )
    put_limit_range(told.world.limits, told.world.trail, "team", "lr000", changed)
    assert mine() == {"cpu": 9}
    told.world.undo(mark)
    assert mine() == {"cpu": 5}
    told.told(ObjectRemoved(kind="LimitRange", namespace="team", name="lr000"))
    assert mine() == {}
    assert told.world.limits == {}


def test_a_saved_world_has_its_limit_ranges_by_namespace() -> None:
    again: World = world_of(tables_of(platform("cpu").told(*many("team", 3)).world))
    assert bounds_of(again.limits, "team", "Container").default == {"cpu": 5}
