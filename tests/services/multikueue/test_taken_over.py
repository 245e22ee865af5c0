"""Workloads that run on other clusters by the choice of a log that is lost: what a manager makes of them on another one.

Rule: docs/rules/multikueue.md#taken-over
"""

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.citation import CitedCommit
from events.multikueue import (
    ClusterChosen,
    RemoteCheckSettled,
    RemoteCondition,
    RemoteJobSynced,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
)
from events.workload import (
    AdoptedStatus,
    CheckReported,
    CheckState,
    CheckStatus,
    Condition,
    ConditionStatus,
    DecidedElsewhere,
    PodSetAssignment,
    PodsGone,
    WorkloadSubmitted,
)
from projections.checks.dispatch import Dispatch
from projections.explanation.elsewhere import chosen
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.workloads.timeline import describe
from services.multikueue.reconcile import LOST, NO_LONGER_THERE
from services.multikueue.remote_plan import RemoteJob
from tests.services.multikueue.test_rules import KEY, LOST_AFTER, Manager, cluster, delegated, kinds, running

LATER = 90_000
CITED = CitedCommit(stream="LOG_0", sequence=9, sha256="ab" * 32)
HELD = PodSetAssignment(name="main", count=1, flavors={"nvidia.com/gpu": "v100"}, usage={"nvidia.com/gpu": 1})


def true(kind: str, reason: str = "") -> Condition:
    return Condition(type=kind, status=ConditionStatus.TRUE, reason=reason or kind, message="", since=LATER)


def shown(where: str, *more: Condition, state: CheckState = CheckState.READY) -> AdoptedStatus:
    """What its object says of a workload that runs in a cluster."""
    check = CheckStatus(name="mk", state=state, message="by another log", since=LATER)
    conditions = (true("QuotaReserved"), true("Admitted"), *more)
    return AdoptedStatus(conditions=conditions, cluster_queue="cq", assignments=(HELD,), checks=(check,), cluster=where)


def found(where: str, *more: Condition, state: CheckState = CheckState.READY) -> WorkloadSubmitted:
    """It is new to the log."""
    return replace(delegated(), adopted=shown(where, *more, state=state))


def elsewhere(where: str) -> DecidedElsewhere:
    """It was known to the log."""
    return DecidedElsewhere(workload=KEY, version=70, status=shown(where))


def only_chosen(told: Manager, where: str, decisions: int = 1) -> DecidedElsewhere:
    """Its object names the cluster that was chosen, so many decisions after the last one of this log: no condition has turned since it got quota."""
    status = shown(where, state=CheckState.PENDING)
    held = replace(status.conditions[0], since=told.at)
    mark = f"LOG_0/{told.world.workloads[KEY].decided + decisions}"
    return DecidedElsewhere(workload=KEY, version=70, status=replace(status, conditions=(held,)), decision=mark)


def copy(where: str, version: int = 50, **since: int) -> RemoteWorkloadObserved:
    conditions = {kind: RemoteCondition(since=at) for kind, at in since.items()}
    return RemoteWorkloadObserved(
        cluster=where,
        workload=KEY,
        uid=f"copy-{where}",
        version=version,
        queue="lq",
        counts={"main": 1},
        conditions=conditions,
        cited=CITED,
    )


def taken(where: str) -> ClusterChosen:
    return ClusterChosen(workload=KEY, check="mk", cluster=where, cited=CITED, taken_over=True)


def evicted(told: Manager) -> bool:
    return told.world.workloads[KEY].evicted


def why_back(said: list[AnyEvent]) -> str:
    return next(one.check.message for one in said if isinstance(one, RemoteCheckSettled))


