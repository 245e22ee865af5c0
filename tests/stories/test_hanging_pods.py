"""Pods that were stopped and hang on a node out of reach: others get their quota, nobody their cards.

Rule: docs/rules/eviction.md#hanging-pods
"""

import pytest

from tests.stage.stage import NODES, Stage
from tests.stories.test_pod_groups import WORKLOADS, condition, created, replays
from tests.stories.test_pods import Pods, member, pod

pytestmark = pytest.mark.bare_server


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a group"])
async def test_quota_comes_back_while_pods_hang_and_their_workload_waits_until_they_are_gone(
    stage: Stage, *, alone: bool
) -> None:
    stage.serve()
    pods = Pods(stage)
    names = ["stuck"] if alone else ["stuck", "stuck-too"]
    await created(stage, *([pod("stuck")] if alone else [member(one, "gang", 2) for one in names]))
    await pods.until(lambda: all(pods.phase(one) == "Running" for one in names))
    (workload,) = pods.workloads()
    silent = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    await stage.client.merge(NODES, "", "n1", {"status": {"conditions": [silent]}}, subresource="status")
    await stage.client.merge(WORKLOADS, "default", workload, {"spec": {"active": False}})
    await pods.until(lambda: all("deletionTimestamp" in pods.of(one)["metadata"] for one in names))
    assert condition(pods, workload, "QuotaReserved")[0] == "True"
    await pods.until(lambda: condition(pods, workload, "QuotaReserved")[0] == "False")
    assert all(pods.phase(one) == "Running" for one in names)
    await stage.client.merge(WORKLOADS, "default", workload, {"spec": {"active": True}})
    # Whoever is slower than a node may be silent deactivates a workload that is evicted already, for its node.
    await pods.until(lambda: condition(pods, workload, "Requeued")[1] in {"Reactivated", "NodeFailures"})
    await stage.clock.sleep(3600)
    assert condition(pods, workload, "QuotaReserved")[0] == "False", "its pods are there still"
    await replays(stage)
