from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from events.admission import QuotaReserved, WorkloadAdmitted
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.quota import AdmissionMode, LocalQueueObserved
from events.settings import AdmissionFairSharing, SettingsObserved
from events.workload import (
    PodSetAssignment,
    QuotaReleased,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadQueued,
    WorkloadSwitched,
)
from projections.fair_sharing.decay import ONE, entry_part
from projections.fair_sharing.past_usage import past_usage
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.admitter.heads import heads
from tests.projections.fair_sharing.cohort_world import CohortWorld

HALF_LIFE = 10_000
RULE = AdmissionFairSharing(half_life=HALF_LIFE, sampling=1000)
STEP = Fraction(1, ONE)


def shared_queue(mode: AdmissionMode = AdmissionMode.USAGE_BASED) -> CohortWorld:
    at = CohortWorld(SettingsObserved(admission_fair_sharing=RULE))
    at.queue("gpus", 100, mode=mode)
    at.door("a", "gpus")
    at.door("b", "gpus")
    return at


def reserved(at: CohortWorld, name: str, amount: int) -> None:
    held = PodSetAssignment(name="main", count=1, flavors={"gpu": "default"}, usage={"gpu": amount})
    at.fold(QuotaReserved(workload=f"team/{name}", cluster_queue="gpus", assignments=(held,)))


def admitted(at: CohortWorld, name: str) -> None:
    at.fold(WorkloadAdmitted(workload=f"team/{name}", cluster_queue="gpus"))


def used(at: CohortWorld, door: str) -> Fraction:
    endless, amount = past_usage(at.world, f"team/{door}", at.now)
    assert not endless
    return amount


def first(at: CohortWorld) -> list[str]:
    return [head.workload.name for head in heads(at.world, [at.world.quota.root_of("gpus")], at.now)]


def queued(at: CohortWorld, name: str, door: str, priority: int = 0) -> None:
    at.waiting(name, priority, door)
    at.fold(WorkloadQueued(workload=f"team/{name}", cluster_queue="gpus"))


def test_a_reservation_costs_at_once_what_one_sampling_interval_would() -> None:
    at = shared_queue()
    at.waiting("one", door="a")
    reserved(at, "one", 8)
    penalty = Fraction(8 * entry_part(RULE.sampling, HALF_LIFE), ONE)
    assert used(at, "a") == penalty
    at.now += HALF_LIFE
    assert used(at, "a") == penalty


def test_the_penalty_becomes_usage_when_the_workload_is_admitted_and_goes_when_it_leaves_before() -> None:
    at = shared_queue()
    for name in ("one", "two"):
        at.waiting(name, door="a")
        reserved(at, name, 8)
    before = used(at, "a")
    admitted(at, "one")
    assert used(at, "a") == before
    at.gone("two")
    assert used(at, "a") == before / 2


def test_what_a_reservation_cost_stays_used_when_its_quota_is_taken_from_it_and_fades() -> None:
    """Else a job that is preempted before it is admitted would come first again and again."""
    at = shared_queue()
    for name in ("one", "two"):
        at.waiting(name, door="a")
        reserved(at, name, 8)
    before = used(at, "a")
    at.fold(QuotaReleased(workload="team/one", reason="Preempted"))
    assert used(at, "a") == before
    at.gone("one")
    assert used(at, "a") == before
    at.now += HALF_LIFE
    assert used(at, "a") == before * Fraction(3, 4)


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (WorkloadSwitched(workload="team/one", active=False), "Deactivated"),
        (WorkloadFinished(workload="team/one", reason="Succeeded"), "Finished"),
    ],
)
def test_what_a_reservation_cost_goes_with_a_job_that_is_deactivated_or_has_ended(
    ending: AnyEvent, reason: str
) -> None:
    at = shared_queue()
    at.waiting("one", door="a")
    reserved(at, "one", 8)
    at.fold(ending)
    at.fold(QuotaReleased(workload="team/one", reason=reason))
    assert used(at, "a") == 0