def test_what_runs_elsewhere_and_is_new_to_the_log_runs_on_while_its_copy_is_looked_at() -> None:
    told = Manager()
    assert told.after(found("w2")) == []
    assert told.world.workloads[KEY].admitted and not evicted(told)
    assert told.plan.look == "w2" and not told.plan.remove and told.plan.run is None
    assert chosen(told.world, told.world.workloads[KEY]) == (
        "cluster w2 is where it runs by its Workload, of a log that is not this one; its copy there is looked at"
    )
    told.told(copy("w2", Admitted=5))
    assert told.plan.idle, "it is not decided yet"
    assert told.decided() == [taken("w2")]
    decision = told.world.dispatches[KEY].decision
    assert told.plan.run == RemoteJob(cluster="w2", decision=decision, make=False)
    assert told.after(RemoteJobSynced(workload=KEY, cluster="w2", decision=decision)) == []
    assert told.world.workloads[KEY].admitted
    assert chosen(told.world, told.world.workloads[KEY]) == (
        f"cluster w2 was taken over at {decision}, as it ran there already, by LOG_0/9 of its log; its job is there"
    )
    again = world_of(tables_of(told.world))
    assert state_hash(again) == state_hash(told.world)


def test_what_was_taken_over_is_told_by_its_history() -> None:
    assert describe(found("w2")) == ("submitted", "queue lq, priority 0, in cluster w2")
    assert describe(elsewhere("w2")) == ("decided elsewhere", "cq, in cluster w2")
    assert describe(taken("w2")) == ("cluster chosen", "w2: it ran there already, taken over, by LOG_0/9 of its log")


def test_a_log_of_before_the_dispatch_learns_where_it_runs() -> None:
    told = Manager()
    told.told(cluster("w1", active=False), cluster("w2", active=False))
    told.after(delegated())
    assert not told.world.workloads[KEY].reserved and KEY not in told.world.dispatches
    told.told(cluster("w1"), cluster("w2"))
    told.told(elsewhere("w2"))
    assert told.after(copy("w2", Admitted=5)) == [taken("w2")]
    assert not evicted(told)


def test_a_log_of_between_dispatch_and_admission_trusts_no_copy_that_it_saw_before() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", QuotaReserved=3)
    told.copy("w2", QuotaReserved=3)
    assert told.after(elsewhere("w2")) == [], "what it has seen of w2 is older than that it runs there"
    assert told.plan.look == "w2" and not told.plan.remove
    assert told.after(copy("w2", Admitted=5)) == [taken("w2")]
    assert told.plan.remove == (("w1", "copy-w1"),)
    assert told.after(RemoteWorkloadGone(cluster="w1", workload=KEY)) == []
    assert told.plan.run is not None and not evicted(told)


def test_a_log_that_ends_in_the_second_in_which_it_was_let_in_there_learns_where_it_runs() -> None:
    told = Manager()
    told.at = LATER
    told.after(delegated())
    assert told.world.workloads[KEY].reserved, "in the same second, as objects tell times"
    ready = CheckReported(workload=KEY, check=shown("w2").checks[0])
    said = told.after(elsewhere("w2"), ready)
    assert not any(isinstance(one, RemoteCheckSettled) for one in said)
    assert told.plan.look == "w2" and not evicted(told)
    assert told.after(copy("w2", Admitted=5)) == [taken("w2")]
    assert not evicted(told)


def test_what_is_only_nominated_in_that_second_is_no_place_where_it_runs() -> None:
    told = Manager()
    told.at = LATER
    told.after(delegated())
    before = told.world.dispatches.get(KEY)
    waits = DecidedElsewhere(workload=KEY, version=70, status=shown("w2", state=CheckState.PENDING))
    assert told.after(waits) == [] and told.world.dispatches.get(KEY) == before


@pytest.mark.parametrize("reached", [("w1", "w2"), ("w2",)])
def test_a_log_of_before_the_choice_waits_for_the_chosen_cluster_though_its_check_is_not_ready_yet(
    reached: tuple[str, ...],
) -> None:
    told = Manager()
    told.told(*(cluster(name, active=name in reached) for name in ("w1", "w2")))
    told.after(delegated())
    lost = told.at
    told.told(cluster("w1"), cluster("w2", active=False, since=lost))
    assert told.after(only_chosen(told, "w2")) == []
    assert told.copy("w1", Admitted=5) == [], "the job may be at work in the other one"
    told.after(cluster("w2"))
    assert told.plan.look == "w2" and not told.plan.make and not told.plan.remove
    assert told.after(copy("w2", Admitted=9)) == [taken("w2")]
    assert told.plan.remove == (("w1", "copy-w1"),)
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    run = told.plan.run
    assert run is not None and run.make, "it may not be there yet"


