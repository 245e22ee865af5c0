"""A watch of the embedded API ends when its time is over, and whoever goes on where it ended misses nothing."""

import asyncio

import msgspec
import pytest

from events.json_object import JsonObject
from ops.production.kubernetes.client import path_of
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient, OpenGate
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.simulate.virtual_loop import VirtualLoop
from services.runtime.cluster_port import Resource

PODS = Resource(plural="pods", kind="Pod")
SECONDS = 60
POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


async def told(client: InProcessClient, version: str) -> tuple[list[str], str]:
    """The types of what a watch tells of objects, and the version that it has told last."""
    found: list[str] = []
    async for line in client.lines(f"{path_of(PODS)}?watch=true&resourceVersion={version}&timeoutSeconds={SECONDS}"):
        event = msgspec.json.decode(line)
        version = event["object"]["metadata"]["resourceVersion"]
        if event["type"] != "BOOKMARK":
            found.append(event["type"])
    return found, version


async def watched_twice() -> list[str]:
    """What two watches have told, one behind the other, of a pod that comes in the moment in which the first one ends."""
    cluster = EmbeddedCluster(identity="", controllers=False)
    client = InProcessClient(cluster.resources, OpenGate(), cluster.clock.now)
    version = str(cluster.store.version)

    async def late() -> None:
        await asyncio.sleep(SECONDS)
        await client.create(PODS, "default", POD)

    comes = asyncio.get_running_loop().create_task(late())
    first, version = await told(client, version)
    await comes
    second, _ = await told(client, version)
    return [*first, *second]


@pytest.mark.parametrize("order", range(20))
def test_what_comes_in_the_moment_in_which_a_watch_ends_is_told_by_the_next_one(order: int) -> None:
    loop = VirtualLoop(f"watch/{order}")
    try:
        assert loop.run_until_complete(watched_twice()) == ["ADDED"]
    finally:
        loop.close()
