"""Two heads of one cycle that want the same victim: what the second one comes to is on the log."""

from events.admission import AdmissionRefused, PreemptionRequested, Recomputation, RequeueReason
from events.catalogue import Decision
from events.codec import encode
from events.quota import LocalQueueObserved, PreemptionPolicy
from events.settings import SettingsObserved
from tests.projections.counters.counted_story import CountedStory
from tests.stories.small_world import job, platform, queue

RECOMPUTE = "RecomputeAssignmentUponPreemptionTargetsOverlap"


def lent_out(*sizes: int, recompute: bool = True) -> CountedStory:
    """`a` and `b` own two cards each, and have lent all four to jobs of these sizes, of which the first is the first to go."""
    told = CountedStory().told(
        SettingsObserved(gates={} if recompute else {RECOMPUTE: False}),
        *platform(nominal=0, cards=8, cohort="pool"),
    )
    for name in ("a", "b"):
        told.told(
            queue(name, nominal=2, reclaim=PreemptionPolicy.ANY, cohort="pool"),
            LocalQueueObserved(namespace="team", name=name, cluster_queue=name),
        )
    told.told(*(job(f"lent-{number}", count=size, priority=number) for number, size in enumerate(sizes)))
    told.decided()
    return told


def both_want_theirs(told: CountedStory) -> list[Decision]:
    return told.told(job("one", queue="a", count=2), job("two", queue="b", count=2, at=1)).decided()


def refusal_of_two(said: list[Decision]) -> AdmissionRefused:
    (found,) = (one for one in said if isinstance(one, AdmissionRefused) and one.workload == "team/two")
    return found


def test_who_fits_once_the_victims_of_others_have_left_is_told_as_deferred_and_not_as_skipped() -> None:
    told = lent_out(4)
    found = refusal_of_two(both_want_theirs(told))
    assert (found.recomputed, found.skipped) == (Recomputation.DEFERRED_FIT, False)
    assert told.counters.skipped.gauge["b"] == 0
    assert told.counters.counts["kueue_preemption_target_recomputations_total", "b", "deferred_fit"] == 1


def test_the_place_of_who_is_deferred_is_kept_from_those_behind_it() -> None:
    """One of five cards is free; what the victim leaves is for both owners, and nothing of it for a borrower."""
    told = lent_out(4).told(queue("b", nominal=3, reclaim=PreemptionPolicy.ANY, cohort="pool"))
    told.told(job("one", queue="a", count=2), job("two", queue="b", count=3, at=1), job("borrower", at=2))
    assert refusal_of_two(told.decided()).recomputed is Recomputation.DEFERRED_FIT
    assert not told.world.workloads["team/borrower"].reserved


def test_who_finds_other_victims_says_so_in_its_request() -> None:
    told = lent_out(2, 2)
    requests = {one.workload: one for one in both_want_theirs(told) if isinstance(one, PreemptionRequested)}
    assert [victim.workload for victim in requests["team/one"].victims] == ["team/lent-0"]
    assert [victim.workload for victim in requests["team/two"].victims] == ["team/lent-1"]
    assert requests["team/one"].recomputed is Recomputation.NONE
    assert requests["team/two"].recomputed is Recomputation.NEW_TARGETS
    assert told.counters.counts["kueue_preemption_target_recomputations_total", "b", "new_targets"] == 1
    assert ("kueue_preemption_target_recomputations_total", "a", "new_targets") not in told.counters.counts


def test_where_victims_are_not_chosen_once_more_the_second_is_skipped_until_it_is_tried_with_another_outcome() -> None:
    told = lent_out(4, recompute=False)
    found = refusal_of_two(both_want_theirs(told))
    assert (found.requeue, found.skipped) == (RequeueReason.FAILED_AFTER_NOMINATION, True)
    assert found.recomputed is Recomputation.NONE
    assert told.counters.skipped.gauge == {"a": 0, "b": 1, "cq": 0}
    told.left()
    assert told.world.workloads["team/two"].reserved
    assert told.counters.skipped.gauge["b"] == 0


def test_a_refusal_that_nothing_of_it_concerns_has_the_bytes_that_it_had_before() -> None:
    plain = AdmissionRefused(workload="w", cluster_queue="q", requeue=RequeueReason.NO_FIT, reason="r", message="m")
    assert b"skipped" not in encode(plain)
    assert b"recomputed" not in encode(plain)
