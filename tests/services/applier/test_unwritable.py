"""What the cluster takes of some jobs only later, or never, keeps those of others from nothing."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from events.application import DecisionApplied, DecisionRejected
from events.catalogue import Fact
from events.codec import decode_sighting
from events.quota import LocalQueueObserved, NamespaceObserved
from events.subjects import FACTS
from ops.production.crds.definitions import manifests
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.applier.shell import Applier
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writes.write_limit import MOST
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, Resource
from tests.services.applier.in_process import InProcess
from tests.stories.small_world import Story, job, platform


class Refusing(InProcess):
    """A cluster that can't be asked about the objects of one namespace: a webhook of somebody's is away."""

    def __init__(self, problem: Exception, namespace: str = "team") -> None:
        super().__init__(manifests(), 1)
        self.problem, self.namespace, self.refused = problem, namespace, 0
        self.away = True

    def _ask(self, namespace: str) -> None:
        if self.away and namespace == self.namespace:
            self.refused += 1
            raise self.problem

    async def get(self, resource: Resource, namespace: str, name: str) -> Any:
        self._ask(namespace)
        return await super().get(resource, namespace, name)

    async def create(self, resource: Resource, namespace: str, value: Any) -> Any:
        self._ask(namespace)
        return await super().create(resource, namespace, value)

    async def merge(self, resource: Resource, namespace: str, name: str, patch: Any, *, subresource: str = "") -> Any:
        self._ask(namespace)
        return await super().merge(resource, namespace, name, patch, subresource=subresource)

    async def apply(
        self, resource: Resource, namespace: str, value: Any, *, manager: str, subresource: str = ""
    ) -> Any:
        self._ask(namespace)
        return await super().apply(resource, namespace, value, manager=manager, subresource=subresource)


def of_two_namespaces(nominal: int, count: int) -> Story:
    """So many jobs of one namespace, and then one of another."""
    story = Story()
    story.told(
        *platform(nominal=nominal),
        NamespaceObserved(name="zeal"),
        LocalQueueObserved(namespace="zeal", name="lq", cluster_queue="cq"),
        *(replace(job(f"j{number}"), owner=None) for number in range(count)),
        replace(job("b"), workload="zeal/b", owner=None),
    ).decided()
    return story


async def reported(cluster: Refusing, story: Story, wanted: set[str]) -> set[str]:
    """The workloads of which the applier has reported an outcome, once all that are wanted are among them."""
    stream, clock = MemoryStream(FACTS), ScaledClock(100)
    applier = Applier(cluster, stream, clock, "LOG_0", LowPriorityWrites(clock))
    task = asyncio.create_task(applier.run())
    applier.observe(story.world, list(story.world.workloads))
    found: set[str] = set()
    try:
        async for batch in stream.follow(0):
            facts: list[Fact] = [decode_sighting(entry.data).fact for entry in batch]
            found |= {one.workload for one in facts if isinstance(one, DecisionApplied | DecisionRejected)}
            if wanted <= found:
                break
            cluster.away = cluster.away and "zeal/b" not in found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return found


@pytest.mark.parametrize("nominal", [0, 1_000_000], ids=["who waits", "who is let in"])
@pytest.mark.parametrize("problem", [ClusterUnavailable("500"), ObjectConflict("409")], ids=["unavailable", "conflict"])
async def test_what_is_not_taken_of_one_namespace_keeps_no_other_from_being_written(
    nominal: int, problem: Exception
) -> None:
    found = await asyncio.wait_for(reported(Refusing(problem), of_two_namespaces(nominal, MOST + 4), {"zeal/b"}), 10)
    assert found == {"zeal/b"}


@pytest.mark.parametrize("nominal", [0, 1_000_000], ids=["who waits", "who is let in"])
async def test_what_was_not_taken_is_written_once_it_is(nominal: int) -> None:
    count = MOST + 4
    everybody = {"zeal/b", *(f"team/j{number}" for number in range(count))}
    found = await asyncio.wait_for(
        reported(Refusing(ClusterUnavailable("500")), of_two_namespaces(nominal, count), everybody), 10
    )
    assert found == everybody
