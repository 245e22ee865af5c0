"""Cards of pods that are done are free at once, as their quota is, while the others of their job go on.

Rule: docs/rules/devices.md#done-pods
"""

import pytest
from msgspec.structs import replace

from events.control import ObjectRemoved
from events.device import DevicesReserved, PodCardsAssigned, PodObserved
from events.workload import PodsReclaimed, WorkloadFinished, WorkloadSubmitted
from tests.stories.small_world import Story, job, platform

WIDE = 30000
"""MiB: one pod a card."""


def runs(asked: WorkloadSubmitted, *, cards: int, nominal: int = 8) -> Story:
    """A job whose pods run, each with the cards that it was told."""
    told = Story().told(*platform(cards=cards, nominal=nominal), asked)
    told.decided()
    placements = told.world.workloads["team/a"].devices
    assert placements is not None
    for index, one in enumerate(placements.placements):
        gated = PodObserved(
            namespace="team", name=f"p{index}", uid=f"u{index}", workload="team/a", pod_set="main", gated=True
        )
        told.told(gated).decided()
        told.told(replace(gated, gated=False, node="n1", phase="Running", shares=one.containers)).decided()
    return told


def of_kind(asked: WorkloadSubmitted, kind: str) -> WorkloadSubmitted:
    assert asked.owner is not None
    return replace(asked, owner=replace(asked.owner, kind=kind))


def ended(told: Story, index: int, phase: str = "Succeeded") -> Story:
    return told.told(replace(told.world.pods[f"team/p{index}"], phase=phase))


def reclaimed(count: int) -> PodsReclaimed:
    return PodsReclaimed(workload="team/a", counts={"main": count})


def placed(told: Story, workload: str = "team/a") -> list[tuple[int, str]]:
    """Of each placement its index, and the card that it is on."""
    devices = told.world.workloads[workload].devices
    return [] if devices is None else [(one.index, one.containers[0][0].uuid) for one in devices.placements]


@pytest.mark.parametrize("kind", ["Job", "Pod"])
@pytest.mark.parametrize("first", ["pod", "job"])
def test_the_cards_of_a_pod_that_is_done_are_given_to_who_waits_for_them_whichever_is_seen_first(
    first: str, kind: str
) -> None:
    told = runs(of_kind(job("a", count=3, memory=WIDE), kind), cards=3)
    before = placed(told)
    told.told(job("b", memory=WIDE)).decided()
    assert not told.world.workloads["team/b"].admitted
    if first == "pod":
        assert ended(told, 1).decided() == [], "its job may run another one in its place"
        told.told(reclaimed(1)).decided()
    else:
        told.told(reclaimed(1)).decided()
        assert placed(told) == before, "the pod may still be there"
        ended(told, 1).decided()
    assert placed(told) == [before[0], before[2]]
    assert told.world.workloads["team/b"].admitted and placed(told, "team/b") == [(0, before[1][1])]


def test_no_more_cards_are_free_than_quota_was_given_back_for_however_many_pods_have_succeeded() -> None:
    told = runs(job("a", count=3, memory=WIDE), cards=3)
    before = placed(told)
    ended(ended(told, 0), 1).told(reclaimed(1)).decided()
    assert placed(told) == before[1:]
    assert ended(told, 2).decided() == [] and placed(told) == before[1:]
    told.told(reclaimed(2)).decided()
    assert placed(told) == before[2:]


def test_pods_on_the_same_card_free_as_many_shares_of_it_as_are_done() -> None:
    told = runs(job("a", count=2, memory=16000), cards=1)
    ended(told, 0).told(reclaimed(1)).decided()
    assert len(placed(told)) == 1
    told.told(job("b", memory=16000)).decided()
    assert told.world.workloads["team/b"].admitted


def test_cards_that_a_pod_still_holds_stay_though_its_job_says_that_all_are_done() -> None:
    told = runs(job("a", count=2, memory=16000), cards=1)
    ended(told, 0).told(reclaimed(2)).decided()
    assert len(placed(told)) == 1
    ended(told, 1).decided()
    assert placed(told) == []


@pytest.mark.parametrize("failed", [0, 1])
def test_what_a_pod_has_that_failed_stays_for_the_one_in_its_place_which_is_told_it_also_if_it_is_the_last(
    failed: int,
) -> None:
    told = runs(job("a", count=2, memory=WIDE), cards=2)
    before = placed(told)
    ended(ended(told, 1 - failed), failed, "Failed").told(reclaimed(1)).decided()
    assert placed(told) == [before[failed]]
    again = PodObserved(namespace="team", name="again", uid="again", workload="team/a", pod_set="main", gated=True)
    said = told.told(again).decided()
    assert [(one.pod, one.index) for one in said if isinstance(one, PodCardsAssigned)] == [("again", failed)]


@pytest.mark.parametrize("kind", ["JobSet", "TrainJob", "AppWrapper", "RayJob", "PyTorchJob"])
def test_the_cards_of_a_job_that_may_begin_anew_as_a_whole_stay_until_it_is_over(kind: str) -> None:
    told = runs(of_kind(job("a", count=2, memory=WIDE), kind), cards=2)
    before = placed(told)
    said = ended(told, 0).told(reclaimed(1)).decided()
    assert placed(told) == before and not any(isinstance(one, DevicesReserved) for one in said)


def test_a_job_that_begins_anew_as_a_whole_has_its_cards_of_before_though_others_have_its_quota() -> None:
    told = runs(of_kind(job("a", count=2, memory=WIDE), "JobSet"), cards=3, nominal=4)
    before = placed(told)
    told.told(job("b", memory=WIDE), job("c", memory=WIDE)).decided()
    assert told.world.workloads["team/b"].admission is None
    ended(told, 0).told(reclaimed(1)).decided()
    assert placed(told, "team/b") == [(0, "GPU-0")], "of the quota that was given back, with a card that nobody had"
    assert told.world.workloads["team/c"].admission is None
    for index in range(2):
        told.told(ObjectRemoved(kind="Pod", namespace="team", name=f"p{index}"))
    again = [
        PodObserved(
            namespace="team",
            name=f"again{index}",
            uid=f"again{index}",
            workload="team/a",
            pod_set="main",
            gated=True,
            completion_index=index,
        )
        for index in range(2)
    ]
    said = told.told(*again).decided()
    assert [(one.pod, one.index) for one in said if isinstance(one, PodCardsAssigned)] == [("again0", 0), ("again1", 1)]
    assert placed(told) == before


def test_all_cards_are_free_when_all_pods_are_done_though_nobody_has_said_yet_that_the_job_is_over() -> None:
    told = runs(job("a", count=2, memory=WIDE), cards=2)
    ended(ended(told, 0), 1).told(reclaimed(2)).decided()
    assert placed(told) == []
    told.told(job("b", count=2, memory=WIDE)).decided()
    assert told.world.workloads["team/b"].admitted
    told.told(WorkloadFinished(workload="team/a", reason="Succeeded")).decided()
    assert len(placed(told, "team/b")) == 2
