"""Who comes first as a preemptor keeps no place from that when another one comes first: a saved world has the same order.

Rule: docs/rules/queues.md#preemptor-first
"""

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.quota import LocalQueueObserved, PreemptionPolicy, QueueingStrategy, StopPolicy
from events.workload import WorkloadChanged, WorkloadSwitched
from projections.queues.enqueue import remember_preemptor
from projections.queues.order import place_of, put_in_line
from projections.snapshot import tables_of, world_of
from services.queue_manager.decide import QueueManager
from tests.stories.small_world import Story, job, platform, queue


def test_a_refused_workload_that_was_the_preemptor_falls_back_to_its_place_where_another_one_is_that() -> None:
    story = Story()
    story.told(*platform(), job("a"), job("b"))
    world = story.world
    line, first, second = (
        world.lines.of("cq"),
        *(replace(world.workloads[key], line="cq") for key in ("team/a", "team/b")),
    )
    world.put_workload(first)
    remember_preemptor(world, first, "cq")
    line.park_refused(world.trail, place_of(world, first, "k", "WaitingForQuota"), stamp=7)
    remember_preemptor(world, second, "cq")
    assert [(one.key, one.rank) for one in line.classes["k"].members] == [("team/a", 1)]
    assert line.classes["k"].members == [place_of(world, first, "k", "WaitingForQuota")]
    assert line.classes["k"].stamp == 7
    again = world_of(tables_of(world)).lines.of("cq")
    assert again.classes["k"].members == line.classes["k"].members


def test_of_several_that_have_preempted_somebody_the_latest_comes_first_and_the_others_in_their_places() -> None:
    story = Story()
    story.told(*platform(), *(job(name) for name in "abc"))
    world, line = story.world, story.world.lines.of("cq")
    story.deciders = [QueueManager()]
    story.decided()
    for name in "bc":
        preemptor = world.workloads[f"team/{name}"]
        remember_preemptor(world, preemptor, "cq")
        put_in_line(world, "cq", preemptor)
        assert next(line.in_order()) == preemptor.key
    assert list(line.in_order()) == ["team/c", "team/a", "team/b"]


DOOR = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq")
SPEC = job("p", priority=1).spec
BACK = WorkloadChanged(workload="team/p", spec=SPEC)


@pytest.mark.parametrize(
    ("out", "back"),
    [
        (WorkloadSwitched(workload="team/p", active=False), WorkloadSwitched(workload="team/p", active=True)),
        (replace(DOOR, stop=StopPolicy.HOLD), DOOR),
        (WorkloadChanged(workload="team/p", spec=replace(SPEC, gated_by=("a.io/x",))), BACK),
        (WorkloadChanged(workload="team/p", spec=replace(SPEC, on_hold=True)), BACK),
    ],
    ids=["set inactive", "its local queue held", "gated", "on hold"],
)
def test_who_has_left_the_queue_meanwhile_comes_back_in_its_place(out: AnyEvent, back: AnyEvent) -> None:
    told = _waits_for_its_victim()
    told.told(out).decided()
    told.told(back, job("q", priority=5)).decided()
    assert list(told.world.lines.of("cq").in_order()) == ["team/q", "team/p"]


def test_who_waits_while_its_queue_is_stopped_comes_first_when_it_goes_on() -> None:
    told = _waits_for_its_victim()
    cluster_queue = told.world.cluster_queues["cq"]
    told.told(replace(cluster_queue, stop=StopPolicy.HOLD)).decided()
    told.told(cluster_queue, job("q", priority=5)).decided()
    assert list(told.world.lines.of("cq").in_order()) == ["team/p", "team/q"]


@pytest.mark.parametrize(
    ("strategy", "order"),
    [
        (QueueingStrategy.BEST_EFFORT_FIFO, ["team/p", "team/q"]),
        (QueueingStrategy.STRICT_FIFO, ["team/q", "team/p"]),
    ],
)
def test_whoever_comes_meanwhile_stands_behind_who_waits_for_its_victims_unless_the_queue_is_strict(
    strategy: QueueingStrategy, order: list[str]
) -> None:
    told = _waits_for_its_victim(strategy)
    told.told(job("q", priority=5)).decided()
    assert list(told.world.lines.of("cq").in_order()) == order


def _waits_for_its_victim(strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO) -> Story:
    """One of higher priority than the victim that leaves for it, and lower than the one that stays."""
    found = queue("cq", nominal=2, within=PreemptionPolicy.LOWER_PRIORITY)
    told = Story().told(*platform(nominal=2, cards=2), replace(found, strategy=strategy))
    told.told(job("stays", priority=9), job("victim")).decided()
    told.told(job("p", priority=1)).decided()
    assert told.world.lines.of("cq").held["preemptor"] == "team/p"
    return told
