"""Two managers that make copies in one worker cluster with the same origin.

Rule: docs/rules/multikueue.md#copies
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from events.json_object import JsonObject
from events.subjects import FACTS
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.multikueue.connection import ClusterConnection
from services.multikueue.remote_plan import RemotePlan
from services.multikueue.removing import Removal
from services.multikueue.seen import SeenElsewhere
from services.runtime.cluster_port import Listed, Resource, Sight
from tests.services.multikueue.one_worker import Here, There, batch_job
from tests.services.multikueue.test_restored_clusters import W1, Opened, Seen, copy


def made(uid: str) -> JsonObject:
    """A copy that bears the origin."""
    value = copy(9)
    value["metadata"] |= {"uid": uid, "labels": {"kueue.x-k8s.io/multikueue-origin": "multikueue"}}
    return value


def nobody_s(uid: str, **more: Any) -> RemotePlan:
    """A copy of a workload that nothing is known of has to go."""
    return RemotePlan(workload="team/a", origin="multikueue", remove=(("w1", uid),), unknown=True, **more)


async def test_what_another_manager_makes_again_is_left_there_and_told() -> None:
    shared = list[str]()
    there, removal = There(made("first")), Removal(Here(batch_job()), lambda **_: None)
    removal.tell_shared = shared.append
    await removal.remove(there, nobody_s("first"), "w1", "first")
    assert there.deleted == ["Workload"] and not shared
    there.copy = made("second")
    await removal.remove(there, nobody_s("second"), "w1", "second")
    assert there.deleted == ["Workload"] and shared == ["w1"]


async def test_what_was_sent_from_here_meanwhile_goes_when_it_is_not_wanted_any_more() -> None:
    shared = list[str]()
    there, removal = There(made("first")), Removal(Here(batch_job()), lambda **_: None)
    removal.tell_shared = shared.append
    await removal.remove(there, nobody_s("first"), "w1", "first")
    removal.note_known("team/a")
    there.copy = made("second")
    await removal.remove(there, nobody_s("second"), "w1", "second")
    assert there.deleted == ["Workload", "Workload"] and not shared


class Leading(Opened):
    """The process that shows which clusters are connected."""

    leads = True


class Manager(AbsentCluster):
    """The manager's cluster, and what its MultiKueueCluster was made to say."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[str] = asyncio.Queue()

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        del resource, namespace
        return {"metadata": {"name": name, "resourceVersion": "1"}}

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        del resource, namespace, name, subresource
        self.said.put_nowait(patch["status"]["conditions"][-1]["message"])
        return patch


class Empty(Seen):
    """A worker cluster without any copy."""

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        del resource
        yield Listed([], "1")
        await asyncio.Event().wait()


async def test_the_condition_of_a_cluster_in_which_another_manager_has_the_same_origin_says_so() -> None:
    clock, opened, home = ScaledClock(1000.0), Leading(Empty()), Manager()
    seen = SeenElsewhere(MemoryStream(FACTS), clock, lambda _: "")
    connection = ClusterConnection("w1", home, opened, clock, seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        following = [tasks.create_task(connection.run()), tasks.create_task(seen.outbox.run())]
        assert await home.said.get() == "Connected"
        connection.note_shared()
        assert "another manager makes copies there with the same multiKueue.origin" in await home.said.get()
        for task in following:
            task.cancel()
