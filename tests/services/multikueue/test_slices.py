"""Elastic jobs that run on other clusters: slices follow each other in the cluster in which the job runs.

Rule: docs/rules/multikueue.md#slices
"""

from msgspec.structs import replace

from events.admission import AdmissionRefused
from events.catalogue import AnyEvent
from events.multikueue import (
    ClusterChosen,
    RemoteCheckSettled,
    RemoteCondition,
    RemoteJobSynced,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
)
from events.slices import WorkloadSliceReplaced, WorkloadSliceResized, WorkloadSliceSubmitted
from events.workload import (
    CheckState,
    CheckStatus,
    PodsGone,
    PriorityRef,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadSubmitted,
)
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.multikueue.plan import plan
from services.multikueue.reconcile import LOST, NO_LONGER_THERE
from services.multikueue.remote_plan import Outline, RemoteJob, RemotePlan
from tests.services.multikueue.test_rules import KEY, LOST_AFTER, Manager, cluster, delegated

REPLACED = "WorkloadSliceReplaced"
EVICTED_THERE = 'Workload evicted on worker cluster: "w1", resetting for re-admission, Previously: "Pending"'


def elastic(count: int, **owner: str) -> WorkloadSubmitted:
    found = delegated(**owner)
    pod_sets = tuple(replace(one, count=count) for one in found.spec.pod_sets)
    return replace(found, spec=replace(found.spec, elastic=True, pod_sets=pod_sets))


class Growing(Manager):
    """An elastic job of two pods runs in w1."""

    def __init__(self, count: int = 2) -> None:
        super().__init__()
        self.asked = elastic(count)
        self.after(self.asked)
        self.copied(KEY, "w1", count, Admitted=5)
        self.job_is_there(KEY)
        assert self.world.workloads[KEY].admitted

    def size(self, count: int) -> list[AnyEvent]:
        """The job wants so many pods from now on."""
        pod_sets = tuple(replace(one, count=count) for one in self.asked.spec.pod_sets)
        return self.after(WorkloadChanged(workload=KEY, spec=replace(self.asked.spec, pod_sets=pod_sets)))

    def grown(self, count: int = 4) -> str:
        """The key of the slice that has come for more pods."""
        (found,) = [one for one in self.size(count) if isinstance(one, WorkloadSliceSubmitted)]
        return found.workload

    def copied(self, key: str, name: str, count: int, *, reason: str = "", **since: int) -> list[AnyEvent]:
        self.version += 1
        return self.after(
            RemoteWorkloadObserved(
                cluster=name,
                workload=key,
                uid=f"{key}-{name}",
                version=self.version,
                queue="lq",
                counts={"main": count},
                conditions={kind: RemoteCondition(since=at, reason=reason) for kind, at in since.items()},
            )
        )

    def job_is_there(self, key: str) -> list[AnyEvent]:
        found = self.world.dispatches[key]
        return self.after(RemoteJobSynced(workload=key, cluster=found.cluster, decision=found.decision))

    def stands(self, key: str) -> tuple[CheckState, str]:
        found = self.world.workloads[key].checks["mk"]
        return found.state, found.message

    def plan_of(self, key: str) -> RemotePlan:
        return plan(self.world, key)


def retried(said: list[AnyEvent]) -> str:
    """Why the check is Retry."""
    (found,) = [one.check for one in said if isinstance(one, RemoteCheckSettled)]
    assert found.state is CheckState.RETRY
    return found.message


def test_a_job_that_grows_is_tried_in_the_cluster_in_which_it_runs_and_in_no_other() -> None:
    told = Growing()
    grown = told.grown()
    old, new = told.world.workloads[KEY], told.world.workloads[grown]
    assert old.finished and new.reserved and not new.admitted and new.resizing.continues
    assert told.plan_of(grown).make == ("w1",)
    assert told.after(cluster("w3")) == [], "nobody is nominated besides"
    kept = told.plan_of(KEY)
    assert not kept.remove, "the job runs by the copy of the slice before"
    shown = RemoteJob(cluster="w1", decision="", make=False)
    assert told.plan_of(grown).run == shown, "its status is shown meanwhile"
    told.copied(grown, "w1", 4)
    assert told.world.workloads[grown].checks["mk"].state is CheckState.PENDING
    assert told.copied(KEY, "w1", 2, reason=REPLACED, Admitted=5, Finished=8) == [], "it may be seen first"
    assert told.copied(grown, "w1", 4, Admitted=9) == [ClusterChosen(workload=grown, check="mk", cluster="w1")]
    decision = told.world.dispatches[grown].decision
    assert told.plan_of(grown).run == RemoteJob(cluster="w1", decision=decision, make=True, counts={"main": 4})
    told.job_is_there(grown)
    assert told.stands(grown) == (CheckState.READY, 'The workload was admitted on "w1"')
    assert told.world.workloads[grown].admitted
    assert told.plan_of(KEY).idle
    saved = world_of(tables_of(told.world))
    assert state_hash(saved) == state_hash(told.world)


