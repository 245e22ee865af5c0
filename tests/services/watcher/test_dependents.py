"""What means something in one namespace has the jobs of no other one looked at again, however often it changes."""

import asyncio

from events.json_object import JsonObject
from events.subjects import FACTS
from ops.production.log.memory import MemoryStream
from tests.services.watcher.scripted_cluster import Objects, OneOfSeveral, rest

FLAPS = 5


def job(namespace: str) -> JsonObject:
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
    meta = {"name": "j", "namespace": namespace, "uid": f"u-{namespace}", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}
    return {"metadata": meta, "spec": {"suspend": True, "parallelism": 1, "template": template}}


def local_queue(namespace: str, flap: int) -> JsonObject:
    meta = {"name": "lq", "namespace": namespace, "uid": f"q-{namespace}"}
    return {"metadata": meta, "spec": {"clusterQueue": f"cq{flap}"}}


async def test_a_queue_that_flaps_has_only_the_jobs_of_its_namespace_looked_at_again() -> None:
    objects = Objects()
    one = OneOfSeveral(objects, MemoryStream(FACTS))
    looked_at: list[str] = []
    try:
        async with asyncio.timeout(60):
            for namespace in ("a", "b"):
                await objects.put("Job", job(namespace))
                await objects.put("LocalQueue", local_queue(namespace, 0))
            await rest(one)
            view = one.watcher.view
            works = view.look_at

            def counted(kind: str, value: JsonObject) -> list[object]:
                if kind == "Job":
                    looked_at.append(value["metadata"]["namespace"])
                return [*works(kind, value)]

            view.look_at = counted  # type: ignore[method-assign, assignment]
            for flap in range(1, FLAPS + 1):
                await objects.put("LocalQueue", local_queue("a", flap))
            await rest(one)
        assert looked_at == ["a"] * FLAPS
    finally:
        await one.end()
