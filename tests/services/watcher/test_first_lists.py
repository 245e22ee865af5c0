"""In which order the first lists of the kinds are reported."""

from events.codec import decode_sighting
from events.json_object import JsonObject
from events.provisioning import ProvisioningRequestObserved
from events.subjects import FACTS
from events.workload import WorkloadSubmitted
from ops.production.log.memory import MemoryStream
from tests.services.watcher.scripted_cluster import Objects, OneOfSeveral, rest
from tests.services.watcher.test_two_watchers import job, priority

KUEUE, REQUESTED = "kueue.x-k8s.io", "ProvisioningRequest"
DEFINITION: JsonObject = {
    "metadata": {"name": "provisioningrequests.autoscaling.x-k8s.io", "uid": "crd"},
    "spec": {"versions": [{"name": "v1", "served": True}]},
}


def request(workload: str) -> JsonObject:
    owner = {"apiVersion": f"{KUEUE}/v1beta2", "kind": "Workload", "name": workload, "uid": "w", "controller": True}
    labels = {f"{KUEUE}/managed": "true"}
    meta = {"name": f"{workload}-nodes-1", "namespace": "team", "uid": "r1", "labels": labels}
    spec = {"provisioningClassName": "check-capacity", "podSets": []}
    return {"metadata": {**meta, "ownerReferences": [owner]}, "spec": spec}


async def reported(objects: Objects) -> list[str]:
    stream = MemoryStream(FACTS)
    watcher = OneOfSeveral(objects, stream)
    await rest(watcher)
    await watcher.end()
    facts = [decode_sighting(one.data).fact for one in stream.entries]
    return [type(one).__name__ for one in facts if isinstance(one, ProvisioningRequestObserved | WorkloadSubmitted)]


async def cluster() -> Objects:
    objects = Objects()
    await objects.put("WorkloadPriorityClass", priority(5))
    await objects.put("Job", job())
    await objects.put(REQUESTED, request("job-j-b3065"))
    return objects


async def test_what_an_autoscaler_was_asked_for_is_told_before_those_for_whom_it_was_asked() -> None:
    objects = await cluster()
    await objects.put("CustomResourceDefinition", DEFINITION)
    assert await reported(objects) == ["ProvisioningRequestObserved", "WorkloadSubmitted"]


async def test_where_autoscalers_cannot_be_asked_nobody_waits_for_what_they_were() -> None:
    assert await reported(await cluster()) == ["WorkloadSubmitted"]