def test_a_chosen_cluster_of_which_the_log_did_not_know_is_given_up_in_time() -> None:
    told = Manager()
    told.after(delegated())
    told.after(cluster("w2", active=False, since=told.at), only_chosen(told, "w2"))
    assert told.later(LOST_AFTER - 1000) == []
    assert why_back(told.later(1000)) == LOST


def test_a_chosen_cluster_of_which_the_log_did_not_know_and_that_admits_it_no_more_is_one_of_all() -> None:
    told = Manager()
    told.after(delegated())
    told.after(only_chosen(told, "w2"))
    assert kinds(told.after(RemoteWorkloadGone(cluster="w2", workload=KEY))) == ["ClustersNominated"]
    assert told.plan.make == ("w1", "w2")


@pytest.mark.parametrize("admits", [(), ("w1",)])
def test_what_its_object_was_marked_with_by_a_decision_that_the_log_has_is_no_place_where_it_may_run(
    admits: tuple[str, ...],
) -> None:
    told = Manager()
    told.after(delegated())
    for where in admits:
        told.copy(where, Admitted=5)
    before = told.world.dispatches[KEY]
    assert told.after(only_chosen(told, "w2", decisions=0)) == [] and told.world.dispatches[KEY] == before


def test_a_mark_that_its_object_had_when_it_was_first_seen_is_no_later_decision() -> None:
    told = Manager()
    told.after(replace(delegated(), marks=("LOG_0/900",)))
    before = told.world.dispatches[KEY]
    marked = replace(only_chosen(told, "w2"), decision="LOG_0/900")
    assert told.after(marked) == [] and told.world.dispatches[KEY] == before


def test_a_log_that_had_chosen_another_cluster_within_the_second_learns_where_its_job_may_be() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", Admitted=5)
    assert told.world.dispatches[KEY].cluster == "w1"
    assert told.after(only_chosen(told, "w2")) == [] and told.plan.look == "w2"
    assert told.after(copy("w2", Admitted=9)) == [taken("w2")]
    assert told.plan.remove == (("w1", "copy-w1"),)


def test_a_log_that_had_it_run_elsewhere_learns_that_it_was_moved() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", Admitted=5)
    told.synced()
    told.told(elsewhere("w2"))
    assert told.after(RemoteWorkloadGone(cluster="w1", workload=KEY)) == [], "it has left there long ago"
    assert told.after(copy("w2", Admitted=50)) == [taken("w2")]
    assert not evicted(told)


def test_a_log_that_had_it_run_where_it_has_begun_anew_since_makes_its_job_there_again() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", Admitted=5)
    told.synced()
    assert told.world.workloads[KEY].admitted and told.world.dispatches[KEY].synced
    again = DecidedElsewhere(workload=KEY, version=70, status=shown("w1", state=CheckState.PENDING))
    assert told.after(again) == [] and told.plan.look == "w1"
    assert told.after(copy("w1", Admitted=50)) == [taken("w1")]
    run = told.plan.run
    assert run is not None and run.make, "whatever ran there before has gone"
    assert not told.world.dispatches[KEY].synced and not evicted(told)


def test_a_choice_that_its_object_names_too_stands_while_its_job_is_not_there_yet() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", Admitted=5)
    before = told.world.dispatches[KEY]
    assert before.cluster == "w1" and before.decision and not before.synced
    assert told.after(DecidedElsewhere(workload=KEY, version=70, status=shown("w1", state=CheckState.PENDING))) == []
    assert told.world.dispatches[KEY] == before and told.plan.look != "w1"


def test_a_job_of_which_its_object_says_that_it_is_at_work_there_counts_as_there() -> None:
    for state, there in ((CheckState.READY, True), (CheckState.PENDING, False)):
        told = Manager()
        told.after(found("w2", state=state))
        assert told.world.dispatches[KEY].synced == there


def test_a_cluster_in_which_it_runs_by_its_object_and_that_has_lost_it_is_left() -> None:
    told = Manager()
    told.after(found("w2"))
    said = told.after(RemoteWorkloadGone(cluster="w2", workload=KEY))
    assert why_back(said) == f'{NO_LONGER_THERE}, Previously: "Ready"'
    assert evicted(told)


