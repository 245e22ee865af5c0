"""Who decides for as long as a lease lasts has looked at everything that has happened while it did not."""

from events.device import Card, DevicesRegistered, NodeObserved
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from services.runtime.lease import Lease, Readiness
from services.runtime.partition.leased_work import LeasedWork
from tests.services.multikueue.test_lanes import FreeLease

CARD = Card(uuid="gpu-1", index=0, slots=10, memory=1000, cores=100, model="V100", vendor="NVIDIA")


class LateLease(Lease):
    """One that was taken once, and counts or not as a test says."""

    counts = True

    @property
    def held(self) -> bool:
        return self.counts


def test_whose_lease_comes_back_that_had_run_out_for_a_while_looks_at_everything_again() -> None:
    world, lease = World(), LateLease(FreeLease(), "DEVICES_default.deciders", "a")
    lease.grants = 1
    work = LeasedWork(world, lease, None, changed=lambda: None, readiness=lambda: Readiness.READY)
    work.take_up()
    for sequence, fact in enumerate((NodeObserved(name="a"), DevicesRegistered(node="a", cards=(CARD,))), 1):
        evolve(world, fact, LogPosition(partition="FACTS", sequence=sequence, at=0))
    world.leave_cards()
    work.take_up()
    assert not world.cards.dirty_cards, "as long as it decides, its deciders have looked"
    lease.counts = False
    work.take_up()
    lease.counts = True
    work.take_up()
    assert list(world.cards.dirty_cards) == [CARD.uuid]
