"""A log with racks: hosts with cards, workloads that are placed by topology, a queue that borrows, and a host that fails."""

from collections.abc import Mapping, Sequence

from events.card import Card
from events.device import DevicesRegistered, NodeObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import FlavorObserved, LocalQueueObserved, NamespaceObserved, PreemptionRules, Quota
from events.settings import SettingsObserved
from events.topology import TopologyObserved, TopologyRequest
from events.workload import Owner, WorkloadSpec, WorkloadSubmitted
from ops.sandbox.bench.day import BEGINS, cluster_queue
from ops.sandbox.bench.partitions import RecordedPartitions
from services.runtime.log_port import Entry

HOST = "kubernetes.io/hostname"


def host(number: int, *, ready: bool = True) -> NodeObserved:
    name = f"host-{number}"
    labels = {"pool": "racked", "rack": f"rack-{number // 2}", HOST: name}
    return NodeObserved(name=name, labels=labels, ready=ready, allocatable={"cpu": 8000, "pods": 10})


def submitted(name: str, queue: str, pods: int, cpu: int, at: int, *, required: str = "rack") -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="c", requests={"cpu": cpu}),))
    topology = TopologyRequest(required=required)
    spec = WorkloadSpec(
        queue=queue, priority=0, pod_sets=(PodSet(name="main", count=pods, shape=shape, topology=topology),)
    )
    owner = Owner(kind="Job", name=name, uid=f"uid-{name}")
    return WorkloadSubmitted(workload=f"team/{name}", uid=owner.uid, owner=owner, created_at=at, spec=spec)


def racks() -> Mapping[str, Sequence[Entry]]:
    """Two racks of two hosts; `wide` fills one rack and borrows for it, `small` stands in the other, whose second host fails; the pods of `many` are too many."""
    stage = RecordedPartitions()
    quota = (Quota(resource="cpu", nominal=12_000),)
    facts = [
        SettingsObserved(),
        NamespaceObserved(name="team"),
        TopologyObserved(name="racks", levels=("rack", HOST)),
        FlavorObserved(name="racked", node_labels={"pool": "racked"}, topology="racks"),
        *(host(number) for number in range(4)),
        *(
            DevicesRegistered(
                node=f"host-{number}",
                cards=tuple(
                    Card(uuid=f"GPU-{number}-{card}", index=card, slots=10, memory=16_384, model="NVIDIA-T4")
                    for card in range(2)
                ),
            )
            for number in range(4)
        ),
        cluster_queue("left", "team", (("racked", quota),), PreemptionRules()),
        cluster_queue("right", "team", (("racked", quota),), PreemptionRules()),
        *(LocalQueueObserved(namespace="team", name=name, cluster_queue=name) for name in ("left", "right")),
    ]
    for fact in facts:
        stage.observe(fact, BEGINS)
    for at, fact in enumerate(
        (
            submitted("wide", "left", 4, 4000, BEGINS + 1000),
            submitted("small", "right", 2, 2000, BEGINS + 2000),
            host(3, ready=False),
            submitted("many", "right", 11, 300, BEGINS + 4000),
        ),
        1,
    ):
        stage.observe(fact, BEGINS + at * 1000)
        while stage.turn(BEGINS + at * 1000):
            pass
    return stage.entries
