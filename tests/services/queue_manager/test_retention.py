"""How the story of a workload ends: orphaned, deleted by somebody, or kept long enough."""

from msgspec.structs import replace

from events.application import DecisionApplied
from events.settings import SettingsObserved
from events.upkeep import DeactivationOrdered, DiscardReason, WorkloadDiscarded, WorkloadOrphaned
from events.workload import Owner
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SECOND, SPEC, Room, settings, submitted, true
from tests.stories.small_world import Story
from tests.stories.test_variants import job, of, platform, queue, stopped


def test_a_workload_whose_job_let_it_go_ends_and_gives_its_quota_back() -> None:
    room = Room(submitted(replace(SPEC, orphaned=True), reserved=True, admitted_at=MINUTE))
    assert len(room.world.holding["cq"]) == 1
    assert room.steps() == [WorkloadOrphaned(workload=KEY)]
    assert room.told("Finished") == ("True", "OwnerNotFound", "The workload's owner no longer exists")
    assert len(room.world.holding["cq"]) == 0
    assert room.workload.in_cluster.released


def test_with_the_gate_off_an_orphan_is_left_alone_until_somebody_deletes_it() -> None:
    off = settings(gates={"FinishOrphanedWorkloads": False})
    done = (true("Finished", "Succeeded"),)
    assert Room(off, submitted(replace(SPEC, orphaned=True), conditions=done)).steps() == []
    deleted = Room(off, submitted(replace(SPEC, leaving=True)))
    assert deleted.steps() == [WorkloadDiscarded(workload=KEY, reason=DiscardReason.DELETED)]


def test_a_deleted_workload_that_a_job_owns_is_left_to_its_job() -> None:
    owned = submitted(
        replace(SPEC, leaving=True),
        owner=Owner(kind="Job", name="j", uid="j"),
        conditions=(true("Finished", "Succeeded"),),
    )
    assert Room(owned).steps() == []


def test_a_finished_workload_goes_when_its_time_has_passed_and_is_forgotten_when_the_cluster_shows_it() -> None:
    room = Room(settings(retain_finished=45 * SECOND))
    room.tell(submitted(conditions=(true("Finished", "Succeeded", since=room.at - 44 * SECOND),)))
    assert room.steps() == []
    assert room.world.next_deadline() == room.at + SECOND
    room.at += SECOND
    assert room.steps() == [WorkloadDiscarded(workload=KEY, reason=DiscardReason.FINISHED)]
    room.tell(DecisionApplied(workload=KEY, partition="LOG_0", sequence=room.sequence))
    assert KEY not in room.world.workloads


def test_only_what_a_rule_has_deactivated_is_discarded_after_its_time() -> None:
    keep = settings(retain_deactivated=MINUTE)
    spec = replace(SPEC, active=False)
    by_rule = Room(keep)
    by_rule.tell(
        submitted(spec, conditions=(true("Evicted", "DeactivatedDueToAdmissionCheck", since=by_rule.at - MINUTE),))
    )
    assert by_rule.step() == [WorkloadDiscarded(workload=KEY, reason=DiscardReason.DEACTIVATED)]
    by_hand = Room(keep)
    by_hand.tell(submitted(spec, conditions=(true("Evicted", "Deactivated", since=by_hand.at - MINUTE),)))
    assert not any(isinstance(one, WorkloadDiscarded) for one in by_hand.steps())


def test_a_job_stays_while_the_variant_that_it_runs_as_has_not_stopped() -> None:
    keep = SettingsObserved(gates={"ConcurrentAdmission": True}, retain_deactivated=MINUTE)
    told = Story().told(*platform(queue()), keep, job("a", max_execution=MINUTE))
    told.decided()
    assert any(isinstance(one, DeactivationOrdered) for one in told.later(MINUTE))
    assert (
        not told.later(60 * MINUTE)
        and told.world.quota.usage_by_name(told.world.quota.queues["cq"])["reserved", "cpu"] == 10
    )
    said = told.told(stopped(told, "a")).decided()
    over = [one.workload for one in said if isinstance(one, WorkloadDiscarded)]
    assert over[0] == "team/a" and of(told, "a", "reserved").key in over
    assert not told.world.quota.usage_by_name(told.world.quota.queues["cq"]).get(("reserved", "cpu"))
