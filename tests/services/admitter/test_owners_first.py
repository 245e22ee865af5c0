"""Whoever would borrow waits while owners of the quota go on taking theirs."""

import pytest

from events.admission import PreemptionRequested, QuotaReserved
from events.catalogue import Decision
from events.preemption import PreemptionOrdered
from events.quota import LocalQueueObserved, PreemptionPolicy
from events.workload import WorkloadFinished
from projections.log_position import LogPosition
from services.admitter.decide import one_cycle
from tests.stories.small_world import Story, job, platform, queue


def two_queues(*, own: int, forgetful: bool = False) -> Story:
    """`cq` uses its own quota of one; `owner` has `own` and uses nothing yet."""
    told = Story(forgetful=forgetful).told(
        *platform(nominal=1, cards=8, cohort="pool"),
        queue(
            "owner", nominal=own, within=PreemptionPolicy.LOWER_PRIORITY, reclaim=PreemptionPolicy.ANY, cohort="pool"
        ),
        LocalQueueObserved(namespace="team", name="owner", cluster_queue="owner"),
        job("first"),
    )
    told.decided()
    return told


def got_in(said: list[Decision]) -> list[str]:
    return [event.workload for event in said if isinstance(event, QuotaReserved)]


@pytest.mark.parametrize("forgetful", [False, True])
def test_nobody_is_lent_what_the_next_of_the_owner_takes_back(forgetful: bool) -> None:
    told = two_queues(own=2, forgetful=forgetful)
    said = told.told(job("borrower"), job("o1", queue="owner"), job("o2", queue="owner")).decided()
    assert got_in(said) == ["team/o1", "team/o2"]
    assert not [event for event in said if isinstance(event, PreemptionRequested | PreemptionOrdered)]


def test_nobody_is_lent_what_the_next_of_the_owner_takes_back_though_that_was_refused_before() -> None:
    told = two_queues(own=2).told(job("big", queue="owner", count=2))
    told.decided()
    told.told(job("borrower"), job("o1", queue="owner"), job("o2", queue="owner"))
    assert not got_in(told.decided())
    said = told.told(WorkloadFinished(workload="team/big", reason="Succeeded")).decided()
    assert got_in(said) == ["team/o1", "team/o2"]
    assert not [event for event in said if isinstance(event, PreemptionRequested | PreemptionOrdered)]


@pytest.mark.parametrize("forgetful", [False, True])
def test_what_the_owners_leave_is_lent_in_the_same_decision(forgetful: bool) -> None:
    told = two_queues(own=4, forgetful=forgetful)
    told.told(job("borrower", priority=9), *(job(name, queue="owner") for name in ("o1", "o2", "o3")))
    assert got_in(told.decided()) == ["team/o1", "team/o2", "team/o3", "team/borrower"]
    found = [told.world.workloads[f"team/{name}"].admission for name in ("o1", "borrower")]
    assert len({one.reservation for one in found if one is not None}) == 1, "all of it is one commit"


def test_who_borrows_gets_in_beside_the_last_of_the_owner() -> None:
    told = two_queues(own=3).told(job("borrower"), job("o1", queue="owner"))
    for decider in told.deciders[:1]:
        decider.decide(told.world, LogPosition(partition="LOG_0", sequence=50, at=told.at))
    events: list[Decision] = []
    one_cycle(told.world, told.world.quota.trees()[:1], LogPosition(partition="LOG_0", sequence=51, at=told.at), events)
    assert got_in(events) == ["team/o1", "team/borrower"]


def test_what_an_owner_who_was_passed_over_may_take_back_is_lent_to_nobody() -> None:
    """`big` fits by borrowing until `early` is in; within its own quota it has to wait for the next cycle."""
    told = two_queues(own=3).told(job("small", queue="owner"))
    told.decided()
    told.told(
        queue("third", nominal=2, cohort="pool"),
        LocalQueueObserved(namespace="team", name="third", cluster_queue="third"),
        job("borrower"),
        job("big", queue="owner", count=3, priority=5),
        job("early", queue="third", count=2),
    )
    said = told.decided()
    ordered = [event.workload for event in said if isinstance(event, PreemptionOrdered)]
    assert got_in(said)[0] == "team/early"
    assert ordered == ["team/small"], "whom its own queue's priority gives it, and nobody who was just let in"


def test_owners_who_stay_refused_keep_no_borrower_waiting() -> None:
    told = two_queues(own=2)
    told.told(*(job(f"giant{number}", queue="owner", count=9) for number in range(3)), job("borrower")).decided()
    workload = told.world.workloads["team/borrower"]
    assert workload.admitted
