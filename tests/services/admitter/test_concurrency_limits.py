"""A queue that takes no more than so many workloads (docs/rules/quota.md#max-concurrent)."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused
from events.quota import ClusterQueueObserved
from events.workload import WorkloadChanged
from tests.stories.small_world import Story, job, platform


@pytest.mark.parametrize("forgetful", [False, True])
def test_who_is_too_big_for_its_queue_is_told_of_the_limit_once_nobody_may_go_for_it(*, forgetful: bool) -> None:
    facts = [replace(fact, max_concurrent=1) if isinstance(fact, ClusterQueueObserved) else fact for fact in platform()]
    told = Story(unchecked=True, forgetful=forgetful).told(*facts, job("low"))
    told.decided()
    told.told(job("giant", count=9, priority=9))
    assert reasons(told) == ["ExceedsMaxQuota"]
    told.told(changed(priority=-1))
    assert reasons(told) == []  # Tried again, and refused as before.
    told.told(changed(priority=-1, never_preempt=True))
    assert reasons(told) == ["WaitingForQuota"]


def changed(**fields: Any) -> WorkloadChanged:
    return WorkloadChanged(workload="team/low", spec=replace(job("low").spec, **fields))


def reasons(told: Story) -> list[str]:
    return [event.reason for event in told.decided() if isinstance(event, AdmissionRefused)]
