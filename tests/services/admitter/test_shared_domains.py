"""Trees share the domains of a topology beside their quota: what one gives back is heard of in the others."""

import pytest

from events.catalogue import AnyEvent
from events.device import NodeObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    QueueingStrategy,
    Quota,
    ResourceGroup,
)
from events.selector import LabelSelector
from events.topology import TopologyObserved, TopologyRequest
from events.workload import Owner, PodsGone, WorkloadChanged, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from projections.topology.domains.tree import HOSTNAME
from tests.stories.small_world import Story

STRATEGIES = (QueueingStrategy.STRICT_FIFO, QueueingStrategy.BEST_EFFORT_FIFO)


def queues(strategy: QueueingStrategy, *flavors: str) -> list[AnyEvent]:
    """A queue for each flavor in turn, each a tree of its own."""
    told: list[AnyEvent] = [NamespaceObserved(name="team")]
    for name, flavor in zip(("one", "two"), flavors, strict=True):
        quotas = FlavorQuotas(flavor=flavor, quotas=(Quota(resource="cpu", nominal=9000),))
        group = ResourceGroup(resources=("cpu",), flavors=(quotas,))
        told += [
            ClusterQueueObserved(name=name, groups=(group,), strategy=strategy, namespaces=LabelSelector()),
            LocalQueueObserved(namespace="team", name=name, cluster_queue=name),
        ]
    return told


def host(*flavors: str) -> list[AnyEvent]:
    """One host with four CPUs, which every flavor has."""
    return [
        TopologyObserved(name="hosts", levels=(HOSTNAME,)),
        *(FlavorObserved(name=one, topology="hosts", node_labels={"pool": "a"}) for one in flavors),
        NodeObserved(name="h", labels={"pool": "a", HOSTNAME: "h"}, allocatable={"cpu": 4000, "pods": 110}),
    ]


def asking(name: str, queue: str, count: int, *, elastic: bool = False) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="c", requests={"cpu": 1000}),))
    pod_set = PodSet(name="main", count=count, shape=shape, topology=TopologyRequest(unconstrained=True))
    return WorkloadSubmitted(
        workload=f"team/{name}",
        uid=name,
        created_at=1000,
        owner=Owner(kind="Job", api_version="batch/v1", name=name, uid=f"job-{name}"),
        spec=WorkloadSpec(queue=queue, pod_sets=(pod_set,), elastic=elastic),
    )


def holding(told: Story) -> list[str]:
    return sorted(one.spec.queue for one in told.world.workloads.values() if one.admitted and not one.finished)


def one_waits(strategy: QueueingStrategy, *flavors: str, elastic: bool = False) -> Story:
    told = Story().told(*host(*dict.fromkeys(flavors)), *queues(strategy, *flavors))
    told.told(asking("first", "one", 4, elastic=elastic)).decided()
    told.told(asking("second", "two", 2)).decided()
    assert holding(told) == ["one"]
    return told


@pytest.mark.parametrize("flavors", [("tas", "tas"), ("tas", "other")], ids=("one flavor", "the same hosts"))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_who_found_no_room_gets_in_when_a_workload_of_another_tree_leaves(
    strategy: QueueingStrategy, flavors: tuple[str, str]
) -> None:
    told = one_waits(strategy, *flavors)
    told.told(WorkloadFinished(workload="team/first", reason="Succeeded"), PodsGone(workload="team/first")).decided()
    assert holding(told) == ["two"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_who_found_no_room_gets_in_when_an_elastic_job_of_another_tree_shrinks(strategy: QueueingStrategy) -> None:
    told = one_waits(strategy, "tas", "tas", elastic=True)
    told.told(WorkloadChanged(workload="team/first", spec=asking("first", "one", 2, elastic=True).spec)).decided()
    assert holding(told) == ["one", "two"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_who_remembers_what_was_refused_decides_as_one_who_looks_anew(strategy: QueueingStrategy) -> None:
    told = one_waits(strategy, "tas", "tas")
    told.world.review_all()
    assert told.decided() == []
