"""A log for the console: many workloads that run and wait at once, on many nodes with cards, and single arrivals afterwards."""

from collections.abc import Callable

import msgspec

from events.card import Card
from events.catalogue import Fact
from events.device import DevicesRegistered, NodeObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import FlavorObserved, LocalQueueObserved, NamespaceObserved, PreemptionPolicy, PreemptionRules, Quota
from events.settings import SettingsObserved
from events.workload import Owner, WorkloadSpec, WorkloadSubmitted
from ops.sandbox.bench.day import BEGINS, CORES, GPU, MEMORY, cluster_queue
from ops.sandbox.bench.partitions import RecordedPartitions
from services.runtime.log_port import Entry

COHORTS, QUEUES, SPACES = 6, 30, 20
CARDS = 8
_CARD_MEMORY = 81_920
_RUNNING = 5
"""One in so many has room."""
_WITH_CARDS = 25
"""One in so many asks for a card."""
_AT_ONCE = 200
"""So many arrive between two turns of the deciders."""
_AMOUNTS = ((GPU, 1), (MEMORY, _CARD_MEMORY), (CORES, 100))


class ConsoleLoad(msgspec.Struct, frozen=True, kw_only=True):
    """How much the console is to show."""

    workloads: int
    nodes: int


def platform_of(load: ConsoleLoad) -> list[Fact]:
    """Queues that own all cards between them and CPUs for a fifth of the workloads, each in a cohort, and nodes with eight cards each."""
    facts: list[Fact] = [
        SettingsObserved(),
        FlavorObserved(name="default"),
        FlavorObserved(name="cards", node_labels={"cards": "yes"}),
    ]
    facts += [NamespaceObserved(name=f"team-{number}") for number in range(SPACES)]
    for number in range(load.nodes):
        node = f"node-{number:04}"
        cards = tuple(
            Card(uuid=f"GPU-{node}-{index}", index=index, slots=10, memory=_CARD_MEMORY, model="NVIDIA-H100")
            for index in range(CARDS)
        )
        facts += [NodeObserved(name=node, labels={"cards": "yes"}), DevicesRegistered(node=node, cards=cards)]
    cpus = load.workloads // _RUNNING // QUEUES
    owned = load.nodes * CARDS // QUEUES
    cpu = (Quota(resource="cpu", nominal=cpus * 1000),)
    gpu = tuple(Quota(resource=name, nominal=owned * each) for name, each in _AMOUNTS)
    rules = PreemptionRules(reclaim_within_cohort=PreemptionPolicy.ANY)
    for number in range(QUEUES):
        for name, flavor, quotas in ((f"queue-{number}", "default", cpu), (f"cards-{number}", "cards", gpu)):
            facts.append(cluster_queue(name, f"cohort-{number % COHORTS}", ((flavor, quotas),), rules))
            facts += [
                LocalQueueObserved(namespace=f"team-{space}", name=name, cluster_queue=name) for space in range(SPACES)
            ]
    return facts


def arrival(number: int, at: int) -> WorkloadSubmitted:
    """A job with a CPU, or with a card, in the queue and the namespace whose turn it is."""
    name = f"job-{number:05}"
    with_card = number % _WITH_CARDS == 0
    container = ContainerShape(
        name="c", requests={} if with_card else {"cpu": 1000}, limits=dict(_AMOUNTS) if with_card else {}
    )
    shape = PodShape(containers=(container,))
    spec = WorkloadSpec(
        queue=f"{'cards' if with_card else 'queue'}-{number % QUEUES}",
        priority=number % 4 * 50,
        pod_sets=(PodSet(name="main", count=1, shape=shape),),
    )
    owner = Owner(kind="Job", name=name, uid=f"uid-{name}")
    key = f"team-{number % SPACES}/{name}"
    return WorkloadSubmitted(workload=key, uid=owner.uid, owner=owner, created_at=at, spec=spec)


def written(load: ConsoleLoad, on_progress: Callable[[int, int], None]) -> dict[str, list[Entry]]:
    """The log on which all of them have arrived, as many run as there are cards, and the others wait."""
    stage = RecordedPartitions()
    for fact in platform_of(load):
        stage.observe(fact, BEGINS)
    at = BEGINS
    for number in range(load.workloads):
        at += 1
        stage.observe(arrival(number, at), at)
        if number % _AT_ONCE == _AT_ONCE - 1:
            on_progress(number, load.workloads)
            while stage.turn(at):
                pass
    while stage.turn(at):
        pass
    return stage.entries
