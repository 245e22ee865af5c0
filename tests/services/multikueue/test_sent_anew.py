"""A job that stands already where it is to be made, or goes from there while it is looked at.

Rule: docs/rules/multikueue.md#job-there
"""

from events.multikueue import RemoteJobSynced
from tests.services.multikueue.one_worker import OneWorker, batch_job
from tests.services.multikueue.test_rules import Manager, delegated, running

LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def chosen() -> Manager:
    told = Manager()
    told.after(delegated())
    told.copy("w1", QuotaReserved=1, Admitted=5)
    return told


async def test_a_job_that_is_being_deleted_there_is_not_the_one_that_is_made() -> None:
    told = chosen()
    worker = OneWorker(told, batch_job(), conditions={"Admitted": "Admitted"})
    worker.runs(batch_job(**LEAVING))
    await worker.write()
    assert not worker.told(RemoteJobSynced) and not worker.here.shown
    worker.w1.job = None
    await worker.write()
    assert worker.w1.created == ["Job"] and worker.told(RemoteJobSynced)


async def test_a_job_that_runs_and_is_being_deleted_there_is_shown_to_its_end() -> None:
    told = running()
    worker = OneWorker(told, batch_job(), conditions={"Admitted": "Admitted"})
    worker.runs(batch_job(active=1, **LEAVING))
    await worker.write()
    assert worker.here.shown and not worker.w1.created