def test_a_cluster_in_which_it_runs_by_its_object_and_that_is_out_of_reach_is_waited_for_as_ever() -> None:
    told = Manager()
    told.told(cluster("w2", active=False, since=told.at))
    assert told.after(found("w2")) == []
    assert told.later(LOST_AFTER - 1000) == [] and not evicted(told)
    assert why_back(told.later(1000)) == f'{LOST}, Previously: "Ready"'


def test_of_two_copies_that_are_admitted_the_one_wins_that_its_object_names() -> None:
    told = Manager()
    told.told(found("w2"), copy("w1", Admitted=1), copy("w2", Admitted=5))
    assert told.decided() == [taken("w2")]
    assert told.plan.remove == (("w1", "copy-w1"),)
    assert told.after(copy("w1", version=60, Admitted=1, Evicted=60)) == [], "it is on its way out"
    assert not evicted(told)


def test_where_its_object_names_none_the_copy_that_was_admitted_first_wins_and_stays_until_that_is_decided() -> None:
    told = Manager()
    told.told(found(""), copy("w1", Admitted=6), copy("w2", Admitted=5))
    assert told.plan.idle, "whatever is admitted may be running"
    assert told.decided() == [taken("w2")]
    assert told.plan.remove == (("w1", "copy-w1"),)


def test_the_only_cluster_that_is_nominated_may_have_the_job_already_and_is_waited_for_while_it_is_out_of_reach() -> (
    None
):
    told = Manager()
    told.told(cluster("w2", active=False, since=told.at))
    told.after(found("w2", state=CheckState.PENDING))
    assert told.copy("w1", Admitted=5) == [], "it must not run twice"
    told.after(cluster("w2"))
    assert told.plan.look == "w2"
    assert told.after(copy("w2", Admitted=9)) == [taken("w2")]
    assert told.plan.remove == (("w1", "copy-w1"),)


def test_the_only_cluster_that_is_nominated_and_has_not_admitted_it_is_one_of_all() -> None:
    told = Manager()
    told.after(found("w2", state=CheckState.PENDING))
    assert kinds(told.after(copy("w2", QuotaReserved=9))) == ["ClustersNominated"]


def test_what_is_ready_and_stands_nowhere_comes_back() -> None:
    told = Manager()
    assert "no admitting cluster is recorded" in why_back(told.after(found("")))


def test_what_was_being_stopped_is_stopped_where_it_runs_and_comes_back() -> None:
    told = Manager()
    told.told(copy("w2", Admitted=5))
    said = told.after(found("w2", true("Evicted", "Preempted")))
    assert "ClusterChosen" not in kinds(said)
    told.after(copy("w2", version=60, Admitted=5))
    run = told.plan.run
    assert run is not None and run.cluster == "w2" and run.stop and not run.make
    said = told.after(PodsGone(workload=KEY, decision=f"LOG_0/{told.world.workloads[KEY].stops.stopped_by}"))
    assert "QuotaReleased" in kinds(said)


def test_what_was_being_stopped_nobody_knows_where_goes_everywhere_before_it_looks_stopped() -> None:
    told = Manager()
    told.told(copy("w2", Admitted=5))
    told.after(found("", true("Evicted", "AdmissionCheck"), state=CheckState.RETRY))
    assert told.plan.remove == (("w2", "copy-w2"),) and not told.plan.park
    told.after(RemoteWorkloadGone(cluster="w2", workload=KEY))
    assert told.plan.park and told.plan.elsewhere == ("w1", "w2")


def test_a_copy_of_a_workload_that_is_not_on_the_log_goes_unless_it_stands_here() -> None:
    told = Manager()
    told.after(copy("w2", Admitted=5))
    assert told.plan.remove == (("w2", "copy-w2"),) and told.plan.unknown


def test_what_runs_somewhere_that_this_log_does_not_know_looks_stopped_once_no_copy_is_left() -> None:
    told = running()
    told.world.trail.put(told.world.dispatches, KEY, Dispatch(check="mk", clusters=("w1",)))
    told.copy("w1", QuotaReserved=1)
    assert told.world.workloads[KEY].evicted, "it is Ready, and no cluster admits it"
    assert told.plan.remove == (("w1", "copy-w1"),) and not told.plan.park
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert told.plan.park and told.plan.elsewhere == ("w1", "w2")
