"""Where the LocalQueue that used the least comes first, whoever has preempted gets the room that its victims leave."""

import pytest
from msgspec.structs import replace

from events.admission import QuotaReserved
from events.preemption import PreemptionOrdered
from events.quota import (
    AdmissionCheckObserved,
    AdmissionMode,
    CheckRule,
    LocalQueueObserved,
    PreemptionPolicy,
    QueueingStrategy,
    Weight,
)
from events.settings import AdmissionFairSharing, SettingsObserved
from tests.stories.small_world import Story, job, platform, queue


@pytest.mark.parametrize("strategy", QueueingStrategy)
def test_a_victim_whose_local_queue_used_less_does_not_take_the_room_of_its_preemptor(
    strategy: QueueingStrategy,
) -> None:
    """A LocalQueue of weight zero comes after all others; its job has the higher priority. No check is ready meanwhile."""
    by_usage = replace(
        queue("cq", nominal=1, within=PreemptionPolicy.LOWER_PRIORITY),
        admission_mode=AdmissionMode.USAGE_BASED,
        strategy=strategy,
        checks=(CheckRule(name="slow"),),
    )
    told = Story(unchecked=True).told(*platform(), by_usage, AdmissionCheckObserved(name="slow", controller="x"))
    told.told(SettingsObserved(admission_fair_sharing=AdmissionFairSharing(half_life=60_000), devices=False))
    told.told(LocalQueueObserved(namespace="team", name="last", cluster_queue="cq", weight=Weight(numerator=0)))
    told.told(job("victim")).decided()
    said = told.told(job("preemptor", queue="last", priority=1)).decided()
    assert [one.workload for one in said if isinstance(one, PreemptionOrdered)] == ["team/victim"]
    assert [one.workload for one in said if isinstance(one, QuotaReserved)] == ["team/preemptor"]
    assert told.world.workloads["team/victim"].line == "cq"
