"""Elastic jobs of Ray's on a cluster: what people and Ray's autoscaler change of their size, with the test in the operator's place."""

import asyncio
from collections.abc import Sequence

import pytest

from events.api.labels import ELASTIC_JOB, POD_SET, WORKLOAD_SLICE_NAME
from events.job_kind import JobKind
from events.json_object import JsonObject
from events.json_path import get, look, put
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.ray import CLUSTER_AT, CLUSTER_NAME_AT
from services.jobs.kinds.table import RAY_CLUSTER, RAY_JOB, RAY_SERVICE
from tests.stage.stage import NODES, Stage
from tests.stories.job_samples import manifest, pod
from tests.stories.test_elastic_jobs import GATE, slices
from tests.stories.test_job_kinds import Play, prepare
from tests.stories.test_own_cards import many_cards

pytestmark = pytest.mark.bare_server
KINDS = [RAY_CLUSTER, RAY_JOB, RAY_SERVICE]


class Ray(Play):
    """A job of Ray's that is elastic, and the cluster that its operator makes for it."""

    async def ask(self, workers: int, *, autoscaled: bool, managed_by: str = "", card: bool = True) -> None:
        asked = manifest(self.kind, "ray")
        asked["metadata"]["annotations"] = {ELASTIC_JOB: "true"}
        at = CLUSTER_AT[self.kind.reader]
        groups = [{"groupName": "Big", "replicas": workers, "numOfHosts": 1, "template": pod(card=card)}]
        spec: JsonObject = {**get(asked, at), "workerGroupSpecs": groups, "enableInTreeAutoscaling": autoscaled}
        asked = put(asked, at, spec)
        if managed_by:
            asked = put(asked, ("spec", "managedBy"), managed_by)
        await self.stage.client.create(self.resource, "default", asked)

    @property
    def spec(self) -> JsonObject:
        return get(self.job("ray"), CLUSTER_AT[self.kind.reader])

    async def scale(self, workers: int) -> None:
        """Somebody writes another size into the job."""
        change = put({}, CLUSTER_AT[self.kind.reader], {"workerGroupSpecs": sized(self.spec, workers)})
        await self.stage.client.merge(self.resource, "default", "ray", change)

    async def make_cluster(self) -> None:
        """What the operator does when a job runs: a cluster that is the job's, and its name in the job's status."""
        job = self.job("ray")
        owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": "ray", "uid": job["metadata"]["uid"]}
        meta = {"name": "ray-x", "namespace": "default", "ownerReferences": [{**owner, "controller": True}]}
        made = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": meta, "spec": self.spec}
        await self.stage.client.create(resource_of(RAY_CLUSTER), "default", made)
        await self.show("ray", put({}, ("status", *CLUSTER_NAME_AT[self.kind.reader][1:]), "ray-x"))

    async def autoscale(self, workers: int) -> None:
        """What Ray's autoscaler does: it changes the cluster, and nothing says so in the job."""
        spec = {"workerGroupSpecs": sized(self.spec, workers)}
        await self.stage.client.merge(resource_of(RAY_CLUSTER), "default", "ray-x", {"spec": spec})

    async def add_pods(self, names: Sequence[str], pod_set: str = "big") -> None:
        """Pods as their operator makes them, of what stands in the job."""
        head, group = self.spec["headGroupSpec"], self.spec["workerGroupSpecs"][0]
        template: JsonObject = (head if pod_set == "head" else group)["template"]
        for name in names:
            meta = {**template["metadata"], "name": name, "namespace": "default"}
            await self.stage.add({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]})

    def waiting(self) -> list[str]:
        """The pods that wait at the gate."""
        return sorted(
            str(one["metadata"]["name"])
            for one in self.stage.of("pods")
            if GATE in (one["spec"].get("schedulingGates") or ())
        )

    def given(self) -> list[list[int]]:
        """How many workers each slice that is not over has been given; none for one that waits."""
        found = [look(one, "status.admission.podSetAssignments") or () for one in slices(self.stage, over=False)]
        return sorted([each["count"] for each in one if each["name"] == "big"] for one in found)


def sized(cluster: JsonObject, workers: int) -> list[JsonObject]:
    (group,) = cluster["workerGroupSpecs"]
    return [{**group, "replicas": workers}]


async def running(stage: Stage, kind: JobKind, workers: int, *, autoscaled: bool = False) -> Ray:
    await many_cards(stage)
    await stage.client.merge(NODES, "", "n2", {"metadata": {"labels": {"own": "yes"}}})
    await prepare(stage, RAY_CLUSTER, kind)
    stage.serve()
    play = Ray(stage, kind)
    await play.ask(workers, autoscaled=autoscaled)
    await play.started("ray")
    return play


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
async def test_a_job_of_ray_grows_and_shrinks_as_it_is_written_and_its_pods_wait_for_their_slice(
    kind: JobKind, stage: Stage
) -> None:
    play = await asyncio.wait_for(running(stage, kind, 2), 60)
    await play.add_pods(["h"], "head")
    await play.add_pods(["w1", "w2"])
    (only,) = slices(stage, over=False)
    await play.until(lambda: play.waiting() == [])
    pods = {one["metadata"]["name"]: one["metadata"] for one in stage.of("pods")}
    assert pods["w1"]["labels"][POD_SET] == "big" and pods["h"]["labels"][POD_SET] == "head"
    assert pods["w1"]["annotations"][WORKLOAD_SLICE_NAME] == only["metadata"]["name"]
    await play.scale(4)
    await play.add_pods(["w3", "w4", "w5"])
    await play.until(lambda: play.given() == [[4]] and play.waiting() == ["w5"])
    assert len(slices(stage, over=True)) == 1
    await play.scale(9)
    await play.until(lambda: play.given() == [[], [4]])
    await play.scale(1)
    await play.until(lambda: play.given() == [[1]])


@pytest.mark.parametrize("kind", [RAY_JOB, RAY_SERVICE], ids=lambda kind: kind.kind)
async def test_what_rays_autoscaler_changes_in_the_cluster_is_what_the_job_wants(kind: JobKind, stage: Stage) -> None:
    play = await asyncio.wait_for(running(stage, kind, 1, autoscaled=True), 60)
    await play.make_cluster()
    await play.add_pods(["w1", "w2", "w3"])
    await play.until(lambda: play.waiting() == ["w2", "w3"])
    await play.autoscale(3)
    await play.until(lambda: play.given() == [[3]] and play.waiting() == [])
    await play.autoscale(2)
    await play.until(lambda: play.given() == [[2]])