def test_the_next_slice_waits_while_the_one_before_runs_in_no_other_cluster_yet() -> None:
    told = Manager()
    asked = elastic(2)
    told.after(asked)
    pod_sets = tuple(replace(one, count=4) for one in asked.spec.pod_sets)
    said = told.after(WorkloadChanged(workload=KEY, spec=replace(asked.spec, pod_sets=pod_sets)))
    (grown,) = [one.workload for one in said if isinstance(one, WorkloadSliceSubmitted)]
    attempt = told.world.workloads[grown].attempt
    assert attempt is not None and attempt.message == f"Workload slice {KEY} runs in no other cluster yet"
    told.copy("w1", counts=2, Admitted=5)
    said = told.synced()
    assert [one.by for one in said if isinstance(one, WorkloadSliceReplaced)] == [grown]


def test_a_slice_whose_copy_is_removed_leaves_the_job_of_the_other_there() -> None:
    told = Growing()
    grown = told.grown()
    told.copied(grown, "w1", 3)
    plan_of = told.plan_of(grown)
    assert plan_of.remove == (("w1", f"{grown}-w1"),), "it asks for something else"
    assert plan_of.keep_job == ("w1",)


def test_a_job_that_shrinks_has_its_copy_made_smaller_and_runs_on() -> None:
    told = Growing(4)
    assert [type(one) for one in told.size(1)] == [WorkloadSliceResized]
    assert told.stands(KEY)[0] is CheckState.READY
    found = told.plan_of(KEY)
    assert not found.remove and found.run is not None and found.run.counts == {"main": 1}
    assert found.amend == (("w1", f"{KEY}-w1"),)
    assert found.outline == Outline(counts={"main": 1}, priority=0, priority_class="")
    told.copied(KEY, "w1", 1, Admitted=5)
    assert told.plan_of(KEY).amend == () and told.world.workloads[KEY].admitted


def test_a_slice_that_waits_there_and_becomes_smaller_has_its_copy_made_smaller() -> None:
    told = Growing()
    grown = told.grown()
    told.copied(grown, "w1", 4)
    told.size(3)
    found = told.plan_of(grown)
    assert found.amend == (("w1", f"{grown}-w1"),) and not found.remove and not found.make


