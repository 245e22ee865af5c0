"""Nobody is let in by a queue that takes nothing in, whoever of the deciders looks first, and however many wait.

Rule: docs/rules/cycle.md#heads
"""

import pytest
from msgspec.structs import replace

from events.admission import QuotaReserved
from events.catalogue import AnyEvent, Decision
from events.control import ObjectRemoved
from events.quota import CheckRule, LocalQueueObserved, QueueingStrategy, StopPolicy
from events.workload import WorkloadFinished, WorkloadSwitched
from projections.log_position import LogPosition
from tests.stories.small_world import Story, job, platform, queue

DOOR = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq")

TAKES_NOTHING_IN: dict[str, tuple[AnyEvent, ...]] = {
    "a flavor is gone": (ObjectRemoved(kind="ResourceFlavor", name="v100"),),
    "a check is missing": (replace(queue("cq", nominal=1), checks=(CheckRule(name="missing"),)),),
    "the local queue is held": (replace(DOOR, stop=StopPolicy.HOLD),),
    "the local queue leads elsewhere": (queue("other", nominal=0), replace(DOOR, cluster_queue="other")),
    "it is set inactive": (WorkloadSwitched(workload="team/waits", active=False),),
}


@pytest.mark.parametrize("strategy", QueueingStrategy)
@pytest.mark.parametrize("facts", TAKES_NOTHING_IN.values(), ids=TAKES_NOTHING_IN)
def test_who_may_not_be_let_in_any_more_is_not_although_nobody_has_parked_it(
    facts: tuple[AnyEvent, ...], strategy: QueueingStrategy
) -> None:
    told = _one_waits(strategy)
    told.told(*facts, WorkloadFinished(workload="team/runs", reason="Succeeded"))
    assert _admitter_first(told) == []


def test_one_behind_a_stopped_local_queue_keeps_nobody_waiting() -> None:
    told = _one_waits()
    told.told(replace(DOOR, name="open"), job("comes", queue="open")).decided()
    told.told(replace(DOOR, stop=StopPolicy.HOLD), WorkloadFinished(workload="team/runs", reason="Succeeded"))
    assert _got_in(told.decided()) == ["team/comes"]


@pytest.mark.parametrize(
    ("out", "back"),
    [
        (replace(DOOR, stop=StopPolicy.HOLD), DOOR),
        (WorkloadSwitched(workload="team/waits", active=False), WorkloadSwitched(workload="team/waits", active=True)),
    ],
    ids=["its local queue", "it"],
)
def test_who_was_passed_over_is_tried_when_it_may_be_before_anybody_has_parked_it(
    out: AnyEvent, back: AnyEvent
) -> None:
    told = _one_waits()
    told.told(out, queue("cq", nominal=2))
    assert _admitter_first(told) == []
    assert _got_in(told.told(back).decided()) == ["team/waits"]


def test_whose_local_queue_was_deleted_may_be_let_in_until_it_is_parked() -> None:
    told = _one_waits()
    told.told(ObjectRemoved(kind="LocalQueue", namespace="team", name="lq"))
    told.told(WorkloadFinished(workload="team/runs", reason="Succeeded"))
    assert _admitter_first(told) == ["team/waits"]


@pytest.mark.parametrize(("priority", "first"), [(4, "team/waits"), (6, "team/comes")])
def test_one_that_was_refused_is_tried_where_it_comes_before_the_first_in_line(priority: int, first: str) -> None:
    told = _one_waits(priority=5)
    told.told(job("comes", priority=priority), WorkloadFinished(workload="team/runs", reason="Succeeded"))
    assert _got_in(told.decided()) == [first]


@pytest.mark.parametrize(("priority", "first"), [(4, "team/waits"), (6, "team/other")])
def test_of_those_that_were_refused_the_first_is_tried_whichever_class_was_refused_before(
    priority: int, first: str
) -> None:
    told = _one_waits(priority=5)
    told.told(job("other", memory=8000, priority=priority)).decided()
    told.told(WorkloadFinished(workload="team/runs", reason="Succeeded"))
    assert _got_in(told.decided()) == [first]


def _one_waits(strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO, priority: int = 0) -> Story:
    """In line where the queue is strict, else beside it, for it was refused."""
    told = Story(unchecked=True).told(*platform(nominal=1, cards=2))
    told.told(replace(queue("cq", nominal=1), strategy=strategy), job("runs")).decided()
    told.told(job("waits", priority=priority)).decided()
    return told


def _admitter_first(told: Story) -> list[str]:
    """Who gets in while the queue manager has parked nobody yet."""
    told.commits += 1
    return _got_in(
        told.deciders[1].decide(told.world, LogPosition(partition="LOG_0", sequence=told.commits, at=told.at))
    )


def _got_in(said: list[Decision]) -> list[str]:
    return [event.workload for event in said if isinstance(event, QuotaReserved)]
