from events.admission import PreemptionRequested
from projections.explanation.pending import ahead_of, place_in_line
from projections.explanation.positions import positions
from tests.projections.fair_sharing.cohort_world import CohortWorld
from tests.projections.fair_sharing.test_admission_usage import HALF_LIFE, first, queued, shared_queue


def after_a_half_life() -> CohortWorld:
    """`a` has run a job for a half life, and has another with a high priority; two others wait in `b`."""
    at = shared_queue()
    at.running("old", "gpus", 8, door="a")
    queued(at, "urgent", "a", priority=10)
    queued(at, "patient", "b")
    queued(at, "later", "b")
    return at


def order(at: CohortWorld) -> list[tuple[str, int, int]]:
    found = positions(at.world, "gpus", at.now)
    return [(one.workload.name, one.in_cluster_queue, one.in_local_queue) for one in found]


def test_positions_follow_past_usage_at_the_time_of_asking_as_the_admitter_does() -> None:
    at = after_a_half_life()
    assert order(at) == [("urgent", 0, 0), ("patient", 1, 0), ("later", 2, 1)]
    at.now = HALF_LIFE
    assert order(at) == [("patient", 0, 0), ("later", 1, 1), ("urgent", 2, 0)]
    assert first(at) == ["patient"]


def test_an_explanation_tells_the_same_position_and_who_comes_before() -> None:
    at = after_a_half_life()
    at.now = HALF_LIFE
    urgent = at.world.workloads["team/urgent"]
    told = place_in_line(at.world, urgent, at.now)
    assert (told.position, told.waiting, told.ahead) == (3, 3, ("team/patient", "team/later"))
    assert ahead_of(at.world, urgent, at.now) == ["team/later", "team/patient"]


def test_who_waits_for_the_room_of_its_victims_stands_before_those_who_used_less() -> None:
    at = after_a_half_life()
    at.now = HALF_LIFE
    at.fold(PreemptionRequested(workload="team/urgent", cluster_queue="gpus", assignments=(), victims=()))
    assert [name for name, *_ in order(at)] == ["urgent", "patient", "later"]
