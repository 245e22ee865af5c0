"""Which pods a workload has is known as long as it has some, and no longer: there are more and more workloads that had."""

from events.control import ObjectRemoved
from events.device import PodObserved
from events.topology import PodTopology
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World

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
