"""Who was let in when no cards were chosen runs on when they are.

Rule: docs/rules/devices.md#let-in-before
"""

from collections.abc import Callable

import pytest

from events.card import CardShare
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.device import DevicesRefused, PodObserved
from events.device_config import DeviceConfigObserved, VendorConfig
from events.settings import SettingsObserved
from tests.stories.small_world import CORES, GPU, MEMORY, Story, job, platform

NAMES = VendorConfig(word="NVIDIA", count=GPU, memory=MEMORY, percent="nvidia.com/gpumem-percentage", cores=CORES)
OTHER_NAMES = VendorConfig(word="NVIDIA", count="a/gpu", memory="a/mem", percent="a/percent", cores="a/cores")


def config(vendor: VendorConfig) -> DeviceConfigObserved:
    return DeviceConfigObserved(namespace="kube-system", name="hami-scheduler-device", vendors=(vendor,))


def registered_later(cards: int) -> tuple[list[AnyEvent], AnyEvent]:
    *others, cards_of_node = platform(cards=cards)
    return others, cards_of_node


def switched_on_later(cards: int) -> tuple[list[AnyEvent], AnyEvent]:
    return [*platform(cards=cards), SettingsObserved(devices=False)], SettingsObserved()


def named_later(cards: int) -> tuple[list[AnyEvent], AnyEvent]:
    return [*platform(cards=cards), config(OTHER_NAMES)], config(NAMES)


def named_by_default_later(cards: int) -> tuple[list[AnyEvent], AnyEvent]:
    return [*platform(cards=cards), config(OTHER_NAMES)], ObjectRemoved(
        kind="ConfigMap", namespace="kube-system", name="hami-scheduler-device"
    )


LATER = pytest.mark.parametrize("later", [registered_later, switched_on_later, named_later, named_by_default_later])


def runs(before: list[AnyEvent], *, memory: int) -> Story:
    told = Story().told(*before, job("a", memory=memory))
    told.decided()
    assert told.world.workloads["team/a"].admitted
    return told


def goes_on(told: Story) -> bool:
    workload = told.world.workloads["team/a"]
    refused = any(isinstance(one, DevicesRefused) for one in told.decisions)
    return workload.admitted and not workload.evicted and not refused


@LATER
def test_who_runs_on_his_cards_keeps_them_when_they_become_known_and_nothing_more_is_set_aside(
    later: Callable[[int], tuple[list[AnyEvent], AnyEvent]],
) -> None:
    before, comes = later(1)
    told = runs(before, memory=30000)
    share = CardShare(uuid="GPU-0", vendor="NVIDIA", memory=30000, cores=50)
    told.told(
        PodObserved(
            namespace="team",
            name="p",
            uid="p",
            workload="team/a",
            pod_set="main",
            node="n1",
            phase="Running",
            shares=((share,),),
        )
    )
    told.told(comes, job("b", memory=30000)).decided()
    assert goes_on(told)
    assert told.world.cards.used["GPU-0"].memory == 30000
    assert not told.world.workloads["team/b"].admitted


@LATER
def test_who_runs_is_not_stopped_for_cards_that_there_are_not(
    later: Callable[[int], tuple[list[AnyEvent], AnyEvent]],
) -> None:
    before, comes = later(1)
    told = runs(before, memory=99000)
    told.told(comes).decided()
    assert goes_on(told)
    told.told(job("b", memory=99000)).decided()
    assert not told.world.workloads["team/b"].admitted, "who comes now is asked"


@LATER
def test_who_has_no_cards_yet_is_given_some_where_there_are(
    later: Callable[[int], tuple[list[AnyEvent], AnyEvent]],
) -> None:
    before, comes = later(1)
    told = runs(before, memory=30000)
    told.told(comes).decided()
    devices = told.world.workloads["team/a"].devices
    assert goes_on(told) and devices is not None
    assert [one.containers[0][0].uuid for one in devices.placements] == ["GPU-0"]
