"""When time alone changes what has to happen to a workload, in every standing that it can have."""

import pytest
from msgspec.structs import replace

from events.event import Millis
from events.settings import PodsReadyRule, SettingsObserved
from events.workload import Condition, ConditionStatus, WorkloadSpec
from projections.workloads.deadlines import backoff_until, kept_until, next_deadline, runs_until
from projections.workloads.in_cluster import InCluster
from projections.workloads.lifecycle import Admission, Workload
from projections.workloads.pods_ready import pods_ready_until
from projections.workloads.stops import Requeue, Stops
from projections.world import World

SPEC = WorkloadSpec(queue="lq", pod_sets=())
HELD = Admission(cluster_queue="cq", assignments=(), reservation=1, reserved_at=0)
RULE = PodsReadyRule(timeout=300, recovery_timeout=70)
KEEP = SettingsObserved(retain_finished=4000, retain_deactivated=500)


def stated(kind: str, reason: str, since: Millis, status: ConditionStatus = ConditionStatus.TRUE) -> Condition:
    return Condition(type=kind, status=status, reason=reason, message="", since=since)


ADMITTED = stated("Admitted", "Admitted", 1100)
NOT_ADMITTED = stated("Admitted", "NoReservation", 1100, ConditionStatus.FALSE)
NOBODY_KNOWS = stated("Admitted", "Admitted", 1100, ConditionStatus.UNKNOWN)
EVICTED = stated("Evicted", "Preempted", 1200)
EVICTED_ONCE = stated("Evicted", "QuotaReserved", 1200, ConditionStatus.FALSE)
READY = stated("PodsReady", "PodsReady", 1300)
STARTING = stated("PodsReady", "PodsReady", 1300, ConditionStatus.FALSE)
RECOVERING = stated("PodsReady", "WaitForRecovery", 1500, ConditionStatus.FALSE)
FINISHED = stated("Finished", "Succeeded", 2000)
GOES_ON = stated("Finished", "Succeeded", 2000, ConditionStatus.FALSE)
BY_RULE = stated("Evicted", "DeactivatedDueToRequeuingLimitExceeded", 1200)
BY_HAND = stated("Evicted", "Deactivated", 1200)
BY_RULE_ONCE = stated("Evicted", "DeactivatedDueToRequeuingLimitExceeded", 1200, ConditionStatus.FALSE)


def workload(
    *conditions: Condition, spec: WorkloadSpec = SPEC, held: bool = False, back_off: Millis | None = None
) -> Workload:
    return Workload(
        key="team/w",
        uid="u",
        owner=None,
        created_at=0,
        generation=1,
        spec=spec,
        conditions={one.type: one for one in conditions},
        admission=HELD if held else None,
        stops=Stops(requeue=Requeue(at=back_off)),
    )


def inactive(*conditions: Condition, held: bool = False) -> Workload:
    return workload(*conditions, spec=replace(SPEC, active=False), held=held)


def long(*conditions: Condition) -> Workload:
    """It may run for 900, of which it has run 250 before."""
    return replace(workload(*conditions, spec=replace(SPEC, max_execution=900)), stops=Stops(past_execution=250))


def gone_inactive(one: Workload) -> Workload:
    return replace(one, spec=replace(one.spec, active=False))


def variant(one: Workload) -> Workload:
    return replace(one, spec=replace(one.spec, variant_of="team/parent"))


@pytest.mark.parametrize(
    ("standing", "due"),
    [
        (workload(), None),
        (workload(back_off=700), 700),
        (workload(back_off=700, held=True), None),
        (workload(FINISHED, back_off=700), None),
        (workload(GOES_ON, back_off=700), 700),
    ],
)
def test_a_back_off_ends_for_those_who_wait_for_quota(standing: Workload, due: Millis | None) -> None:
    assert backoff_until(standing) == due


@pytest.mark.parametrize(
    ("standing", "rule", "due"),
    [
        (workload(), RULE, None),
        (workload(NOT_ADMITTED), RULE, None),
        (workload(NOBODY_KNOWS), RULE, None),
        (workload(ADMITTED), RULE, 1400),
        (workload(ADMITTED, EVICTED), RULE, None),
        (workload(ADMITTED, EVICTED_ONCE), RULE, 1400),
        (workload(ADMITTED, READY), RULE, None),
        (workload(ADMITTED, STARTING), RULE, 1400),
        (workload(ADMITTED, RECOVERING), RULE, 1570),
        (workload(ADMITTED, RECOVERING), PodsReadyRule(timeout=300), 1800),
        (workload(ADMITTED, RECOVERING), PodsReadyRule(timeout=300, recovery_timeout=0), 1500),
    ],
)
def test_pods_have_to_be_ready_so_long_after_the_start_or_after_the_loss(
    standing: Workload, rule: PodsReadyRule, due: Millis | None
) -> None:
    assert pods_ready_until(standing, rule) == due


