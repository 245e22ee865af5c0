"""The applier keeps nothing of a workload that is gone, or whose object shows all that was decided."""

import asyncio

from msgspec.structs import replace

from events.codec import decode_sighting
from events.subjects import FACTS
from events.workload import WorkloadDeleted
from ops.production.crds.definitions import manifests
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.applier.shell import Applier
from services.applier.workloads.known_objects import WORKLOADS
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.cluster_port import Resource
from tests.services.applier.in_process import InProcess
from tests.stories.small_world import Story, job, platform

NAMESPACES = Resource(plural="namespaces", kind="Namespace")


async def test_what_was_settled_is_remembered_until_the_log_says_so_or_the_workload_is_gone() -> None:
    story, cluster = Story(), InProcess(manifests(), 1)
    there, gone = (replace(job(name), owner=None) for name in ("there", "gone"))
    value = {
        "metadata": {"name": "there", "namespace": "team"},
        "spec": {"queueName": "lq", "podSets": [{"name": "main"}]},
    }
    await cluster.create(NAMESPACES, "", {"metadata": {"name": "team"}})
    await cluster.create(WORKLOADS, "team", value)
    story.told(*platform(nominal=0), there, gone).decided()
    stream, clock = MemoryStream(FACTS), ScaledClock(100)
    applier = Applier(cluster, stream, clock, "LOG_0", LowPriorityWrites(clock))
    task = asyncio.create_task(applier.run())
    applier.observe(story.world, list(story.world.workloads))
    async with asyncio.timeout(120):
        async for batch in stream.follow(0):
            story.told(*(decode_sighting(one.data).fact for one in batch))
            if (await stream.last()).sequence == len(story.world.workloads):
                break
    assert sorted(applier.settled) == ["team/gone", "team/there"]
    applier.observe(story.world, ["team/gone", "team/there"])
    assert sorted(applier.settled) == ["team/gone"], "its object was not there, and it is not written again for that"
    story.told(WorkloadDeleted(workload="team/gone"))
    applier.observe(story.world, ["team/gone"])
    assert not applier.settled
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
