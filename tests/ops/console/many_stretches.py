"""A log with ten thousand stretches of cards: workloads of many pods come and go on a few hundred cards."""

from collections.abc import Mapping, Sequence

from events.card import Card
from events.device import DevicesRegistered, NodeObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import FlavorObserved, LocalQueueObserved, NamespaceObserved, PreemptionRules, Quota
from events.settings import SettingsObserved
from events.workload import Owner, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from ops.sandbox.bench.day import BEGINS, CORES, GPU, MEMORY, cluster_queue
from ops.sandbox.bench.partitions import RecordedPartitions
from services.runtime.log_port import Entry

NODES, CARDS, PODS = 50, 8, 100
ROOM = NODES * CARDS // PODS
"""Workloads that hold all cards between them."""
_MINUTE = 60_000


def submitted(number: int, at: int) -> WorkloadSubmitted:
    """A workload with a card for each of its pods."""
    container = ContainerShape(name="c", requests={}, limits={GPU: 1, MEMORY: 16_384, CORES: 100})
    shape = PodShape(containers=(container,))
    spec = WorkloadSpec(queue="cards", priority=0, pod_sets=(PodSet(name="main", count=PODS, shape=shape),))
    name = f"job-{number:03}"
    owner = Owner(kind="Job", name=name, uid=f"uid-{name}")
    return WorkloadSubmitted(workload=f"team/{name}", uid=owner.uid, owner=owner, created_at=at, spec=spec)


def many_stretches(stretches: int = 10_800, messages: int = 10_000) -> Mapping[str, Sequence[Entry]]:
    """About so many stretches, each a minute long, on a log of more than so many messages."""
    stage = RecordedPartitions()
    amounts = {GPU: 1, MEMORY: 16_384, CORES: 100}
    quotas = tuple(Quota(resource=name, nominal=NODES * CARDS * each) for name, each in amounts.items())
    facts = [SettingsObserved(), NamespaceObserved(name="team"), FlavorObserved(name="t4", node_labels={})]
    for number in range(NODES):
        name = f"node-{number:02}"
        cards = tuple(
            Card(uuid=f"GPU-{number:02}-{index}", index=index, slots=10, memory=16_384, model="NVIDIA-T4")
            for index in range(CARDS)
        )
        facts += [NodeObserved(name=name), DevicesRegistered(node=name, cards=cards)]
    facts += [cluster_queue("cards", "", (("t4", quotas),), PreemptionRules())]
    facts += [LocalQueueObserved(namespace="team", name="cards", cluster_queue="cards")]
    facts += [NamespaceObserved(name="team", labels={"seen": str(number)}) for number in range(messages)]
    for fact in facts:
        stage.observe(fact, BEGINS)
    at = BEGINS
    for number in range(-(-stretches // PODS)):
        if number >= ROOM and number % ROOM == 0:
            at += _MINUTE
            for before in range(number - ROOM, number):
                stage.observe(WorkloadFinished(workload=f"team/job-{before:03}", reason="Succeeded"), at)
        stage.observe(submitted(number, at), at)
        while stage.turn(at):
            pass
    return stage.entries
