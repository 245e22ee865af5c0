"""What QuotaReserved says of an attempt that failed, without granular reasons."""

import pytest
from msgspec.structs import replace

from events.selector import LabelSelector
from events.settings import SettingsObserved
from projections.workloads.lifecycle import QUOTA_RESERVED
from tests.stories.small_world import Story, job, platform, queue


@pytest.mark.parametrize(("granular", "reason"), [(True, "Misconfigured"), (False, "Pending")])
def test_who_was_tried_and_comes_from_another_namespace_is_pending(granular: bool, reason: str) -> None:
    nobody = replace(queue("cq", nominal=8), namespaces=LabelSelector(labels={"never": "there"}))
    told = Story().told(SettingsObserved(gates={"UnadmittedWorkloadsObservability": granular}), *platform(), nobody)
    told.told(job("a")).decided()
    found = told.world.workloads["team/a"].condition(QUOTA_RESERVED)
    assert found is not None
    assert (found.reason, found.message) == (reason, "Workload namespace doesn't match ClusterQueue selector")
