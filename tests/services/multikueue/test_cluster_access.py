"""What gives access to a worker cluster, read again and again.

Rule: docs/rules/multikueue.md#kubeconfig
"""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from events.json_object import JsonObject
from events.multikueue import AccessProvider, KubeConfigPlace, MultiKueueClusterObserved
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.embedded import kubeconfig_text
from services.multikueue.cluster_access import ClusterAccess
from services.multikueue.kubeconfig import KubeConfigRefused
from services.runtime.cluster_port import RemoteCluster, Resource

FILE = "/etc/multikueue/kubeconfigs/w1"
W1 = MultiKueueClusterObserved(name="w1", uid="u", location=FILE, location_type=KubeConfigPlace.PATH)
FAST = 5000.0


class Files:
    """Files with kubeconfigs, and how often they were read."""

    namespace = "kuelog-system"

    def __init__(self) -> None:
        self.content: bytes | None = kubeconfig_text("https://w1").encode()
        self.reads = 0
        self.was_read = asyncio.Event()

    def resolved(self, path: str) -> str:
        return path

    def read(self, path: str) -> str:
        self.reads += 1
        self.was_read.set()
        if self.content is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.content.decode()

    async def run(self, words: Sequence[str], variables: Mapping[str, str]) -> bytes:
        raise NotImplementedError

    async def connect(self, kubeconfig: str) -> RemoteCluster:
        raise NotImplementedError

    async def read_again(self) -> None:
        self.was_read.clear()
        await self.was_read.wait()


async def test_a_file_that_changes_or_goes_is_told_once_and_one_that_stays_never() -> None:
    files, changes = Files(), asyncio.Queue[str]()
    access = ClusterAccess("w1", AbsentCluster(), files, ScaledClock(FAST))
    looking = asyncio.create_task(access.look_after(lambda: changes.put_nowait("changed")))
    async with asyncio.timeout(60):
        first = await access.read(W1, None)
        await files.read_again()
        await files.read_again()
        assert changes.empty(), "it is as it was"
        files.content = kubeconfig_text("https://w2").encode()
        assert await changes.get() == "changed"
        assert await access.read(W1, None) != first
        files.content = None
        assert await changes.get() == "changed"
    assert not looking.done()
    looking.cancel()


class Home(AbsentCluster):
    """The manager's cluster, in which a ClusterProfile says where a worker is."""

    def __init__(self) -> None:
        self.server = "https://w1"

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        del resource, namespace
        offered = [{"name": "cloud", "cluster": {"server": self.server}}]
        return {"metadata": {"name": name}, "status": {"accessProviders": offered}}


async def test_a_profile_that_names_another_server_is_told() -> None:
    home, changes = Home(), asyncio.Queue[str]()
    access = ClusterAccess("w1", home, Files(), ScaledClock(FAST))
    looking = asyncio.create_task(access.look_after(lambda: changes.put_nowait("changed")))
    found = MultiKueueClusterObserved(name="w1", uid="u", profile="w1")
    async with asyncio.timeout(60):
        await access.read(found, (AccessProvider(name="cloud", command="cloud-login", api_version="v1"),))
        home.server = "https://w2"
        assert await changes.get() == "changed"
    looking.cancel()


async def test_what_may_not_be_used_is_not_read_again_before_somebody_asks() -> None:
    files = Files()
    files.content = b"\xff"
    access = ClusterAccess("w1", AbsentCluster(), files, ScaledClock(FAST))
    with pytest.raises(KubeConfigRefused, match=f"{FILE} is no text"):
        await access.read(W1, None)
    looking = asyncio.create_task(access.look_after(lambda: pytest.fail("nothing has changed")))
    clock = ScaledClock(FAST)
    await clock.sleep(60_000)
    assert files.reads == 1 and not looking.done()
    looking.cancel()
