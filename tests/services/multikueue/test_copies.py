"""How a copy is made in a worker cluster, and taken away.

Rule: docs/rules/multikueue.md#copies
"""

import pytest

from events.api.labels import MULTIKUEUE_ORIGIN, POD_SETS, PREBUILT_WORKLOAD_NAME
from events.json_object import JsonObject
from events.multikueue import RemoteWorkloadGone
from events.workload import PodsGone, WorkloadFinished
from services.runtime.cluster_port import AccessRefused, Resource
from tests.services.multikueue.one_worker import OneWorker, There, batch_job, workload_here
from tests.services.multikueue.test_rules import KEY, Manager, delegated, running
from tests.services.multikueue.test_slices import Growing


def waiting() -> Manager:
    told = Manager()
    told.after(delegated())
    return told


async def test_a_copy_is_made_once_the_object_here_asks_for_what_its_job_does() -> None:
    told = waiting()
    worker = OneWorker(told, batch_job())
    worker.here.workload = workload_here(asks="before")
    await worker.write()
    assert not worker.w1.created
    worker.here.workload = workload_here(asks=told.plan.asks)
    await worker.write()
    assert worker.w1.created == worker.w2.created == ["Workload"]
    assert worker.w1.copy is not None and worker.w1.copy["metadata"]["annotations"][POD_SETS] == told.plan.asks


async def test_an_object_that_is_not_written_for_long_is_copied_as_it_is() -> None:
    told = waiting()
    worker = OneWorker(told, batch_job())
    worker.here.workload = workload_here(asks="before")
    await worker.write()
    await worker.clock.sleep(10_000)
    await worker.write()
    assert worker.w1.copy is not None and worker.w1.copy["metadata"]["annotations"][POD_SETS] == told.plan.asks


async def test_a_job_that_stands_where_its_copy_is_gone_already_goes_all_the_same() -> None:
    told = running()
    told.after(WorkloadFinished(workload=KEY, reason="Succeeded"))
    worker = OneWorker(told, batch_job())
    worker.runs(batch_job())
    assert told.plan.remove == (("w1", "copy-w1"),)
    await worker.write()
    assert worker.w1.deleted == ["Job"]


async def test_a_job_whose_copy_somebody_has_taken_away_there_goes_before_it_is_sent_anew() -> None:
    told = running()
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert told.world.workloads[KEY].evicted and told.plan.remove == (("w1", ""),) and told.plan.park
    worker = OneWorker(told, batch_job())
    worker.runs(batch_job())
    await worker.write()
    assert worker.w1.deleted == ["Job"]
    told.after(PodsGone(workload=KEY, decision=f"LOG_0/{told.world.workloads[KEY].stops.stopped_by}"))
    assert told.plan.make == ("w1", "w2") and told.plan.again
    worker.runs(batch_job())
    worker.here.workload = workload_here(asks=told.plan.asks)
    await worker.write()
    assert worker.w1.deleted == ["Job", "Job"] and not worker.w1.created, "first what is left there"
    assert worker.w2.created == ["Workload"]
    await worker.write()
    assert worker.w1.created == ["Workload"]


@pytest.mark.parametrize("labels", [{}, {MULTIKUEUE_ORIGIN: "multikueue", PREBUILT_WORKLOAD_NAME: "another"}])
async def test_a_job_of_somebody_else_or_of_another_workload_stays_where_no_copy_is(labels: dict[str, str]) -> None:
    told = running()
    told.after(WorkloadFinished(workload=KEY, reason="Succeeded"))
    worker = OneWorker(told, batch_job())
    worker.w1.job = batch_job(labels=labels)
    await worker.write()
    assert not worker.w1.deleted


async def test_an_elastic_job_stays_where_it_runs_when_the_copy_of_its_next_slice_is_made_or_gone() -> None:
    told = Growing()
    key = told.grown()
    assert told.plan_of(key).keep_job == ("w1",)


async def test_a_job_whose_copy_is_there_though_the_log_does_not_know_it_stays() -> None:
    """A log that was restored has it sent anew before what stands there is told."""
    told = waiting()
    worker = OneWorker(told, batch_job(), conditions={"Admitted": "Admitted"})
    worker.runs(batch_job(active=1))
    worker.here.workload = workload_here(asks=told.plan.asks)
    await worker.write()
    assert not worker.w1.deleted and not worker.w1.created and worker.w2.created == ["Workload"]


class Withheld(There):
    """A worker cluster whose account may do nothing with jobs."""

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        if resource.kind != "Workload":
            raise AccessRefused("jobs is forbidden")
        return await super().get(resource, namespace, name)


async def test_a_copy_goes_from_where_the_account_may_not_ask_for_jobs_lest_others_wait_for_it() -> None:
    told = waiting()
    told.copy("w1", QuotaReserved=1)
    told.copy("w2", QuotaReserved=1, Admitted=5)
    assert told.plan.remove == (("w1", "copy-w1"),) and told.plan.run is None
    worker = OneWorker(told, batch_job(), conditions={"QuotaReserved": "QuotaReserved"})
    worker.put(Withheld(worker.w1.copy))
    await worker.write()
    assert worker.w1.deleted == ["Workload"]
