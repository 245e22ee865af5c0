"""What QuotaReserved says of an attempt that failed, without granular reasons."""

import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused, RequeueReason
from events.selector import LabelSelector
from events.settings import SettingsObserved
from projections.workloads.lifecycle import QUOTA_RESERVED
from tests.services.queue_manager.waiting_room import KEY, Room, settings, submitted
from tests.stories.small_world import Story, job, platform, queue


@pytest.mark.parametrize(("granular", "reason"), [(True, "Misconfigured"), (False, "Pending")])
def test_who_was_tried_and_comes_from_another_namespace_is_pending(granular: bool, reason: str) -> None:
    nobody = replace(queue("cq", nominal=8), namespaces=LabelSelector(labels={"never": "there"}))
    told = Story().told(SettingsObserved(gates={"UnadmittedWorkloadsObservability": granular}), *platform(), nobody)
    told.told(job("a")).decided()
    found = told.world.workloads["team/a"].condition(QUOTA_RESERVED)
    assert found is not None
    assert (found.reason, found.message) == (reason, "Workload namespace doesn't match ClusterQueue selector")


@pytest.mark.parametrize(
    "reason",
    [
        "PendingEvaluation",
        "WaitingForQuota",
        "ExceedsMaxQuota",
        "NoMatchingFlavor",
        "WaitingForDevices",
        "ExceedsCardCapacity",
        "TopologyPlacementFailed",
        "WaitingForPreemptedWorkloads",
        "Misconfigured",
        "Suspended",
    ],
)
@pytest.mark.parametrize("granular", [True, False])
def test_who_was_tried_in_vain_is_pending_whatever_it_failed_by(granular: bool, reason: str) -> None:
    room = Room(settings(gates={"UnadmittedWorkloadsObservability": granular}), submitted())
    refused = AdmissionRefused(
        workload=KEY, cluster_queue="cq", requeue=RequeueReason.NO_FIT, reason=reason, message="why"
    )
    assert room.tell(refused).told("QuotaReserved") == ("False", reason if granular else "Pending", "why")


def test_who_waits_for_the_pods_of_another_one_says_that_it_waits() -> None:
    refused = AdmissionRefused(
        workload=KEY, cluster_queue="cq", requeue=RequeueReason.GENERIC, reason="WaitingForPodsReady", message="why"
    )
    room = Room(settings(gates={"UnadmittedWorkloadsObservability": False}), submitted(), refused)
    assert room.told("QuotaReserved") == ("False", "Waiting", "why")