def test_what_a_reservation_cost_goes_with_a_job_that_waits_in_another_local_queue_by_then() -> None:
    at = shared_queue()
    at.waiting("one", door="a")
    reserved(at, "one", 8)
    moved = replace(at.world.workloads["team/one"].spec, queue="b")
    at.fold(WorkloadChanged(workload="team/one", generation=2, spec=moved))
    at.fold(QuotaReleased(workload="team/one", reason="LocalQueueChanged"))
    assert used(at, "a") == used(at, "b") == 0


def test_what_runs_for_a_half_life_counts_half_and_fades_by_half_when_it_is_gone() -> None:
    at = shared_queue()
    at.running("one", "gpus", 8, door="a")
    at.now = HALF_LIFE
    assert used(at, "a") == 4
    at.gone("one")
    at.now = 3 * HALF_LIFE
    assert used(at, "a") == 1


@given(st.lists(st.integers(min_value=0, max_value=40_000), min_size=1, max_size=6))
def test_how_often_the_ledger_is_touched_on_the_way_makes_no_difference(pauses: list[int]) -> None:
    once, often = shared_queue(), shared_queue()
    for at in (once, often):
        at.running("one", "gpus", 8, door="a")
    for number, pause in enumerate(pauses):
        often.now += pause
        often.fold(SettingsObserved(admission_fair_sharing=RULE, retain_finished=number))
    once.now = often.now
    assert abs(used(once, "a") - used(often, "a")) <= 10 * len(pauses) * STEP


def test_the_local_queue_that_used_less_comes_first_whatever_the_priorities() -> None:
    at = shared_queue()
    at.running("old", "gpus", 8, door="a")
    queued(at, "urgent", "a", priority=10)
    queued(at, "patient", "b")
    assert first(at) == ["urgent"]
    at.now = HALF_LIFE
    assert first(at) == ["patient"]


def test_a_queue_that_does_not_want_it_has_the_order_of_priorities() -> None:
    at = shared_queue(AdmissionMode.NONE)
    at.running("old", "gpus", 8, door="a")
    queued(at, "urgent", "a", priority=10)
    queued(at, "patient", "b")
    at.now = HALF_LIFE
    assert first(at) == ["urgent"]


def test_nothing_is_counted_where_it_is_not_configured() -> None:
    at = CohortWorld(SettingsObserved())
    at.queue("gpus", 100, mode=AdmissionMode.USAGE_BASED)
    at.door("a", "gpus")
    at.running("one", "gpus", 8, door="a")
    assert not at.world.ledgers and not at.world.entered
    at.fold(SettingsObserved(admission_fair_sharing=RULE))
    assert at.world.ledgers and at.world.entered
    for off in (
        SettingsObserved(),
        SettingsObserved(admission_fair_sharing=RULE, gates={"AdmissionFairSharing": False}),
    ):
        at.fold(off)
        assert not at.world.ledgers and not at.world.entered


def test_those_who_wait_and_run_already_count_when_a_queue_begins_to_want_it() -> None:
    at = shared_queue(AdmissionMode.NONE)
    at.running("old", "gpus", 8, door="a")
    queued(at, "urgent", "a", priority=10)
    queued(at, "patient", "b")
    at.queue("gpus", 100, mode=AdmissionMode.USAGE_BASED)
    at.now = HALF_LIFE
    assert first(at) == ["patient"]
    at.queue("gpus", 100)
    assert first(at) == ["urgent"]


def test_what_was_used_before_a_queue_wanted_it_counts() -> None:
    at = shared_queue(AdmissionMode.NONE)
    at.running("one", "gpus", 8, door="a")
    at.now = HALF_LIFE
    at.queue("gpus", 100, mode=AdmissionMode.USAGE_BASED)
    assert used(at, "a") == 4


