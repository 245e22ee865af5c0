"""A pod that hangs while it is being deleted, on a node out of reach, holds its quota until it is ended by force."""

import pytest

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.archive.history import History
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_partition
from tests.stage.stage import NODES, PODS, Stage, job

pytestmark = pytest.mark.bare_server

GATE = SettingsObserved(gates={"FailureRecoveryPolicy": True})
REASON = "KueueForcefullyDeleted"


def forcible(name: str, seconds: int) -> JsonObject:
    found = job(name, seconds)
    found["spec"]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/safe-to-forcefully-delete"] = "true"
    return found


def pods_of(stage: Stage, name: str) -> list[JsonObject]:
    return [one for one in stage.of("pods") if one["metadata"]["name"].startswith(name)]


async def test_its_quota_comes_back_when_it_says_that_this_is_safe(stage: Stage) -> None:
    stage.serve(settings=GATE)
    await stage.add(forcible("stuck", 36000))
    await stage.until(lambda: stage.running("stuck"))
    (pod,) = pods_of(stage, "stuck")
    silent = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    await stage.client.merge(NODES, "", "n1", {"status": {"conditions": [silent]}}, subresource="status")
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
    await stage.client.merge(NODES, "", "n1", {"spec": {"taints": taints}})
    await stage.client.delete(PODS, "default", pod["metadata"]["name"])
    await stage.until(lambda: conditions(stage).get("Evicted") == ("True", "NodeFailures"))
    assert held(stage) and pods_of(stage, "stuck"), "nobody can say that it has ended"
    await stage.until(lambda: not pods_of(stage, "stuck"))
    await stage.until(lambda: told(stage) == [(pod["metadata"]["uid"], "Warning")])
    await stage.until(lambda: not held(stage))
    assert await stage.stored(gone)


def gone(entries: History) -> bool | None:
    """Once nothing is known of pods that hang or were ended, with every decision decided again."""
    fold, found = fold_partition(PARTITION, entries, verify=True)
    assert not found.differences
    return (not fold.world.forced_pods and not fold.world.hanging_pods) or None


def told(stage: Stage) -> list[tuple[str, str]]:
    found = [one for one in stage.of("events") if one["reason"] == REASON]
    return [(one["involvedObject"]["uid"], one["type"]) for one in found]


def conditions(stage: Stage) -> dict[str, tuple[str, str]]:
    (workload,) = stage.of("workloads.kueue.x-k8s.io")
    return {one["type"]: (one["status"], one["reason"]) for one in workload["status"].get("conditions") or ()}


def held(stage: Stage) -> bool:
    return conditions(stage)["QuotaReserved"][0] == "True"
