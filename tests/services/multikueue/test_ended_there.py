"""What has ended in the cluster in which it ran or was tried: it ends here with the same words.

Rule: docs/rules/multikueue.md#ended-there
"""

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.multikueue import RemoteWorkloadGone, RemoteWorkloadObserved, WorkloadEndedElsewhere
from events.slices import WorkloadSliceSubmitted
from events.workload import WorkloadSwitched
from projections.workloads.lifecycle import FINISHED
from services.multikueue.remote_plan import RemoteJob
from tests.services.multikueue.one_worker import OneWorker, batch_job
from tests.services.multikueue.test_rules import KEY, Manager, delegated, kinds, running
from tests.services.multikueue.test_slices import Growing


def shown(told: Manager, key: str = KEY) -> list[AnyEvent]:
    """What is to be shown of its end is shown here."""
    return told.after(replace(told.world.remotes[key]["w1"], shown=True))


def test_what_has_ended_there_without_a_job_that_says_so_ends_here_once_that_is_shown() -> None:
    told = running()
    said = told.copy("w1", QuotaReserved=1, Admitted=5, Finished=50, reason="OwnerNotFound")
    assert said == [], "first what there is to show of its job is shown"
    decision = told.world.dispatches[KEY].decision
    assert told.plan.run == RemoteJob(cluster="w1", decision=decision, make=False, over="copy-w1")
    ended = told.world.remotes[KEY]["w1"].conditions[FINISHED]
    assert shown(told) == [WorkloadEndedElsewhere(workload=KEY, reason="OwnerNotFound", message=ended.message)]
    found = told.world.workloads[KEY]
    over = found.condition(FINISHED)
    assert over is not None and over.reason == "OwnerNotFound" and not found.finish_shown
    assert told.plan.remove == (("w1", "copy-w1"),)
    assert shown(told) == []
    other = delegated("b")
    (main,) = other.spec.pod_sets
    whole = replace(other, spec=replace(other.spec, pod_sets=(replace(main, count=8),)))
    assert "QuotaReserved" in kinds(told.after(whole)), "its quota is free"


def test_a_copy_whose_pods_were_evicted_there_has_not_ended_by_their_end_but_is_tried_anew() -> None:
    told = running()
    said = told.copy("w1", QuotaReserved=1, Admitted=5, Evicted=40, Finished=50, reason="Failed")
    assert "WorkloadEndedElsewhere" not in kinds(said) + kinds(shown(told))
    found = told.world.workloads[KEY]
    assert not found.finished and found.evicted


def test_what_has_ended_there_before_a_cluster_was_chosen_is_not_chosen_and_ends_here() -> None:
    told = Manager()
    told.after(delegated())
    assert told.copy("w1", QuotaReserved=1, Admitted=5, Finished=6, reason="FailedToStart") == []
    assert told.plan.run == RemoteJob(cluster="w1", decision="", make=False, over="copy-w1") and not told.plan.remove
    assert kinds(shown(told)) == ["WorkloadEndedElsewhere"]
    assert told.world.workloads[KEY].finished


def test_a_cluster_that_was_chosen_stays_so_when_the_job_has_ended_before_it_was_told_to_be_there() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", QuotaReserved=1, Admitted=5)
    told.copy("w2", QuotaReserved=1, Admitted=6)
    assert told.copy("w1", QuotaReserved=1, Admitted=5, Finished=8, reason="Succeeded") == []
    told.after(RemoteWorkloadGone(cluster="w2", workload=KEY))
    assert told.plan.run is not None and told.plan.run.over and not told.plan.run.make
    assert kinds(told.synced()) == ["RemoteCheckSettled", "WorkloadAdmitted"]


def test_what_is_evicted_here_and_has_ended_there_meanwhile_is_over() -> None:
    told = running()
    told.after(WorkloadSwitched(workload=KEY, active=False))
    assert told.world.workloads[KEY].evicted
    told.copy("w1", QuotaReserved=1, Admitted=5, Finished=50, reason="OwnerNotFound")
    run = told.plan.run
    assert run is not None and run.over and not run.stop
    assert kinds(shown(told))[0] == "WorkloadEndedElsewhere" and told.world.workloads[KEY].finished


@pytest.mark.parametrize("reason", ["OutOfSync", "WorkloadSliceReplaced"])
def test_a_copy_that_has_ended_for_what_it_is_ends_nothing_here(reason: str) -> None:
    told = running()
    told.copy("w1", QuotaReserved=1, Admitted=5, Finished=50, reason=reason)
    shown(told)
    assert not told.world.workloads[KEY].finished
    assert told.plan.run is None or not told.plan.run.over


def test_an_elastic_job_that_has_ended_there_ends_in_all_of_its_slices() -> None:
    told = Growing()
    (waiting,) = [one.workload for one in told.size(20) if isinstance(one, WorkloadSliceSubmitted)]
    told.copied(KEY, "w1", 2, QuotaReserved=1, Admitted=5, Finished=50, reason="OwnerNotFound")
    assert [one.workload for one in shown(told) if isinstance(one, WorkloadEndedElsewhere)] == [KEY, waiting]
    assert all(one.finished for one in told.world.workloads.values())


async def test_an_end_is_told_once_all_is_shown_that_there_is_of_its_job() -> None:
    told = running()
    told.copy("w1", QuotaReserved=1, Admitted=5, Finished=50, reason="OwnerNotFound")
    worker = OneWorker(told, batch_job(), conditions={"Finished": "OwnerNotFound"})
    worker.runs(batch_job(active=1))
    await worker.write()
    assert worker.here.shown and not worker.told(RemoteWorkloadObserved), "its job has a status that was not shown yet"
    await worker.write()
    assert [one.shown for one in worker.told(RemoteWorkloadObserved)] == [True]


async def test_the_end_of_what_has_no_job_there_is_told_and_the_one_here_looks_as_before() -> None:
    told = running()
    told.copy("w1", QuotaReserved=1, Admitted=5, Finished=50, reason="OwnerNotFound")
    worker = OneWorker(told, batch_job(active=1), conditions={"Finished": "OwnerNotFound"})
    await worker.write()
    assert [one.shown for one in worker.told(RemoteWorkloadObserved)] == [True]
    assert not worker.here.shown and not worker.w1.created


async def test_an_end_that_the_copy_does_not_show_any_more_is_not_told() -> None:
    told = running()
    told.copy("w1", QuotaReserved=1, Admitted=5, Finished=50, reason="OwnerNotFound")
    worker = OneWorker(told, batch_job(), conditions={})
    await worker.write()
    assert not worker.told(RemoteWorkloadObserved)
