"""Pods that somebody lets through their gate by hand, before anybody has let them in.

Rule: docs/rules/eviction.md#by-hand
"""

import pytest

from events.json_object import JsonObject
from tests.stage.stage import Stage
from tests.stories.test_pods import PODS, Pods, member, pod

BIG = {"nvidia.com/gpumem": "30000", "nvidia.com/gpucores": "90"}
UNGATED: JsonObject = {"spec": {"schedulingGates": []}}


class Ends(Pods):
    """Pods, and why they were ended."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.reasons: dict[str, str] = {}

    def ended(self, *names: str) -> bool:
        """Whether these are ended by now, or gone."""
        for name in names:
            found = self.of(name)
            for one in found.get("status", {}).get("conditions") or ():
                if one["type"] == "TerminationTarget":
                    self.reasons[name] = one["reason"]
        return all(not self.of(name) or "deletionTimestamp" in self.of(name)["metadata"] for name in names)


async def test_a_pod_that_waits_and_is_let_through_by_hand_is_ended(stage: Stage) -> None:
    stage.serve()
    pods = Ends(stage)
    await stage.client.create(PODS, "default", pod("first", **BIG))
    await pods.until(lambda: pods.phase("first") == "Running")
    await stage.client.create(PODS, "default", pod("second", **BIG))
    await pods.until(lambda: len(pods.workloads()) == 2)
    await stage.client.merge(PODS, "default", "second", UNGATED)
    await pods.until(lambda: pods.ended("second"))
    assert pods.reasons == {"second": "NotAdmitted"} and pods.phase("first") == "Running"


async def test_pods_of_a_group_that_waits_and_are_let_through_by_hand_are_ended_and_the_others_wait_on(
    stage: Stage,
) -> None:
    stage.serve()
    pods = Ends(stage)
    await stage.client.create(PODS, "default", pod("first", **BIG))
    await pods.until(lambda: pods.phase("first") == "Running")
    for name in ("g-0", "g-1", "g-2"):
        await stage.client.create(PODS, "default", member(name, "gang", 3, **BIG))
    await pods.until(lambda: "gang" in pods.workloads())
    for name in ("g-0", "g-1"):
        await stage.client.merge(PODS, "default", name, UNGATED)
    await pods.until(lambda: pods.ended("g-0", "g-1"))
    assert not pods.ended("g-2") and pods.phase("first") == "Running"


@pytest.mark.parametrize("total", [1, 2])
async def test_pods_that_are_not_understood_and_are_let_through_by_hand_are_ended(stage: Stage, total: int) -> None:
    stage.serve()
    pods = Ends(stage)
    names = [f"odd-{number}" for number in range(total)]
    for name in names:
        value = member(name, "gang", total) if total > 1 else pod(name)
        value["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "nobody-knows"
        await stage.client.create(PODS, "default", value)
    for name in names:
        await stage.client.merge(PODS, "default", name, UNGATED)
    await pods.until(lambda: pods.ended(*names))
    assert set(pods.reasons.values()) == {"NoMatchingWorkload"}


async def test_a_pod_of_a_group_that_is_not_whole_is_ended_when_it_is_let_through_by_hand(stage: Stage) -> None:
    stage.serve()
    pods = Ends(stage)
    await stage.client.create(PODS, "default", member("g-0", "gang", 2))
    await stage.client.merge(PODS, "default", "g-0", UNGATED)
    await pods.until(lambda: pods.ended("g-0"))
    assert pods.reasons == {"g-0": "NoMatchingWorkload"}


async def test_pods_whose_queue_is_not_there_are_ended_when_they_are_let_through_by_hand(stage: Stage) -> None:
    stage.serve()
    pods = Ends(stage)
    names = ("g-0", "g-1")
    for name in names:
        value = member(name, "gang", 2)
        value["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "nowhere"
        await stage.client.create(PODS, "default", value)
    await pods.until(lambda: bool(pods.workloads().get("gang", {}).get("status")))
    for name in names:
        await stage.client.merge(PODS, "default", name, UNGATED)
    await pods.until(lambda: pods.ended(*names))
    assert set(pods.reasons.values()) == {"NotAdmitted"}
