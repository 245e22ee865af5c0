"""Which changes have workloads tried again that found no place in a topology."""

import pytest

from events.catalogue import Fact
from events.control import ObjectRemoved
from events.device import NodeObserved, NodeUsageObserved
from events.quota import ClusterQueueObserved, FlavorObserved, FlavorQuotas, Quota, ResourceGroup
from events.settings import SettingsObserved
from events.topology import TopologyObserved
from events.workload import WorkloadQueued
from projections.queues.order import place_of
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
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
        place = place_of(at.world, workload, workload.equivalence, "WaitingForQuota")
        at.world.lines.of(name).park_refused(at.world.trail, place, stamp=at.world.stamp(name))
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


NODE = NodeObserved(name="n", labels={"pool": "a"}, allocatable={"gpu": 8})
OTHER = NodeObserved(name="other", labels={"pool": "b"}, allocatable={"gpu": 8})


def holding(node: str, **requests: int) -> NodeUsageObserved:
    return NodeUsageObserved(node=node, requests=requests)


@pytest.mark.parametrize(
    ("node", "held", "queues"),
    [
        ("n", {"gpu": 1, "pods": 2}, ["placed"]),
        ("n", {"gpu": 3, "pods": 1}, ["placed"]),
        ("n", {}, ["placed"]),
        ("n", {"gpu": 2, "pods": 2}, []),
        ("n", {"gpu": 2, "cpu": 1, "pods": 3}, []),
        ("other", {}, []),
        ("unknown", {}, []),
    ],
)
def test_room_that_other_pods_leave_on_a_node_has_the_queues_of_its_flavors_try_again(
    node: str, held: dict[str, int], queues: list[str]
) -> None:
    at = refused()
    for fact in (NODE, OTHER, holding("n", gpu=2, pods=2), holding("other", gpu=2), holding("unknown", gpu=2)):
        at.fold(fact)
    assert tried_again(at, holding(node, **held)) == queues


def test_a_node_that_goes_has_everybody_try_again_if_it_was_one_of_a_flavor_with_a_topology() -> None:
    at = refused()
    at.fold(NODE)
    at.fold(OTHER)
    assert tried_again(at, ObjectRemoved(kind="Node", namespace="", name="other")) == []
    assert tried_again(at, ObjectRemoved(kind="Node", namespace="", name="n")) == ["placed", "plain"]


def test_what_is_held_of_a_node_is_kept_through_a_saved_world_until_the_node_goes() -> None:
    at = refused()
    at.fold(NODE)
    at.fold(holding("n", gpu=2))
    at.world.settle()
    before = state_hash(at.world)
    assert world_of(tables_of(at.world)).node_usage == at.world.node_usage == {"n": {"gpu": 2}}
    mark = at.world.mark()
    at.fold(holding("n", gpu=1))
    at.fold(ObjectRemoved(kind="Node", namespace="", name="n"))
    assert not at.world.node_usage
    at.world.undo(mark)
    assert state_hash(at.world) == before


def test_a_topology_that_nobody_uses_has_nobody_try_again() -> None:
    assert tried_again(refused(), TopologyObserved(name="other", levels=("zone",))) == []
