"""Why the API server takes no ProvisioningRequest is told as often as it is another reason."""

import asyncio
from collections.abc import Sequence
from typing import cast

from events.codec import decode_sighting
from events.json_object import JsonObject
from events.provisioning import ProvisioningRejected
from events.subjects import FACTS
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.applier.provisioning.provisioning_shell import ProvisioningWriter
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.cluster_port import ObjectInvalid, Resource, Writer
from tests.stories.test_provisioning_rules import begun

POD = {"spec": {"containers": [{"name": "c", "image": "x"}]}}


class Refusing:
    """A cluster with a job, which answers every object that is made with the next of some reasons."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self.reasons, self.over = list(reasons), asyncio.Event()

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        return {
            "metadata": {"uid": "u", "name": name, "namespace": namespace},
            "spec": {"template": POD, "podSets": [{"name": "main", "template": POD}]},
        }

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        if resource.kind == "Event":
            return value
        if not self.reasons:
            self.over.set()
            await asyncio.Event().wait()
        raise ObjectInvalid(self.reasons.pop(0))


async def test_a_reason_that_comes_back_at_once_is_told_again() -> None:
    """The bus stores no message twice under one id for two minutes."""
    cluster, facts, clock = (
        Refusing(["no zone", "no quota", "no quota", "no zone"]),
        MemoryStream(FACTS),
        ScaledClock(5000),
    )
    asking = ProvisioningWriter(cast(Writer, cluster), facts, clock, LowPriorityWrites(clock))
    asking.observe(begun().world, ["team/a"])
    task = asyncio.create_task(asking.run())
    await cluster.over.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    told = [decode_sighting(one.data).fact for one in facts.entries]
    rejected = [one for one in told if isinstance(one, ProvisioningRejected)]
    assert [one.message.rpartition(": ")[2] for one in rejected] == ["no zone", "no quota", "no zone"]
