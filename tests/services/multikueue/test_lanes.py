"""Several partitions that are written in other clusters from one process, or from several: who writes, who tells, who shows.

Rule: docs/rules/multikueue.md#divided
"""

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest

from events.api.labels import MULTIKUEUE_ORIGIN
from events.catalogue import AnyEvent
from events.codec import decode_sighting
from events.json_object import JsonObject, objects_at
from events.multikueue import MultiKueueClusterObserved, MultiKueueSettings, RemoteWorkloadObserved
from events.settings import SettingsObserved
from events.subjects import FACTS, addressee
from ops.production.crds.definitions import manifests
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.kubernetes.remote import HOME
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient, OpenGate
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster, kubeconfig_text
from ops.sandbox.simulate.cut_line import CutLine, LineClient, LineConnector
from ops.sandbox.simulate.platform import kueue_object
from projections.world import World
from services.multikueue.connection import CLUSTERS
from services.multikueue.lane import Lane
from services.multikueue.remote_plan import RemotePlan
from services.multikueue.seen import SeenElsewhere
from services.multikueue.shell import RemoteClusters
from services.multikueue.writing import RemoteWriter
from services.runtime.lease import Lease
from services.runtime.lease_port import Replica
from tests.projections.partitions.test_copies import CLUSTER, MAP, A, B, asked, copy
from tests.projections.partitions.test_homes import seen

SETTINGS = SettingsObserved(multikueue=MultiKueueSettings(), devices=False)
W1 = MultiKueueClusterObserved(name="w1", uid="u", location="w1", active=True)


class Recorded(RemoteWriter):
    """Notes what it is to write, and writes nothing."""

    def __init__(self, clock: ScaledClock) -> None:
        super().__init__(AbsentCluster(), clock, {}, SeenElsewhere(MemoryStream(FACTS), clock, lambda _: ""))
        self.written: list[str] = []
        self.news = asyncio.Event()

    async def write(self, wanted: RemotePlan) -> int:
        self.written.append(wanted.workload)
        self.news.set()
        return 1


class FreeLease:
    """A lease that nobody else holds."""

    async def prepare(self) -> None: ...

    async def holder(self, name: str) -> str:
        return ""

    async def take(self, name: str, replica: str) -> int:
        return 1

    async def renew(self, name: str, replica: str, held: int) -> int:
        return held

    async def give_back(self, name: str, held: int) -> None: ...

    async def announce(self, replica: Replica) -> None: ...

    async def leave(self, replica: str) -> None: ...

    async def replicas(self) -> list[Replica]:
        return []


def world_of(partition: str, *facts: AnyEvent) -> World:
    return seen(partition, SETTINGS, MAP, *CLUSTER, W1, asked(A, "a"), asked(B, "b"), *facts).world


async def test_what_a_process_was_about_to_write_is_let_go_when_another_writes_the_partition() -> None:
    clock, lease = ScaledClock(), Lease(FreeLease(), "LOG_1.remote-clusters", "a")
    writer, changed = Recorded(clock), list[Lane]()
    lane = Lane("LOG_1", clock, writer, lease, lambda lane, _: changed.append(lane))
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        renewing, writing = tasks.create_task(lease.run()), tasks.create_task(lane.writes.run())
        await lease.gained.wait()
        lane.observe(world_of("LOG_1", copy(A)), [])
        for _ in range(3):
            writer.news.clear()
            await writer.news.wait()
        assert set(writer.written) == {A}, "a copy that nobody wants goes; it is tried until it is seen gone"
        renewing.cancel()
        lease.let_go()
        assert lane.world is None and changed[-1] is lane
        written = len(writer.written)
        for _ in range(20):
            await clock.sleep(10)
        assert len(writer.written) <= written + 1, "what had begun may end"
        writing.cancel()


def test_a_partition_that_has_not_folded_which_it_is_wants_nothing() -> None:
    clock = ScaledClock()
    for partition, told in (("LOG_0", ["LOG_0"]), ("LOG_1", [])):
        heard: list[str] = []
        lane = Lane(partition, clock, Recorded(clock), None, lambda lane, _, heard=heard: heard.append(lane.partition))
        lane.observe(seen(partition, SETTINGS, *CLUSTER, W1, copy(A)).world, [])
        assert heard == told, "before the map is folded all workloads look like its own"


def remote_copy(key: str) -> JsonObject:
    namespace, _, name = key.partition("/")
    meta = {"name": name, "namespace": namespace, "labels": {MULTIKUEUE_ORIGIN: "multikueue"}}
    container = {"name": "c", "image": "i"}
    pods = {"name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    spec = {"queueName": "q", "podSets": [pods]}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": meta, "spec": spec}


@pytest.fixture
async def there() -> AsyncIterator[tuple[RemoteClusters, MemoryStream, InProcessClient]]:
    """A process that may write all partitions, the facts that it tells, and the cluster here; w1 holds a copy of A and one of B."""
    clock = ScaledClock(20.0)
    home, worker = EmbeddedCluster(clock=clock), EmbeddedCluster(clock=clock)
    for cluster in (home, worker):
        for value in manifests():
            cluster.add(value)
    for name in ("red", "blue"):
        worker.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for key in (A, B):
        worker.add(remote_copy(key))
    home.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
    text = base64.b64encode(kubeconfig_text("http://w1").encode()).decode()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "w1", "namespace": HOME}}
    home.add({**secret, "data": {"kubeconfig": text}})
    home.add(kueue_object("MultiKueueCluster", "w1", {"clusterSource": {"kubeConfig": {"location": "w1"}}}))
    line, facts = CutLine("w1"), MemoryStream(FACTS)
    connector = LineConnector({"w1": lambda: LineClient(worker.resources, line, clock.now)})
    client = InProcessClient(home.resources, OpenGate(), clock.now)
    yield RemoteClusters(client, connector, facts, clock), facts, client


async def told(facts: MemoryStream) -> dict[str, str]:
    """By workload whose copy was told, for which partition."""
    found = [(decode_sighting(one.data).fact, addressee(one.subject)) for one in facts.entries]
    return {fact.workload: to for fact, to in found if isinstance(fact, RemoteWorkloadObserved)}


async def is_active(client: InProcessClient) -> bool:
    conditions = objects_at(await client.get(CLUSTERS, "", "w1"), "status", "conditions")
    return any(one["type"] == "Active" and one["status"] == "True" for one in conditions)


async def test_what_was_passed_over_for_another_process_is_told_once_its_partition_is_written_from_here(
    there: tuple[RemoteClusters, MemoryStream, InProcessClient],
) -> None:
    remote, facts, client = there
    lanes = {name: remote.lane(name, None) for name in ("LOG_0", "LOG_1", "LOG_2")}
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(remote.run())
        lanes["LOG_1"](world_of("LOG_1"), [])
        while A not in await told(facts):  # noqa: ASYNC110 - it comes over the line
            await asyncio.sleep(0.01)
        assert await told(facts) == {A: "LOG_1"}, "a copy is told by who writes its partition, for that one"
        lanes["LOG_2"](world_of("LOG_2"), [])
        while B not in await told(facts):  # noqa: ASYNC110 - it comes over the line
            await asyncio.sleep(0.01)
        assert await told(facts) == {A: "LOG_1", B: "LOG_2"}
        assert not await is_active(client), "who writes the first partition shows which clusters are connected"
        lanes["LOG_0"](world_of("LOG_0"), [])
        while not await is_active(client):  # noqa: ASYNC110 - it comes over the line
            await asyncio.sleep(0.01)
        serving.cancel()
