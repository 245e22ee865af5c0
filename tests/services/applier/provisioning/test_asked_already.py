"""What another manager has asked an autoscaler for is not asked for again, though we hear of it only after we have ordered it."""

import asyncio
from typing import cast

from events.json_object import JsonObject
from events.subjects import FACTS
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.applier.provisioning.provisioning_shell import ProvisioningWriter
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.provisioning_kinds import REQUESTS
from services.runtime.cluster_port import Resource, Writer
from tests.stories.test_provisioning_rules import CONFIG, begun

POD = {"spec": {"containers": [{"name": "c", "image": "x"}]}}


class Asked:
    """A cluster in which the request is there, and what is done to it."""

    def __init__(self) -> None:
        self.looked, self.written = asyncio.Event(), list[str]()

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        if resource is not REQUESTS:
            pods = {"template": POD, "podSets": [{"name": "main", "template": POD}]}
            return {"metadata": {"uid": "u", "name": name, "namespace": namespace}, "spec": pods}
        self.looked.set()
        labels, spec = {"kueue.x-k8s.io/managed": "true"}, {"provisioningClassName": CONFIG.class_name}
        meta = {"uid": "r", "name": name, "labels": labels, "ownerReferences": [{"uid": "u"}]}
        return {"metadata": meta, "spec": {**spec, "parameters": CONFIG.parameters}}

    async def create(self, resource: Resource, *_: object) -> None:
        self.looked.set()
        self.written.append(f"create {resource.kind}")

    async def delete(self, resource: Resource, *_: object, **__: object) -> None:
        self.written.append(f"delete {resource.kind}")


async def test_the_request_that_is_there_stays_and_nothing_is_made_beside_it() -> None:
    cluster, clock = Asked(), ScaledClock(1)
    asking = ProvisioningWriter(cast(Writer, cluster), MemoryStream(FACTS), clock, LowPriorityWrites(clock))
    asking.observe(begun().world, ["team/a"])
    task = asyncio.create_task(asking.run())
    await cluster.looked.wait()
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert cluster.written == []
