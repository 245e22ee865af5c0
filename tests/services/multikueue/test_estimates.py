"""Clusters that are asked beforehand what would happen: who is tried where, by what they answer.

Rule: docs/rules/multikueue.md#estimates
"""

import pytest
from msgspec.structs import replace

from events.api.labels import ESTIMATE, LOCALITY
from events.catalogue import AnyEvent
from events.multikueue import (
    BY_ESTIMATE,
    ClusterChosen,
    ClusterOrder,
    ClustersNominated,
    EstimatesAsked,
    RemoteWorkloadObserved,
)
from events.start_estimate import ASKED, ForeseenStart, StartEstimate, estimate_in, estimate_text
from events.workload import WorkloadSubmitted
from ops.queries.explaining import explain
from projections.checks.dispatch import ROUND
from projections.explanation.elsewhere import answers
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.multikueue.estimates import question
from tests.services.multikueue.test_rules import KEY, Manager, cluster, delegated

NOW, PREEMPTING, LATER = ForeseenStart
TIMEOUT = 10_000


class Asking(Manager):
    """A manager that asks w1 and w2 beforehand; the list names w2 first."""

    def __init__(self, *order: ClusterOrder) -> None:
        super().__init__(dispatcher=BY_ESTIMATE, order=order or (ClusterOrder.EARLIEST_START,))

    def submitted(self, **labels: str) -> list[AnyEvent]:
        found: WorkloadSubmitted = delegated()
        return self.after(replace(found, spec=replace(found.spec, labels=labels)))

    def answer(
        self, name: str, start: ForeseenStart | None, others: int = 0, *, sent: int | None = None
    ) -> list[AnyEvent]:
        """The question in a cluster stands so: it is answered, or it is not."""
        self.version += 1
        estimate = StartEstimate(start=start, others=others) if start is not None else None
        return self.after(
            RemoteWorkloadObserved(
                cluster=name,
                workload=KEY,
                uid=f"question-{name}",
                version=self.version,
                queue="lq",
                counts={"main": 1},
                active=False,
                estimate=estimate,
                sent=sent,
            )
        )