@pytest.mark.parametrize(
    ("standing", "due"),
    [
        (workload(ADMITTED), None),
        (long(), None),
        (long(NOT_ADMITTED), None),
        (long(NOBODY_KNOWS), None),
        (long(ADMITTED), 1750),
        (long(ADMITTED, EVICTED), 1750),
        (gone_inactive(long(ADMITTED, EVICTED)), None),
        (gone_inactive(long(ADMITTED)), 1750),
        (variant(long(ADMITTED, EVICTED)), None),
        (variant(long(ADMITTED)), 1750),
        (long(ADMITTED, EVICTED_ONCE), 1750),
    ],
)
def test_who_may_run_for_so_long_has_run_some_of_it_before(standing: Workload, due: Millis | None) -> None:
    assert runs_until(standing) == due


@pytest.mark.parametrize(
    ("standing", "settings", "due"),
    [
        (workload(FINISHED), KEEP, 6000),
        (workload(FINISHED), SettingsObserved(retain_deactivated=500), None),
        (replace(workload(FINISHED), in_cluster=InCluster(discarded="Finished")), KEEP, None),
        (workload(GOES_ON), KEEP, None),
        (inactive(BY_RULE), KEEP, 1700),
        (inactive(BY_RULE, FINISHED), KEEP, 6000),
        (inactive(BY_RULE), SettingsObserved(retain_finished=4000), None),
        (inactive(BY_RULE, held=True), KEEP, None),
        (workload(BY_RULE), KEEP, None),
        (inactive(BY_RULE_ONCE), KEEP, None),
        (inactive(BY_HAND), KEEP, None),
        (inactive(), KEEP, None),
    ],
)
def test_an_object_stays_so_long_after_the_end_or_after_a_rule_has_deactivated_it(
    standing: Workload, settings: SettingsObserved, due: Millis | None
) -> None:
    assert kept_until(standing, settings) == due


@pytest.mark.parametrize(
    ("standing", "settings", "due"),
    [
        (workload(), KEEP, None),
        (workload(back_off=700), SettingsObserved(pods_ready=None), 700),
        (workload(ADMITTED, held=True), SettingsObserved(pods_ready=None), None),
        (workload(ADMITTED, held=True), SettingsObserved(pods_ready=RULE), 1400),
        (long(ADMITTED), SettingsObserved(pods_ready=RULE), 1400),
        (long(ADMITTED), SettingsObserved(pods_ready=PodsReadyRule(timeout=5000)), 1750),
        (long(ADMITTED, FINISHED), SettingsObserved(pods_ready=RULE), None),
        (long(ADMITTED, FINISHED), SettingsObserved(pods_ready=RULE, retain_finished=4000), 6000),
        (inactive(BY_RULE), KEEP, 1700),
    ],
)
def test_a_workload_is_looked_at_when_the_first_of_its_times_has_come(
    standing: Workload, settings: SettingsObserved, due: Millis | None
) -> None:
    assert next_deadline(standing, settings) == due


def test_a_world_knows_a_deadline_once_however_often_a_record_is_set_and_anew_under_other_settings() -> None:
    world = World()
    world.use(SettingsObserved(retain_finished=4000))
    for number in range(3):
        world.put_workload(replace(workload(FINISHED), applied=number))
    due = list[Millis | None]()
    while (at := world.next_deadline()) is not None:
        due.append(at)
        world.advance(at)
    assert due == [6000]
    world.put_workload(replace(workload(FINISHED), applied=1))
    world.use(SettingsObserved(retain_finished=9000))
    assert world.next_deadline() == 11000


def test_a_deadline_that_was_another_meanwhile_is_known_again() -> None:
    world = World()
    world.use(KEEP)
    world.put_workload(workload(back_off=700))
    world.put_workload(workload())
    world.advance(700)
    world.put_workload(workload(back_off=700))
    assert world.next_deadline() == 700
