"""Whether pods are ready is said of the attempt that runs: how those of an earlier attempt stood counts no more."""

import pytest
from msgspec.structs import replace

from events.admission import WorkloadAdmitted
from events.settings import PodsReadyRule
from events.workload import ConditionStatus, PodsReady, QuotaReleased
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.workloads.lifecycle import PODS_READY, Workload
from projections.workloads.pods_ready import pods_ready_until
from projections.world import World
from tests.projections.workloads.test_terminating import RUNS

RULE = PodsReadyRule(timeout=1000, recovery_timeout=50)


def after(*told: bool) -> tuple[World, Workload]:
    """A workload that is admitted at 100, and of whose pods this was told from 200 on."""
    world = World()
    world.put_workload(RUNS)
    evolve(
        world,
        WorkloadAdmitted(workload=RUNS.key, cluster_queue="cq"),
        LogPosition(partition="LOG_0", sequence=1, at=100),
    )
    for number, ready in enumerate(told):
        position = LogPosition(partition="FACTS", sequence=number + 1, at=200 + number)
        evolve(world, PodsReady(workload=RUNS.key, ready=ready), position)
    return world, world.workloads[RUNS.key]


def test_pods_that_were_ready_have_the_time_of_recovery_from_when_they_were_not() -> None:
    _, lost = after(True, False)
    found = lost.condition(PODS_READY)
    assert found is not None and (found.reason, pods_ready_until(lost, RULE)) == ("WaitForRecovery", 251)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ((True,), "Started"),
        ((False,), "WaitForStart"),
        ((False, True), "Started"),
        ((True, False), "WaitForRecovery"),
        ((True, False, False), "WaitForRecovery"),
        ((True, False, True), "Recovered"),
        ((False, False), "WaitForStart"),
        ((False, True, False, True), "Recovered"),
    ],
)
def test_pods_start_once_and_recover_from_then_on(told: tuple[bool, ...], reason: str) -> None:
    found = after(*told)[1].condition(PODS_READY)
    assert found is not None and found.reason == reason


def test_under_the_reason_of_older_versions_of_kueue_pods_have_not_started_yet() -> None:
    world, fresh = after(False)
    condition = fresh.conditions[PODS_READY]
    world.put_workload(
        replace(fresh, conditions={**fresh.conditions, PODS_READY: replace(condition, reason="PodsReady")})
    )
    evolve(world, PodsReady(workload=RUNS.key, ready=True), LogPosition(partition="FACTS", sequence=9, at=300))
    found = world.workloads[RUNS.key].condition(PODS_READY)
    assert found is not None and found.reason == "Started"


@pytest.mark.parametrize("told", [(True,), (True, False), (False,)])
def test_who_is_admitted_again_has_the_whole_time_for_its_start(told: tuple[bool, ...]) -> None:
    world, before = after(*told)
    world.put_workload(replace(before, conditions={PODS_READY: before.conditions[PODS_READY]}))
    evolve(
        world,
        WorkloadAdmitted(workload=RUNS.key, cluster_queue="cq"),
        LogPosition(partition="LOG_0", sequence=2, at=5000),
    )
    again = world.workloads[RUNS.key]
    found = again.condition(PODS_READY)
    assert found is not None and (found.reason, pods_ready_until(again, RULE)) == ("WaitForStart", 6000)


@pytest.mark.parametrize("told", [(True,), (True, False), (False,)])
def test_who_has_lost_its_quota_waits_for_its_start_again(told: tuple[bool, ...]) -> None:
    world, _ = after(*told)
    released = QuotaReleased(workload=RUNS.key, reason="Preempted", message="for another one")
    evolve(world, released, LogPosition(partition="LOG_0", sequence=2, at=5000))
    found = world.workloads[RUNS.key].condition(PODS_READY)
    assert found is not None and (found.status, found.reason) == (ConditionStatus.FALSE, "WaitForStart")
    assert found.message == "Not all pods are ready or succeeded"


def test_of_who_was_never_told_of_nothing_is_said() -> None:
    world, fresh = after()
    assert fresh.condition(PODS_READY) is None
    evolve(world, QuotaReleased(workload=RUNS.key, reason="x"), LogPosition(partition="LOG_0", sequence=2, at=5000))
    assert world.workloads[RUNS.key].condition(PODS_READY) is None