def nominated(said: list[AnyEvent]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Where it is tried, and where later; None while nothing is decided."""
    found = [one for one in said if isinstance(one, ClustersNominated)]
    return (found[-1].clusters, found[-1].later) if found else None


def test_who_holds_quota_is_asked_about_first_and_tried_nowhere_meanwhile() -> None:
    told = Asking()
    said = told.submitted()
    assert [one for one in said if isinstance(one, EstimatesAsked | ClustersNominated)] == [
        EstimatesAsked(workload=KEY, check="mk", clusters=("w2", "w1"))
    ]
    assert (told.plan.ask, told.plan.make) == (("w1", "w2"), ())
    assert told.answer("w1", None) == [] and told.answer("w1", NOW) == [], "w2 has not answered yet"
    assert told.plan.ask == ("w2",)
    (event,) = told.answer("w2", PREEMPTING, 2)
    assert event == ClustersNominated(
        workload=KEY,
        check="mk",
        clusters=("w1",),
        later=("w2",),
        why="w1 is preferred by EarliestStart: w2 would start it by preempting 2; w1 would start it now",
    )
    assert told.plan.remove == (("w1", "question-w1"), ("w2", "question-w2")), "questions go, and copies come"


def test_it_is_explained_what_each_answered_and_why_one_was_preferred() -> None:
    told = Asking()
    told.submitted()
    told.answer("w1", NOW)
    workload = told.world.workloads[KEY]
    assert answers(told.world, workload) == ("cluster w1: would start it now", "cluster w2: no copy seen there yet")
    told.answer("w2", LATER, 7)
    why = "w1 is preferred by EarliestStart: w2 would have it wait behind 7; w1 would start it now"
    assert told.copy("w1", QuotaReserved=1, Admitted=2) == [ClusterChosen(workload=KEY, check="mk", cluster="w1")]
    assert why in explain(told.world, told.world.workloads[KEY], told.at).message


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((NOW, 0), (PREEMPTING, 1)),
        ((PREEMPTING, 9), (LATER, 0)),
        ((PREEMPTING, 1), (PREEMPTING, 2)),
        ((LATER, 0), (LATER, 3)),
    ],
)
def test_the_earlier_start_is_preferred(one: tuple[ForeseenStart, int], other: tuple[ForeseenStart, int]) -> None:
    for early, late in (("w1", "w2"), ("w2", "w1")):
        told = Asking()
        told.submitted()
        told.answer(early, *one)
        assert nominated(told.answer(late, *other)) == ((early,), (late,))


def test_who_does_not_answer_in_time_is_unknown_and_keeps_nobody_waiting() -> None:
    told = Asking()
    told.submitted()
    told.answer("w1", NOW)
    assert told.later(TIMEOUT - 1000) == []
    assert nominated(told.later(1000)) == (("w1",), ("w2",)), "one starts it: the other comes later"
    told = Asking()
    told.submitted()
    told.answer("w1", LATER, 3)
    assert nominated(told.later(TIMEOUT)) == (("w1", "w2"), ()), "nobody starts it: the unknown one is tried along"
    told = Asking()
    told.told(cluster("w3"))
    told.submitted()
    told.answer("w1", NOW)
    told.answer("w3", LATER, 3)
    assert nominated(told.later(TIMEOUT)) == (("w1",), ("w3", "w2")), "who has not answered comes last"


def test_a_copy_that_may_be_admitted_is_no_question_and_goes() -> None:
    told = Asking()
    told.submitted()
    told.answer("w1", None)
    assert told.plan.remove == ()
    told.after(replace(told.world.remotes[KEY]["w1"], version=50, active=True))
    assert told.plan.remove == (("w1", "question-w1"),)


def test_where_nobody_answers_it_is_tried_everywhere() -> None:
    told = Asking()
    told.submitted()
    said = told.later(TIMEOUT)
    assert nominated(said) == (("w1", "w2"), ())
    assert isinstance(said[0], ClustersNominated) and said[0].why == "no cluster has answered in time"


def test_a_cluster_that_is_lost_while_it_is_asked_is_waited_for_no_longer() -> None:
    told = Asking()
    told.submitted()
    told.answer("w1", LATER, 3)
    assert nominated(told.after(cluster("w2", active=False, since=told.at))) == (("w1",), ())


def test_the_next_ones_are_tried_if_the_preferred_one_does_not_admit_it_in_time() -> None:
    told = Asking()
    told.submitted()
    told.answer("w1", NOW)
    told.answer("w2", LATER, 1)
    assert told.later(ROUND - 1000) == []
    assert nominated(told.later(1000)) == (("w1", "w2"), ())
    assert told.later(2 * ROUND) == [], "there are no more"


def test_the_cheaper_cluster_is_preferred_and_one_without_a_price_comes_last() -> None:
    told = Asking(ClusterOrder.PRICE, ClusterOrder.EARLIEST_START)
    told.after(replace(cluster("w1"), price=3), replace(cluster("w2"), price=20))
    told.submitted()
    told.answer("w1", LATER, 9)
    assert nominated(told.answer("w2", NOW)) == (("w1",), ("w2",))
    told = Asking(ClusterOrder.PRICE)
    told.after(replace(cluster("w1"), price=3))
    told.submitted()
    told.answer("w2", NOW)
    assert nominated(told.answer("w1", NOW)) == (("w1",), ("w2",))


def test_a_cluster_whose_data_are_those_of_the_job_is_preferred() -> None:
    told = Asking(ClusterOrder.LOCALITY, ClusterOrder.EARLIEST_START)
    told.after(replace(cluster("w1"), locality="oslo"), replace(cluster("w2"), locality="rome"))
    told.submitted(**{LOCALITY: "oslo"})
    told.answer("w1", LATER, 9)
    assert nominated(told.answer("w2", NOW)) == (("w1",), ("w2",))
    told = Asking(ClusterOrder.LOCALITY, ClusterOrder.EARLIEST_START)
    told.after(cluster("w1"), cluster("w2"))
    told.submitted()
    told.answer("w1", LATER, 9)
    assert nominated(told.answer("w2", NOW)) == (("w2",), ("w1",)), "a job without data has no preference"


def test_the_cluster_with_fewer_jobs_of_this_manager_is_preferred() -> None:
    told = Asking(ClusterOrder.SPREAD)
    told.submitted()
    told.answer("w1", NOW)
    assert nominated(told.answer("w2", NOW)) == (("w2",), ("w1",)), "equal ones stay in the order of the list"
    told.copy("w2", QuotaReserved=1, Admitted=2)
    other = replace(told.world.dispatches[KEY], cluster="w2")
    told = Asking(ClusterOrder.SPREAD)
    told.world.dispatches["team/z"] = other
    told.submitted()
    told.answer("w1", NOW)
    assert nominated(told.answer("w2", NOW)) == (("w1",), ("w2",))


def test_jobs_of_other_partitions_count_as_they_were_seen_with_the_answer_and_those_of_this_one_as_they_are_by_now() -> (
    None
):
    told = Asking(ClusterOrder.SPREAD)
    told.submitted()
    told.answer("w1", NOW, sent=2)
    said = told.answer("w2", NOW, sent=3)
    assert nominated(said) == (("w1",), ("w2",))
    why = "w1 is preferred by Spread: w2 would start it now, 3 of the jobs from here run in it; "
    assert [one.why for one in said if isinstance(one, ClustersNominated)] == [
        f"{why}w1 would start it now, 2 of the jobs from here run in it"
    ]
    other = replace(told.world.dispatches[KEY], clusters=(), cluster="w1")
    told = Asking(ClusterOrder.SPREAD)
    told.world.dispatches |= {"team/x": other, "team/y": other, "team/z": other}
    told.submitted()
    told.answer("w1", NOW, sent=0)
    assert nominated(told.answer("w2", NOW, sent=2)) == (("w2",), ("w1",)), "three were sent there since"


def test_a_question_about_something_else_is_no_answer_and_is_asked_anew() -> None:
    told = Asking()
    told.submitted()
    changed = replace(delegated().spec, priority=7)
    told.answer("w1", NOW)
    told.world.workloads[KEY] = replace(told.world.workloads[KEY], spec=changed)
    assert told.plan.remove == (("w1", "question-w1"),)
    assert told.answer("w2", NOW) == []


def test_what_was_asked_and_answered_outlives_every_process() -> None:
    told = Asking()
    told.submitted()
    told.answer("w1", NOW)
    again = world_of(tables_of(told.world))
    assert state_hash(again) == state_hash(told.world) and again.dispatches == told.world.dispatches
    told.answer("w2", LATER, 1)
    assert world_of(tables_of(told.world)).dispatches == told.world.dispatches


def test_a_question_is_a_copy_that_may_not_be_admitted() -> None:
    copy = {"metadata": {"name": "a", "annotations": {"note": "n"}}, "spec": {"queueName": "lq", "active": True}}
    asked = question(copy)
    assert asked["spec"] == {"queueName": "lq", "active": False}
    assert asked["metadata"]["annotations"] == {"note": "n", ESTIMATE: ASKED}
    assert copy["spec"]["active"], "the copy itself is as it was"


def test_an_answer_is_read_as_it_was_written_and_nothing_else_is_one() -> None:
    for start in ForeseenStart:
        found = StartEstimate(start=start, others=3)
        assert estimate_in(estimate_text(found)) == found
    for text in ("", ASKED, "Now", "Now/-1", "Soon/1", "Later/1234567", "Now/0\n"):
        assert estimate_in(text) is None
