"""Which pods a workload has is known as long as it has some, and no longer: there are more and more workloads that had."""

from events.control import ObjectRemoved
from events.device import PodObserved
from events.topology import PodTopology
from events.workload import EvictionOrdered
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.topology.pods.placed_pods import placed_pod_sets
from projections.world import World
from tests.services.queue_manager.test_failed_hosts import pod, running
from tests.services.queue_manager.waiting_room import KEY, Room

POD = PodObserved(
    namespace="team", name="p", uid="p", workload="team/w", gated=True, elastic=True, topology=PodTopology(gated=True)
)


def test_of_a_workload_whose_pods_are_gone_nothing_is_kept() -> None:
    world, place = World(), LogPosition(partition="FACTS", sequence=1, at=0)
    tables = (world.elastic_pods, world.placed_pods, world.cards.care.gated)
    before = world.mark()
    evolve(world, POD, place)
    assert all(table == {"team/w": {"team/p": None}} for table in tables)
    evolve(world, ObjectRemoved(kind="Pod", namespace="team", name="p"), place)
    assert not any(tables)
    world.take_back(before)
    assert not any(tables)


def test_pods_of_who_has_to_go_and_pods_that_are_over_are_let_through_to_no_domain() -> None:
    def pods(room: Room) -> list[str]:
        return [one.name for pod_set in placed_pod_sets(room.world, room.workload) for one in pod_set.pods]

    room = running().tell(pod("p2", "a", bound=False, phase="Pending", gated=True))
    assert pods(room) == ["p0", "p1", "p2"]
    assert pods(room.tell(pod("p0", "a", phase="Succeeded"))) == ["p1", "p2"]
    assert pods(room.tell(EvictionOrdered(workload=KEY, reason="NodeFailures", message=""))) == []
