"""What is told of a job that is stopped, whatever the API lets be put right in it."""

from collections.abc import Iterable
from typing import Any

from events.api.labels import POD_SET, WORKLOAD
from events.pod_set import PodSet, PodShape
from events.workload import Owner, WorkloadSpec
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.changes.patches import merge_patch
from projections.workloads.lifecycle import Workload
from services.applier.events.cluster_events import ClusterEvent
from services.applier.events.event_recorder import EventRecorder
from services.applier.plan import Application
from services.applier.workloads.workload_finalizers import WorkloadKeeper
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writing import ApplicationWriter
from services.jobs.kinds.table import JOB
from services.runtime.cluster_port import ObjectInvalid, Resource


class Cluster:
    """One job that runs; an API server that takes no other template from it."""

    def __init__(self) -> None:
        noted = {"labels": {POD_SET: "main"}, "annotations": {WORKLOAD: "w"}}
        template = {"metadata": noted, "spec": {"nodeSelector": {"zone": "a"}}}
        self.job: dict[str, Any] = {
            "metadata": {
                "name": "j",
                "namespace": "team",
                "uid": "j",
                "resourceVersion": "7",
                "annotations": {"kuelog.io/decision": "LOG_0/3"},
            },
            "spec": {"suspend": False, "template": template},
        }
        self.refused = 0

    async def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        return self.job

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: dict[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        if "template" in patch.get("spec", {}):
            self.refused += 1
            raise ObjectInvalid("spec.template: field is immutable")
        self.job = merge_patch(self.job, patch)
        return self.job


class Heard(EventRecorder):
    """Notices that are only heard."""

    reasons: list[str] = []

    def record_all(self, notices: Iterable[ClusterEvent]) -> None:
        self.reasons = [*self.reasons, *(one.reason for one in notices)]


async def test_a_job_that_was_stopped_is_told_of_although_its_template_can_not_be_put_back() -> None:
    cluster = Cluster()
    clock = ScaledClock()
    spare = LowPriorityWrites(clock)
    heard = Heard(cluster, spare, clock)  # type: ignore[arg-type]
    keeper = WorkloadKeeper(cluster, clock, spare)  # type: ignore[arg-type]
    pod_set = PodSet(name="main", count=1, shape=PodShape())
    workload = Workload(
        key="team/w",
        uid="u",
        owner=Owner(kind="Job", name="j", uid="j", api_version="batch/v1"),
        created_at=0,
        generation=1,
        spec=WorkloadSpec(queue="lq", pod_sets=(pod_set,)),
    )
    application = Application(workload="team/w", partition="LOG_0", sequence=7, of=workload, job="j", kind=JOB)
    await ApplicationWriter(cluster, heard, keeper).steer_job(application)  # type: ignore[arg-type]
    assert cluster.job["spec"]["suspend"] is True
    assert (cluster.refused, heard.reasons) == (1, ["Stopped"])
