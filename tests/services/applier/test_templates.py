"""The pod templates that a Workload object gets from its job."""

from msgspec.structs import replace

from events.json_object import JsonObject
from events.workload import Owner
from services.applier.templates import Templates
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.table import JOB
from tests.services.applier.in_process import InProcess
from tests.services.applier.workloads.test_what_others_write import application


async def test_of_what_the_api_server_writes_into_a_job_only_its_name_is_in_them() -> None:
    """An affinity to the other pods of the job names that, and an autoscaler has to find it."""
    cluster = InProcess([], seed=1)
    asked: JsonObject = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    job = await cluster.create(resource_of(JOB), "default", {"metadata": {"name": "j"}, "spec": {"template": asked}})
    assert len(job["spec"]["template"]["metadata"]["labels"]) == 5
    owner = Owner(kind="Job", name="j", uid=job["metadata"]["uid"], api_version="batch/v1")
    of = replace(application("w", 1, owner=owner), kind=JOB, job="j")
    (template,) = (await Templates(cluster).of(of, {})).values()
    assert template["metadata"]["labels"] == {"app": "x", "batch.kubernetes.io/job-name": "j"}