def test_where_it_is_configured_later_what_runs_counts_as_if_it_always_had() -> None:
    at = CohortWorld(SettingsObserved())
    at.queue("gpus", 100, mode=AdmissionMode.USAGE_BASED)
    at.door("a", "gpus")
    at.running("one", "gpus", 8, door="a")
    at.now = HALF_LIFE
    at.fold(SettingsObserved(admission_fair_sharing=RULE))
    assert used(at, "a") == 8
    at.now = 2 * HALF_LIFE
    assert used(at, "a") == 8
    at.gone("one")
    at.now = 3 * HALF_LIFE
    at.fold(SettingsObserved(admission_fair_sharing=RULE, retain_finished=1))
    assert used(at, "a") == 4, "settings that are told again begin nothing anew"


def test_a_local_queue_that_is_made_anew_has_used_nothing_of_before() -> None:
    at = shared_queue()
    at.running("one", "gpus", 8, door="a")
    at.waiting("two", door="a")
    reserved(at, "two", 8)
    at.now = HALF_LIFE
    at.gone("one")
    at.fold(ObjectRemoved(kind="LocalQueue", namespace="team", name="a"))
    at.gone("two")
    assert "team/a" not in at.world.ledgers and not at.world.entered
    at.door("a", "gpus")
    assert used(at, "a") == 0


def test_a_local_queue_that_is_made_anew_begins_with_what_its_workloads_use() -> None:
    at = shared_queue()
    at.running("one", "gpus", 8, door="a")
    at.running("two", "gpus", 2, door="a")
    at.now = HALF_LIFE
    at.fold(ObjectRemoved(kind="LocalQueue", namespace="team", name="a"))
    at.now = 2 * HALF_LIFE
    at.gone("two")
    at.door("a", "gpus")
    assert used(at, "a") == 8
    at.gone("one")
    at.now = 3 * HALF_LIFE
    assert used(at, "a") == 4


def test_what_kueue_had_measured_is_what_a_local_queue_begins_with() -> None:
    at = shared_queue()
    at.now = HALF_LIFE
    at.fold(LocalQueueObserved(namespace="team", name="c", cluster_queue="gpus", consumed={"gpu": 8}, consumed_at=1))
    at.now = HALF_LIFE + 1
    assert used(at, "c") == 4


def test_a_local_queue_of_weight_zero_comes_last_and_weights_divide() -> None:
    at = shared_queue()
    at.door("nothing", "gpus", weight=0)
    at.door("double", "gpus", weight=2)
    at.running("old-a", "gpus", 3, door="a")
    at.running("old-d", "gpus", 4, door="double")
    for door in ("nothing", "a", "double"):
        queued(at, f"by-{door}", door)
    at.now = HALF_LIFE
    order: list[str] = []
    while waiting := first(at):
        order += waiting
        at.gone(waiting[0])
    assert order == ["by-double", "by-a", "by-nothing"]


def test_every_resource_counts_in_its_own_unit_by_its_weight_or_by_one() -> None:
    at = CohortWorld(
        SettingsObserved(
            admission_fair_sharing=replace(RULE, resource_weights={"cpu": "10", "nvidia.com/gpu": "0.5", "none": "0"})
        )
    )
    at.queue("gpus", 100, mode=AdmissionMode.USAGE_BASED)
    measured = {"cpu": 2000, "memory": 3, "nvidia.com/gpu": 4, "none": 7}
    at.fold(LocalQueueObserved(namespace="team", name="a", cluster_queue="gpus", consumed=measured))
    assert used(at, "a") == 2 * 10 + 3 + Fraction(4, 2)


def test_ledgers_survive_a_snapshot_and_are_taken_back_with_the_trail() -> None:
    at = shared_queue()
    at.running("one", "gpus", 8, door="a")
    queued(at, "two", "b")
    at.now = 3333
    digest, mark = state_hash(at.world), at.world.mark()
    at.gone("one")
    reserved(at, "two", 5)
    assert state_hash(world_of(tables_of(at.world))) == state_hash(at.world)
    at.world.undo(mark)
    assert state_hash(at.world) == digest
    assert first(at) == ["two"]
