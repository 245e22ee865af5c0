"""How objects that are kept no longer go from the cluster."""

from collections.abc import Iterable
from typing import Any

import pytest

from events.api.labels import RESOURCE_IN_USE
from events.workload import Owner, WorkloadSpec
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient, OpenGate
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from projections.workloads.lifecycle import Workload
from services.applier.events.cluster_events import ClusterEvent
from services.applier.events.event_recorder import EventRecorder
from services.applier.plan import Application
from services.applier.workloads.workload_finalizers import WorkloadKeeper
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writing import ApplicationWriter
from services.runtime.cluster_port import ObjectConflict, ObjectMissing, Resource

JOBS = Resource(group="batch", plural="jobs", kind="Job")


class Cluster:
    """A writer on a few objects, which notes what it was asked to do."""

    def __init__(self, **objects: dict[str, Any]) -> None:
        self.objects, self.done = objects, list[tuple[str, str]]()

    async def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        if resource.plural not in self.objects:
            raise ObjectMissing(name)
        return self.objects[resource.plural]

    async def create(self, resource: Resource, namespace: str, value: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("nothing is created")

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: dict[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        self.done.append((f"patch {resource.plural}", str(patch["metadata"].get("finalizers"))))
        return {}

    async def apply(
        self, resource: Resource, namespace: str, value: dict[str, Any], *, manager: str, subresource: str = ""
    ) -> dict[str, Any]:
        raise AssertionError("nothing is shown")

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", at_once: bool = False
    ) -> None:
        if resource.plural not in self.objects:
            raise ObjectMissing(name)
        if uid and self.objects[resource.plural]["metadata"].get("uid", uid) != uid:
            raise ObjectConflict(name)
        self.done.append((f"delete {resource.plural}", name))


class Recorded(EventRecorder):
    """Events that are noted besides."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.noted: list[ClusterEvent] = []

    def record_all(self, notices: Iterable[ClusterEvent]) -> None:
        found = [*notices]
        self.noted += found
        super().record_all(found)


JOB: dict[str, Any] = {"metadata": {"name": "j", "uid": "its own"}}
WORKLOAD = Workload(
    key="team/w",
    uid="u",
    owner=Owner(kind="Job", name="j", uid="its own"),
    created_at=0,
    generation=1,
    spec=WorkloadSpec(queue="lq", pod_sets=()),
)


def application(**changes: Any) -> Application:
    return Application(
        workload="team/w",
        partition="LOG_0",
        sequence=7,
        of=WORKLOAD,
        discard=True,
        release=True,
        job="j",
        **changes,
    )


async def noted_while_discarded(cluster: Cluster, **changes: Any) -> list[ClusterEvent]:
    clock = ScaledClock()
    spare = LowPriorityWrites(clock)
    recorder = Recorded(cluster, spare, clock)
    await ApplicationWriter(cluster, recorder, WorkloadKeeper(cluster, clock, spare)).write(application(**changes))
    return recorder.noted


async def discard(cluster: Cluster, **changes: Any) -> list[tuple[str, str]]:
    await noted_while_discarded(cluster, **changes)
    return cluster.done


async def test_the_hold_is_taken_off_before_the_object_is_deleted() -> None:
    held = {"metadata": {"resourceVersion": "3", "finalizers": [RESOURCE_IN_USE, "x/y"]}}
    done = await discard(Cluster(workloads=held, jobs=JOB))
    assert done == [("patch workloads", "['x/y']"), ("delete workloads", "w")]


async def test_what_somebody_has_deleted_already_only_loses_the_hold() -> None:
    held = {
        "metadata": {
            "resourceVersion": "3",
            "finalizers": [RESOURCE_IN_USE],
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        }
    }
    assert await discard(Cluster(workloads=held)) == [("patch workloads", "[]")]


async def test_the_job_goes_first_and_what_is_gone_already_is_no_problem() -> None:
    free = {"metadata": {"resourceVersion": "3"}}
    done = await discard(Cluster(workloads=free, jobs=JOB), discard_job=True)
    assert done == [("delete jobs", "j"), ("delete workloads", "w")]
    assert await discard(Cluster(), discard_job=True) == []


async def test_of_a_job_that_is_deleted_it_is_told_and_of_none_that_is_gone() -> None:
    for cluster, told in ((Cluster(jobs=JOB), ["Deleted job: deactivation retention period expired"]), (Cluster(), [])):
        noted = await noted_while_discarded(cluster, discard_job=True)
        assert [one.message for one in noted if (one.kind, one.name) == ("Job", "j")] == told


async def test_a_job_that_came_after_it_under_the_same_name_stays() -> None:
    free = {"metadata": {"resourceVersion": "3"}}
    again = {"metadata": {"name": "j", "uid": "of another"}}
    done = await discard(Cluster(workloads=free, jobs=again), discard_job=True)
    assert done == [("delete workloads", "w")]


async def test_on_a_cluster_a_job_that_was_made_anew_meanwhile_stays() -> None:
    cluster = EmbeddedCluster(controllers=False)
    client = InProcessClient(cluster.resources, OpenGate(), ScaledClock().now)
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "team"},
        "spec": {"template": pod},
    }
    cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    first = await client.create(JOBS, "team", job)
    await client.delete(JOBS, "team", "j", uid=first["metadata"]["uid"])
    second = await client.create(JOBS, "team", job)
    with pytest.raises(ObjectConflict):
        await client.delete(JOBS, "team", "j", uid=first["metadata"]["uid"])
    await client.delete(JOBS, "team", "j", uid=second["metadata"]["uid"])