def test_a_job_that_is_evicted_there_while_its_next_slice_waits_comes_back_as_that() -> None:
    told = Growing()
    grown = told.grown()
    told.copied(grown, "w1", 4)
    assert retried(told.copied(KEY, "w1", 2, Evicted=9)) == EVICTED_THERE
    assert told.world.workloads[grown].evicted
    assert told.plan_of(grown).remove == (("w1", f"{grown}-w1"),) and not told.plan_of(grown).keep_job
    assert told.plan_of(KEY).remove == (("w1", f"{KEY}-w1"),) and not told.plan_of(KEY).keep_job
    assert not told.plan_of(grown).park, "it may run there still"
    told.after(RemoteWorkloadGone(cluster="w1", workload=grown), RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert told.plan_of(grown).park
    told.after(PodsGone(workload=KEY, decision=f"LOG_0/{told.world.workloads[grown].stops.stopped_by}"))
    assert told.world.dispatches[grown].clusters == ("w1", "w2"), "it is tried anew, and everywhere"


def test_a_slice_that_is_evicted_there_while_the_one_before_runs_comes_back() -> None:
    told = Growing()
    grown = told.grown()
    told.copied(grown, "w1", 4)
    assert retried(told.copied(grown, "w1", 4, Evicted=9)) == EVICTED_THERE


def test_a_cluster_that_loses_the_slice_before_gives_the_next_one_back() -> None:
    told = Growing()
    told.unchecked = True  # As on a partition, where only who is named by a hint is looked at.
    grown = told.grown()
    said = told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert retried(said) == f'{NO_LONGER_THERE}, Previously: "Pending"'
    assert told.world.workloads[grown].evicted


def test_a_cluster_that_is_lost_while_the_next_slice_waits_there_is_given_up_in_time() -> None:
    told = Growing()
    grown = told.grown()
    lost_at = told.at
    assert told.after(cluster("w1", active=False, since=lost_at)) == []
    assert told.later(lost_at + LOST_AFTER - 1 - told.at) == []
    assert retried(told.later(1)) == LOST
    assert told.world.workloads[grown].evicted
    assert told.plan_of(grown).park, "nobody there can be asked"


def test_a_job_that_may_be_at_work_by_an_earlier_slice_in_a_cluster_out_of_reach_starts_nowhere_else() -> None:
    told = Growing()
    grown = told.grown()
    told.copied(KEY, "w1", 2, Evicted=9)
    told.after(cluster("w1", active=False, since=told.at))
    told.after(PodsGone(workload=KEY, decision=f"LOG_0/{told.world.workloads[grown].stops.stopped_by}"))
    assert told.world.dispatches[grown].clusters == ("w2",)
    assert told.copied(grown, "w2", 4, Admitted=20) == []
    said = told.later(LOST_AFTER)
    assert ClusterChosen(workload=grown, check="mk", cluster="w2") in said


def test_a_copy_that_its_cluster_has_ended_as_out_of_sync_goes_with_its_job_for_nothing_else_stops_that() -> None:
    told = Growing()
    told.copied(KEY, "w1", 2, reason="OutOfSync", Admitted=5, Finished=9)
    assert told.world.workloads[KEY].evicted
    found = told.plan_of(KEY)
    assert found.remove == (("w1", f"{KEY}-w1"),) and found.run is None and not found.keep_job
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert told.plan_of(KEY).park


def test_the_end_of_the_job_leaves_no_copy_of_any_slice_there() -> None:
    told = Growing()
    grown = told.grown()
    told.copied(grown, "w1", 4, Admitted=9)
    told.job_is_there(grown)
    told.after(WorkloadFinished(workload=KEY, reason="Succeeded"))
    assert told.plan_of(KEY).remove == (("w1", f"{KEY}-w1"),)
    assert told.plan_of(grown).remove == (("w1", f"{grown}-w1"),)
    assert not told.plan_of(KEY).keep_job and told.plan_of(KEY).jobs == ("a",)


def test_another_class_changes_the_copy_and_ends_nothing() -> None:
    told = Manager()
    low, high = (PriorityRef(name=name, workload=True) for name in ("low", "high"))
    asked = delegated()
    told.after(replace(asked, spec=replace(asked.spec, priority=1, priority_class=low)))
    _classed(told, "low", 1)
    told.synced()
    assert told.world.workloads[KEY].admitted
    told.after(WorkloadChanged(workload=KEY, spec=replace(asked.spec, priority=9, priority_class=high)))
    assert told.check[0] is CheckState.READY and not told.plan.remove
    assert told.plan.amend == (("w1", "copy-w1"),)
    assert told.plan.outline == Outline(counts={"main": 1}, priority=9, priority_class="high")
    _classed(told, "high", 9)
    assert not told.plan.amend


def test_a_job_that_gets_a_class_or_loses_it_while_it_holds_quota_keeps_its_copy_which_is_as_its_object_stays() -> None:
    asked = delegated()
    low = replace(asked.spec, priority_class=PriorityRef(name="low", workload=True))
    for first, later, named in ((asked.spec, low, ""), (low, asked.spec, "low")):
        told = Manager()
        told.after(replace(asked, spec=first))
        _classed(told, named, 0)
        told.synced()
        told.after(WorkloadChanged(workload=KEY, spec=later))
        assert told.check[0] is CheckState.READY and not (told.plan.remove or told.plan.amend)


def _classed(told: Manager, name: str, priority: int) -> None:
    told.version += 1
    told.after(
        RemoteWorkloadObserved(
            cluster="w1",
            workload=KEY,
            uid="copy-w1",
            version=told.version,
            queue="lq",
            counts={"main": 1},
            priority=priority,
            priority_class=name,
            conditions={"Admitted": RemoteCondition(since=5)},
        )
    )


def test_an_elastic_job_of_ray_is_tried_elsewhere_as_any_other() -> None:
    told = Manager()
    told.after(elastic(1, kind="RayCluster", api_version="ray.io/v1"))
    assert told.world.dispatches[KEY].clusters == ("w1", "w2")


def test_a_copy_that_is_gone_before_the_job_is_in_its_slice_gives_it_back_and_nobody_else_gets_it_meanwhile() -> None:
    told = Growing()
    grown = told.grown()
    told.copied(grown, "w1", 4, Admitted=9)
    told.copied(KEY, "w1", 2, reason=REPLACED, Admitted=5, Finished=9)
    assert retried(told.after(RemoteWorkloadGone(cluster="w1", workload=grown))) == (
        f'{NO_LONGER_THERE}, Previously: "Pending"'
    )
    assert told.world.workloads[grown].evicted


def test_a_slice_that_waits_for_the_cluster_of_the_one_before_is_looked_at_with_every_news_of_its_checks() -> None:
    told, asked = Manager(), elastic(2)
    told.after(asked)
    larger = tuple(replace(one, count=40) for one in asked.spec.pod_sets)
    said = told.after(WorkloadChanged(workload=KEY, spec=replace(asked.spec, pod_sets=larger)))
    (refused,) = [one for one in said if isinstance(one, AdmissionRefused)]
    assert refused.message == f"Workload slice {KEY} runs in no other cluster yet"
    world, known = told.world, ("cq", told.world.lines.of("cq").refused_as(refused.workload) or "")
    world.examined[known] = (0, 0, refused.workload)
    for tree in world.touched_trees():
        world.quota.looked_at(tree)
    ready = CheckStatus(name="mk", state=CheckState.READY)
    position = LogPosition(partition="LOG_0", sequence=told.commits + 1, at=told.at)
    evolve(world, RemoteCheckSettled(workload=KEY, check=ready), position)
    assert world.touched_trees() and known not in world.examined
