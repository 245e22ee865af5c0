"""Queues are shown as they stand while the API server is busy with other writes, however long those take."""

import asyncio
from typing import Any

from events.quota import CohortObserved
from events.settings import SettingsObserved
from ops.sandbox.simulate.process_clock import ProcessClock
from ops.sandbox.simulate.virtual_loop import VirtualLoop
from services.applier.queue_status.queue_status_shell import QueueStatusWriter
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.cluster_port import Resource
from tests.projections.fair_sharing.cohort_world import CohortWorld

QUEUES = 30
TAKES_S = 0.1
"""What one call takes on a server that is at its limit."""


class BusyServer:
    """Takes its time for every call; remembers whose status was written when."""

    def __init__(self) -> None:
        self.shown: set[str] = set()
        self.all_shown = asyncio.Event()

    async def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        del resource, namespace
        await asyncio.sleep(TAKES_S)
        return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}, "status": {}}

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: dict[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        found = await self.get(resource, namespace, name)
        if subresource == "status" and resource.kind == "ClusterQueue":
            self.shown.add(name)
        if len(self.shown) == QUEUES:
            self.all_shown.set()
        return {**found, "status": patch.get("status", {})}


def test_every_queue_is_shown_within_seconds_while_a_thousand_others_wait_for_their_turn() -> None:
    at, server = CohortWorld(SettingsObserved()), BusyServer()
    at.fold(CohortObserved(name="all"))
    for number in range(QUEUES):
        at.queue(f"q{number}", 4)
        at.door(f"q{number}", f"q{number}")

    async def watch(loop: VirtualLoop) -> None:
        clock = ProcessClock(1_000, loop)
        spare = LowPriorityWrites(clock)
        writer = QueueStatusWriter(server, clock, spare)  # type: ignore[arg-type]

        async def other() -> None:
            async with spare.turn():
                await asyncio.sleep(TAKES_S)

        others = [loop.create_task(other()) for _ in range(1000)]
        writing = loop.create_task(writer.run())
        writer.observe(at.world, ())
        # For each queue and its LocalQueue two calls at first, and a rest as long.
        await asyncio.wait_for(server.all_shown.wait(), (2 * QUEUES + 1) * 2 * 2 * TAKES_S)
        assert sum(one.done() for one in others) < len(others)
        for task in (writing, *others):
            task.cancel()
        await asyncio.gather(writing, *others, return_exceptions=True)

    loop = VirtualLoop("busy")
    try:
        loop.run_until_complete(watch(loop))
    finally:
        loop.close()
