"""Pods are let through to their domains in one write each, whatever happened to the applier and to the cluster meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from events.api.labels import CARDS_GATE, POD_SET, PODSET_UNCONSTRAINED_TOPOLOGY, TOPOLOGY_GATE, WORKLOAD
from events.card import CardShare
from events.control import ObjectRemoved
from events.device import DevicesReserved, NodeObserved, PodCardsAssigned, PodObserved, PodPlacement
from events.json_object import JsonObject
from events.topology import TopologyAssignment, TopologyDomain, TopologyPlacement, TopologyRequest
from events.workload import AdoptedStatus, PodSetAssignment, WorkloadSubmitted
from ops.production.process.clock import ScaledClock
from projections.devices.vendors.table import BY_WORD
from projections.topology.domains.tree import HOSTNAME
from services.applier.pods.pod_gates import PodGates
from services.applier.pods.start_or_end import PODS
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.cluster_port import Resource
from services.watcher.nodes.nodes import pod_fact
from tests.services.applier.in_process import InProcess
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SPEC, Room, true

INDEX = "batch.kubernetes.io/job-completion-index"
CARD = CardShare(uuid="GPU-1", vendor="NVIDIA", memory=1000, cores=10)


def admitted(**counts: int) -> WorkloadSubmitted:
    """A workload of one pod set, with places on hosts."""
    domains = tuple(TopologyDomain(values=(host,), count=count) for host, count in counts.items())
    placement = TopologyPlacement(flavor="f", assignment=TopologyAssignment(levels=(HOSTNAME,), domains=domains))
    total = sum(counts.values())
    adopted = AdoptedStatus(
        conditions=(true("QuotaReserved", "r", since=MINUTE), true("Admitted", "r", since=MINUTE)),
        cluster_queue="cq",
        assignments=(PodSetAssignment(name="main", count=total, flavors={"cpu": "f"}, topology=placement),),
    )
    (pod_set,) = SPEC.pod_sets
    spec = replace(SPEC, pod_sets=(replace(pod_set, count=total, topology=TopologyRequest(pod_index_label=INDEX)),))
    return WorkloadSubmitted(workload=KEY, uid="u", created_at=0, spec=spec, adopted=adopted)


class Cluster(InProcess):
    """One that may change a pod between the moment in which it is read and the one in which it is written."""

    def __init__(self) -> None:
        super().__init__([], seed=5)
        self.between: dict[str, Callable[[], None]] = {}
        self.merged = asyncio.Event()
        self.resources.create(self.resources.kind("", "v1", "namespaces"), "", {"metadata": {"name": "team"}})

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        found = await super().get(resource, namespace, name)
        self.between.pop(name, lambda: None)()
        return found

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        try:
            return await super().merge(resource, namespace, name, patch, subresource=subresource)
        finally:
            self.merged.set()

    def of(self, name: str) -> JsonObject:
        return self.resources.get(self.kind(PODS), ("team", name))

    def add(self, name: str, *gates: str, **spec: Any) -> None:
        meta = {
            "name": name,
            "annotations": {WORKLOAD: "w", PODSET_UNCONSTRAINED_TOPOLOGY: "true"},
            "labels": {POD_SET: "main"},
        }
        waits = {"schedulingGates": [{"name": gate} for gate in gates or (TOPOLOGY_GATE,)]}
        value = {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "x"}], **waits, **spec}}
        self.resources.create(self.kind(PODS), "team", value)

    def annotate(self, name: str) -> None:
        pod = self.of(name)
        pod = {**pod, "metadata": {**pod["metadata"], "annotations": {**pod["metadata"]["annotations"], "a": "b"}}}
        self.resources.update(self.kind(PODS), ("team", name), pod)

    def host(self, name: str) -> str:
        """Where a pod is kept to; empty while it waits at a gate."""
        spec = self.of(name)["spec"]
        return "" if spec.get("schedulingGates") else str((spec.get("nodeSelector") or {}).get(HOSTNAME, "anywhere"))


class Life:
    """One life of the applier beside a world that is told of the cluster when the test says so."""

    def __init__(self, cluster: Cluster, room: Room) -> None:
        self.cluster, self.room = cluster, room
        clock = ScaledClock(100)
        self.gates = PodGates(cluster, clock, LowPriorityWrites(clock))

    def see(self, *names: str) -> None:
        """The log tells how pods are by now."""
        for name in names:
            fact = pod_fact(self.cluster.of(name))
            assert isinstance(fact, PodObserved)
            self.room.tell(fact)
        self.gates.observe(self.room.world, [KEY])

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(120):
            while not done():
                self.cluster.merged.clear()
                await self.cluster.merged.wait()

    async def at_rest(self) -> None:
        """Until nothing has been asked of the cluster for a while."""
        asked = -1
        while asked != len(self.cluster.asked):
            asked = len(self.cluster.asked)
            for _ in range(200):
                await asyncio.sleep(0)


@asynccontextmanager
async def life(cluster: Cluster, room: Room) -> AsyncIterator[Life]:
    one = Life(cluster, room)
    running = asyncio.create_task(one.gates.run())
    try:
        yield one
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_each_pod_gets_its_domain_and_loses_its_gate_in_one_write() -> None:
    cluster, room = Cluster(), Room(admitted(x=1, y=1))
    cluster.add("a")
    cluster.add("b", TOPOLOGY_GATE, "example.com/other", nodeSelector={"zone": "z"})
    async with life(cluster, room) as one:
        one.see("a", "b")
        await one.until(lambda: cluster.host("a") == "x" and cluster.asked.count("merge") == 2)
        await one.at_rest()
    assert cluster.of("b")["spec"]["nodeSelector"] == {"zone": "z", HOSTNAME: "y"}
    assert cluster.of("b")["spec"]["schedulingGates"] == [{"name": "example.com/other"}]
    assert cluster.asked == ["get", "get", "merge", "merge"]


async def test_a_pod_that_waits_at_both_gates_is_let_through_both_in_one_write() -> None:
    cluster, room = Cluster(), Room(admitted(x=1))
    cluster.add("a", TOPOLOGY_GATE, CARDS_GATE)
    admission = room.workload.admission
    assert admission is not None
    placement = PodPlacement(pod_set="main", index=0, node="x", containers=((CARD,),))
    room.tell(
        NodeObserved(name="x", labels={HOSTNAME: "x"}),
        DevicesReserved(workload=KEY, reservation=admission.reservation, placements=(placement,)),
        PodCardsAssigned(
            workload=KEY,
            reservation=admission.reservation,
            pod_set="main",
            index=0,
            pod="a",
            uid=cluster.of("a")["metadata"]["uid"],
        ),
    )
    async with life(cluster, room) as one:
        one.see("a")
        await one.until(lambda: cluster.host("a") == "x")
        one.see("a")
        await one.at_rest()
    assert cluster.of("a")["metadata"]["annotations"][BY_WORD["NVIDIA"].use_uuid] == "GPU-1"
    assert cluster.asked == ["get", "merge"]


async def test_a_pod_that_changed_while_it_was_written_is_written_again() -> None:
    cluster, room = Cluster(), Room(admitted(x=1, y=1))
    cluster.add("a")
    cluster.add("b")
    cluster.between["a"] = lambda: cluster.annotate("a")
    async with life(cluster, room) as one:
        one.see("a", "b")
        await one.until(lambda: cluster.host("a") == "x")
    assert cluster.host("b") == "y"
    assert cluster.of("a")["metadata"]["annotations"]["a"] == "b"
    assert cluster.asked.count("merge") == 3, "the first holds only for the version that was read"


async def test_a_new_applier_waits_for_what_the_one_before_it_has_written() -> None:
    cluster, room = Cluster(), Room(admitted(x=1, y=1))
    cluster.add("b")
    async with life(cluster, room) as one:
        one.see("b")
        await one.until(lambda: cluster.host("b") == "x")
    cluster.add("a")
    async with life(cluster, room) as one:
        one.see("a")
        await one.at_rest()
        assert not cluster.host("a"), "the log does not show yet that b has taken x"
        one.see("b")
        await one.until(lambda: cluster.host("a") == "y")
    assert cluster.host("b") == "x"


async def test_news_that_come_while_pods_are_read_are_planned_with() -> None:
    cluster, room = Cluster(), Room(admitted(x=1, y=1))
    cluster.add("b")
    async with life(cluster, room) as one:
        one.see("b")
        await one.until(lambda: cluster.host("b") == "x")
        cluster.add("a")
        cluster.between["a"] = lambda: one.see("b")
        one.see("a")
        await one.until(lambda: cluster.host("a") == "y")


async def test_a_pod_that_can_not_go_to_its_domain_keeps_no_other_from_its_own() -> None:
    cluster, room = Cluster(), Room(admitted(x=1, y=1))
    cluster.add("a", nodeSelector={HOSTNAME: "elsewhere"})
    cluster.add("b")
    async with life(cluster, room) as one:
        one.see("a", "b")
        await one.until(lambda: cluster.host("b") == "y")
        await one.at_rest()
    assert not cluster.host("a")


async def test_the_place_of_a_pod_that_is_gone_is_given_to_another() -> None:
    cluster, room = Cluster(), Room(admitted(x=1))
    for name in "ab":
        cluster.add(name)
    async with life(cluster, room) as one:
        one.see("a", "b")
        await one.until(lambda: cluster.host("a") == "x")
        one.see("a")
        await one.at_rest()
        assert not cluster.host("b")
        room.tell(ObjectRemoved(kind="Pod", namespace="team", name="a"))
        one.see("b")
        await one.until(lambda: cluster.host("b") == "x")


async def test_pods_of_a_workload_that_has_lost_its_place_stay_at_the_gate() -> None:
    cluster, room = Cluster(), Room(replace(admitted(x=1), adopted=None))
    cluster.add("a")
    async with life(cluster, room) as one:
        one.see("a")
        await one.at_rest()
    assert not cluster.host("a") and not cluster.asked
