"""Which changes have workloads tried again that found no place in a topology."""

import pytest

from events.catalogue import Fact
from events.control import ObjectRemoved
from events.quota import ClusterQueueObserved, FlavorObserved, FlavorQuotas, Quota, ResourceGroup
from events.settings import SettingsObserved
from events.topology import TopologyObserved
from events.workload import WorkloadQueued
from projections.queues.order import order_in_line
from tests.projections.fair_sharing.cohort_world import CohortWorld

RACKS = TopologyObserved(name="racks", levels=("zone", "rack"))
PLACED = FlavorObserved(name="placed", topology="racks", node_labels={"pool": "a"})


def queue(name: str, flavor: str) -> ClusterQueueObserved:
    flavors = (FlavorQuotas(flavor=flavor, quotas=(Quota(resource="gpu", nominal=8),)),)
    return ClusterQueueObserved(name=name, groups=(ResourceGroup(resources=("gpu",), flavors=flavors),))


def refused() -> CohortWorld:
    """One workload parked in a queue of the flavor with a topology, one in a queue of another flavor."""
    at = CohortWorld(SettingsObserved())
    for fact in (RACKS, PLACED, FlavorObserved(name="plain"), queue("placed", "placed"), queue("plain", "plain")):
        at.fold(fact)
    for name in ("placed", "plain"):
        at.door(name, name)
        at.waiting(name, door=name)
        at.fold(WorkloadQueued(workload=f"team/{name}", cluster_queue=name))
        workload = at.world.workloads[f"team/{name}"]
        order, stamp = order_in_line(at.world, workload), at.world.stamp(name)
        at.world.lines.of(name).park_refused(
            at.world.trail, workload.key, order, kind=workload.equivalence, reason="WaitingForQuota", stamp=stamp
        )
    return at


def tried_again(at: CohortWorld, fact: Fact) -> list[str]:
    before = {name: at.world.stamp(name) for name in ("placed", "plain")}
    at.fold(fact)
    return [name for name, stamp in before.items() if at.world.stamp(name) != stamp]


@pytest.mark.parametrize(
    "fact",
    [
        TopologyObserved(name="racks", levels=("zone", "row", "rack")),
        ObjectRemoved(kind="Topology", namespace="", name="racks"),
        FlavorObserved(name="placed", topology="racks", node_labels={"pool": "b"}),
    ],
    ids=lambda fact: type(fact).__name__,
)
def test_another_topology_or_flavor_has_the_queues_that_use_it_try_again(fact: Fact) -> None:
    assert tried_again(refused(), fact) == ["placed"]


def test_a_topology_that_nobody_uses_has_nobody_try_again() -> None:
    assert tried_again(refused(), TopologyObserved(name="other", levels=("zone",))) == []
