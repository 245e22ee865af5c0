"""How a pod is ended by force that hangs on a node out of reach."""

import asyncio
from typing import cast

import pytest

from events.json_object import JsonObject
from events.pod import PodEndForced
from ops.production.process.clock import ScaledClock
from projections.world import World
from services.applier.events.cluster_events import ClusterEvent
from services.applier.events.event_recorder import EventRecorder
from services.applier.pods.forced_pods import ForcedPods, forced
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.cluster_port import Resource, Writer

EVENT = PodEndForced(workload="team/w", namespace="team", pod="p", uid="u", node="n1", due=0)
POD: JsonObject = {
    "metadata": {"name": "p", "resourceVersion": "7"},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]},
}


def test_it_fails_with_kueues_condition() -> None:
    patch = forced(POD, EVENT, 0)
    told = "Pod forcefully terminated after 1m0s grace period due to unreachable node `n1` "
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert patch["status"] == {
        "phase": "Failed",
        "conditions": [
            {"type": "Ready", "status": "False"},
            {
                "type": "KueueFailureRecovery",
                "status": "True",
                "reason": "KueueForcefullyDeleted",
                "message": f"{told}(triggered by `kueue.x-k8s.io/safe-to-forcefully-delete` annotation)",
                "lastTransitionTime": "1970-01-01T00:00:00Z",
            },
        ],
    }
    again = {**POD, "status": patch["status"]}
    assert forced(again, EVENT, 0)["status"] == patch["status"], "the condition stands there once"


class Cluster:
    """A cluster with one pod, and what is done to it and told of it."""

    def __init__(self, pod: JsonObject) -> None:
        self.pod, self.looked, self.done = pod, asyncio.Event(), list[str]()

    async def get(self, *_: object) -> JsonObject:
        self.looked.set()
        return self.pod

    async def merge(self, _: Resource, __: str, name: str, patch: JsonObject, *, subresource: str) -> None:
        self.done.append(f"{subresource} of {name}: {patch['status']['phase']}")

    async def delete(self, _: Resource, __: str, name: str, *, uid: str, at_once: bool = False) -> None:
        self.done.append(f"delete {name} {uid}{' at once' if at_once else ''}")

    def record(self, event: ClusterEvent) -> None:
        self.done.append(f"{event.reason} on {event.name}")


LEAVING: JsonObject = {**POD, "metadata": {**POD["metadata"], "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("pod", "done"),
    [
        (LEAVING, ["status of p: Failed", "KueueForcefullyDeleted on p", "delete p u at once"]),
        ({**LEAVING, "metadata": {**LEAVING["metadata"], "uid": "another"}}, []),
        ({**POD, "metadata": {**POD["metadata"], "uid": "u"}}, []),
    ],
    ids=["hangs", "another of its name", "nobody has deleted it"],
)
async def test_it_fails_is_told_of_and_goes_from_the_api_at_once_if_it_is_still_the_one(
    pod: JsonObject, done: list[str]
) -> None:
    cluster, clock, world = Cluster(pod), ScaledClock(1), World()
    world.forced_pods["team/p"] = EVENT
    ending = ForcedPods(cast(Writer, cluster), clock, LowPriorityWrites(clock), cast(EventRecorder, cluster))
    ending.observe(world)
    task = asyncio.create_task(ending.run())
    await cluster.looked.wait()
    await asyncio.sleep(0.05)
    task.cancel()
    assert cluster.done == done
