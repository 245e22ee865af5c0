"""How a copy is made in a worker cluster, and taken away.

Rule: docs/rules/multikueue.md#copies
"""

from events.api.labels import POD_SETS
from tests.services.multikueue.one_worker import OneWorker, batch_job, workload_here
from tests.services.multikueue.test_rules import Manager, delegated


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
