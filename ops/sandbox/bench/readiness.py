"""Whether anybody admits workloads on a cluster: a queue that was created becomes active."""

import asyncio
from typing import Any

from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.reflector import Reflector
from ops.sandbox.bench.cluster_objects import CLUSTER_QUEUES
from ops.sandbox.bench.problems import NobodyAdmits
from services.runtime.cluster_port import Listed

_QUEUES_S = 120.0


async def active(client: KubeClient, queues: set[str]) -> None:
    """Return when all these cluster queues are active. Raises `NobodyAdmits`."""
    waiting = set(queues)
    try:
        async with asyncio.timeout(_QUEUES_S):
            async for sight in Reflector(client).watch(CLUSTER_QUEUES):
                found = sight.objects if isinstance(sight, Listed) else [sight.object]
                waiting -= {one["metadata"]["name"] for one in found if condition(one, "Active")}
                if not waiting:
                    return
    except TimeoutError as nobody:
        raise NobodyAdmits(_QUEUES_S) from nobody


def condition(value: dict[str, Any], kind: str) -> bool:
    """Whether an object says that a condition is true."""
    found = (value.get("status") or {}).get("conditions") or ()
    return any((one["type"], one["status"]) == (kind, "True") for one in found)
