"""A job that can't be made in the cluster that was chosen: the check says why.

Rule: docs/rules/multikueue.md#job-there
"""

import pytest

from events.json_object import JsonObject
from events.multikueue import RemoteJobRefused, RemoteJobSynced
from services.runtime.cluster_port import AccessRefused, ObjectInvalid, ObjectMissing, Resource
from tests.services.multikueue.one_worker import OneWorker, There, batch_job
from tests.services.multikueue.test_rules import running
from tests.services.multikueue.test_sent_anew import chosen


class Refusing(There):
    """A worker cluster in which nothing can be asked of jobs, or none can be made."""

    reads: Exception | None = None
    makes: Exception | None = None

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        if resource.kind != "Workload" and self.reads is not None:
            raise self.reads
        return await super().get(resource, namespace, name)

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        if resource.kind != "Workload" and self.makes is not None:
            raise self.makes
        return await super().create(resource, namespace, value)


def refusing(worker: OneWorker) -> Refusing:
    found = Refusing(worker.w1.copy)
    worker.put(found)
    return found


@pytest.mark.parametrize(
    ("reads", "makes", "why"),
    [
        (None, ObjectInvalid("the field is immutable"), "the field is immutable"),
        (None, ObjectMissing("404 page not found"), "no batch/v1 Job can be made there: 404 page not found"),
        (None, AccessRefused("jobs is forbidden"), "the Kubernetes API refuses access: jobs is forbidden"),
        (AccessRefused("jobs is forbidden"), None, "the Kubernetes API refuses access: jobs is forbidden"),
    ],
)
async def test_the_check_says_why_the_job_can_t_be_made_there(
    reads: Exception | None, makes: Exception | None, why: str
) -> None:
    told = chosen()
    worker = OneWorker(told, batch_job(), conditions={"Admitted": "Admitted"})
    there = refusing(worker)
    there.reads, there.makes = reads, makes
    await worker.write()
    await worker.write()
    (refused,) = worker.told(RemoteJobRefused)
    assert refused.message == why
    told.after(refused)
    assert told.check[1] == why
    there.reads = there.makes = None
    await worker.write()
    (synced,) = worker.told(RemoteJobSynced)
    told.after(synced)
    assert told.check[1] == 'The workload was admitted on "w1"'


async def test_of_a_job_that_runs_nothing_is_refused_where_it_can_t_be_asked_for_a_while() -> None:
    told = running()
    worker = OneWorker(told, batch_job(), conditions={"Admitted": "Admitted"}, scale=1.0)
    refusing(worker).reads = AccessRefused("the token has expired")
    assert await worker.write() >= 5_000, "rights take a while"
    assert not worker.told(RemoteJobRefused)


async def test_a_refusal_that_quotes_all_of_a_job_is_told_by_its_beginning() -> None:
    """An API server quotes what may not be changed, and takes no message of a check that is longer than 32 KiB."""
    told = chosen()
    worker = OneWorker(told, batch_job(), conditions={"Admitted": "Admitted"})
    refusing(worker).makes = ObjectInvalid(f"spec.template: Invalid value: {'x' * 100_000}: field is immutable")
    await worker.write()
    (refused,) = worker.told(RemoteJobRefused)
    assert refused.message.startswith("spec.template: Invalid value: x") and len(refused.message) <= 1024


class Closed(There):
    """A worker cluster whose account may not ask for what stands there."""

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        del namespace, name
        raise AccessRefused(f"{resource.plural} is forbidden")


async def test_a_cluster_that_may_not_be_asked_whether_it_has_a_copy_is_named_by_the_check() -> None:
    """The job may be at work there: it is made nowhere else, and whoever waits is told for what."""
    told = chosen()
    worker = OneWorker(told, batch_job(), conditions={"Admitted": "Admitted"})
    worker.put(Closed(), "w2")
    await worker.write()
    (refused,) = worker.told(RemoteJobRefused)
    assert refused.message == "cluster w2: the Kubernetes API refuses access: workloads is forbidden"
    assert not worker.w1.created
