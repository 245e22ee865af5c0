"""A job that asks for other pod sets than it was let in with: the cards' partition may read of that ahead of the reservation."""

from msgspec.structs import replace

from events.admission import QuotaReserved
from events.device import DevicesReserved
from events.workload import PodSetAssignment, WorkloadChanged
from projections.log_position import LogPosition
from services.accountant.decide import Accountant
from tests.stories.small_world import GPU, Story, job, platform


def test_cards_are_given_to_the_pod_sets_that_were_let_in_and_are_still_asked_for() -> None:
    asked = job("a")
    both = replace(asked.spec, pod_sets=(*asked.spec.pod_sets, replace(asked.spec.pod_sets[0], name="side")))
    told = Story().told(*platform(), replace(asked, spec=both))
    told.told(WorkloadChanged(workload="team/a", spec=asked.spec))
    given = tuple(PodSetAssignment(name=name, count=1, flavors={GPU: "v100"}) for name in ("main", "side"))
    told.told(QuotaReserved(workload="team/a", cluster_queue="cq", assignments=given))
    (reserved, *_) = Accountant().decide(told.world, LogPosition(partition="DEVICES_default", sequence=1, at=told.at))
    assert isinstance(reserved, DevicesReserved)
    assert [one.pod_set for one in reserved.placements] == ["main"]
