"""Who waits with cards set aside has them found anew when HAMi's configuration lets his pods ask for others.

Rule: docs/rules/devices.md#config
"""

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.device import DevicesRefused, DevicesReserved
from events.device_config import DeviceConfigObserved, VendorConfig
from events.quota import AdmissionCheckObserved, CheckRule
from events.settings import HamiSettings, SettingsObserved
from events.workload import CheckReported, CheckState, CheckStatus, WorkloadSubmitted
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.admitter.decide import Admitter
from tests.stories.small_world import CORES, GPU, MEMORY, Story, job, platform, queue

NAMES = VendorConfig(word="NVIDIA", count=GPU, memory=MEMORY, percent="nvidia.com/gpumem-percentage", cores=CORES)


def config(factor: int, *, name: str = "hami-scheduler-device") -> DeviceConfigObserved:
    return DeviceConfigObserved(namespace="kube-system", name=name, vendors=(replace(NAMES, factor=factor),))


def waits_for_a_check(*asked: WorkloadSubmitted, cards: int = 2) -> Story:
    """Who has quota and cards, and waits for a check of his queue."""
    checked = replace(queue("cq", nominal=8), checks=(CheckRule(name="approval"),))
    check = AdmissionCheckObserved(name="approval", controller="somebody")
    told = Story().told(*platform(cards=cards), check, checked, config(1), *asked)
    told.decided()
    return told


def approved(told: Story, name: str) -> Story:
    told.told(CheckReported(workload=f"team/{name}", check=CheckStatus(name="approval", state=CheckState.READY)))
    told.decided()
    return told


def memory_of(told: Story, name: str) -> list[int]:
    devices = told.world.workloads[f"team/{name}"].devices
    return [one.containers[0][0].memory for one in devices.placements] if devices is not None else []


OTHER_MAP = SettingsObserved(hami=HamiSettings(device_config="other"))


@pytest.mark.parametrize("changed", [[config(2)], [config(2, name="other"), OTHER_MAP]])
def test_who_waits_for_a_check_has_his_cards_found_anew_and_runs_with_these(changed: list[AnyEvent]) -> None:
    told = waits_for_a_check(job("a", memory=12000))
    assert memory_of(told, "a") == [12000]
    told.told(*changed)
    copy = world_of(tables_of(told.world))
    assert state_hash(copy) == state_hash(told.world)
    said = told.decided()
    assert [type(one) for one in said] == [DevicesReserved]
    assert memory_of(told, "a") == [24000]
    assert sum(use.memory for use in told.world.cards.used.values()) == 24000
    approved(told, "a")
    assert told.world.workloads["team/a"].admitted and told.decided() == []


def test_who_waits_for_a_check_and_finds_no_such_cards_any_more_waits_in_line() -> None:
    told = waits_for_a_check(job("a", memory=20000))
    refused = [one for one in told.told(config(2)).decided() if isinstance(one, DevicesRefused)]
    assert [one.reason for one in refused] == ["ExceedsCardCapacity"]
    workload = told.world.workloads["team/a"]
    assert workload.admission is None and not told.world.cards.holdings
    told.told(config(1)).decided()
    assert memory_of(told, "a") == [20000]


def test_who_runs_keeps_what_he_has_and_who_asks_for_the_same_is_left_alone() -> None:
    told = waits_for_a_check(job("a", memory=20000), job("b", memory=12000))
    approved(told, "a")
    assert told.world.workloads["team/a"].admitted
    told.told(config(2)).decided()
    assert memory_of(told, "a") == [20000] and memory_of(told, "b") == [24000]
    other = replace(config(2), vendors=(*config(2).vendors, replace(NAMES, word="DCU", count="x/n", memory="x/m")))
    assert told.told(other).decided() == []


def test_cards_that_were_only_proposed_with_the_quota_are_not_given_by_another_configuration() -> None:
    told = Story().told(*platform(cards=1), config(1), job("a", memory=12000))
    told.deciders.remove(next(one for one in told.deciders if isinstance(one, Admitter)))
    told.decided()
    told.commits += 1
    position = LogPosition(partition="LOG_0", sequence=told.commits, at=told.at)
    for event in Admitter().decide(told.world, position):
        evolve(told.world, event, position)
    assert told.world.workloads["team/a"].admission is not None and told.world.workloads["team/a"].devices is None
    told.told(config(2)).decided()
    assert memory_of(told, "a") == [24000]
