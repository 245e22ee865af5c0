"""The accountant that fails on one card, pod, node, flavor or owner sets just that aside, on record, and decides the others."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from events.catalogue import Decision
from events.control import ObjectRemoved
from events.device import (
    AllocationStale,
    CapacityShort,
    CardReturned,
    DevicesRegistered,
    DevicesReleased,
    DriftDetected,
    NodeObserved,
    PluginLost,
)
from events.quota import FlavorObserved
from events.setting_aside import SetAside
from events.settings import DevicePolicy
from events.workload import WorkloadDeleted
from services.accountant import differences, release, service, shortages
from tests.stories.small_world import Story, job, platform, queue
from tests.stories.test_cards_over_time import pod, registered


def failing(monkeypatch: pytest.MonkeyPatch, module: object, name: str, on: Callable[..., bool]) -> None:
    """Have a function of a module fail where its arguments are such."""
    works: Callable[..., Any] = getattr(module, name)

    def fails(*args: Any) -> Any:
        if on(*args):
            raise ZeroDivisionError("bad")
        return works(*args)

    monkeypatch.setattr(module, name, fails)


def aside(said: list[Any]) -> list[SetAside]:
    return [one for one in said if isinstance(one, SetAside)]


def named(said: list[Any]) -> list[tuple[str, str, str, str, str]]:
    return [(one.workload, one.node, one.card, one.pod, one.flavor) for one in aside(said)]


def of(said: list[Decision], kind: type) -> list[Any]:
    return [one for one in said if isinstance(one, kind)]


def test_a_card_on_which_comparing_fails_is_left_alone_until_it_is_registered_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Story().told(*platform(), pod("thief", "GPU-0"), pod("other", "GPU-1"))
    with monkeypatch.context() as patched:
        failing(patched, differences, "card_findings", lambda *args: args[2] == "GPU-0")
        said = told.decided()
        assert named(said) == [("", "", "GPU-0", "", "")]
        assert aside(said)[0].reason == "ZeroDivisionError: bad"
        assert [one.card for one in of(said, DriftDetected)] == ["GPU-1"]
        assert not told.decided()
    told.told(replace(registered(), soft_split=True))
    assert [one.card for one in of(told.decided(), DriftDetected)] == ["GPU-0"]
    assert not told.world.aside


def test_a_card_whose_return_fails_keeps_no_other_out_of_service(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Story().told(*platform(), registered(0, 1), registered())
    told.decided()
    failing(monkeypatch, service, "due", lambda known: known is told.world.cards.care.health["GPU-0"])
    said: list[Any] = told.later(60_000)
    assert named(said) == [("", "", "GPU-0", "", "")]
    assert [one.card for one in of(said, CardReturned)] == ["GPU-1"]


def test_a_node_whose_silent_plugin_can_not_be_told_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Story().told(
        *platform(), NodeObserved(name="n2"), DevicesRegistered(node="n2", cards=(), silent=("NVIDIA",))
    )
    told.told(registered(silent=("NVIDIA",))).decided()
    failing(monkeypatch, service, "_lost", lambda node, *_: node == "n1")
    said: list[Any] = told.later(60_000)
    assert named(said) == [("", "n1", "", "", "")]
    assert [one.node for one in of(said, PluginLost)] == ["n2"]


def test_a_pod_that_can_not_be_judged_hides_no_other_that_is_overdue(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Story().told(*platform(), pod("a", "GPU-0", terminating=True), pod("b", "GPU-1", terminating=True))
    told.decided()
    failing(monkeypatch, differences, "_stale", lambda _, pod, *__: pod == "team/a")
    said: list[Any] = told.later(60_000)
    assert named(said) == [("", "", "", "team/a", "")]
    assert [one.pod for one in of(said, AllocationStale)] == ["team/b"]
    assert not told.decided()


def test_a_flavor_that_can_not_be_added_up_hides_no_shortage_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Story().told(*platform(nominal=1000))
    told.told(FlavorObserved(name="v100", node_labels={"card": "v100"}, device_policy=DevicePolicy.WARN))
    told.told(FlavorObserved(name="bad", node_labels={"card": "v100"}, device_policy=DevicePolicy.WARN))
    more = queue("else", nominal=1000)
    (group,) = more.groups
    told.told(replace(more, groups=(replace(group, flavors=(replace(group.flavors[0], flavor="bad"),)),)))
    failing(monkeypatch, shortages, "offers", lambda _, flavor: flavor == "bad")
    said = told.decided()
    assert named(said) == [("", "", "", "", "bad")]
    assert {one.flavor for one in of(said, CapacityShort)} == {"v100"}


def test_an_owner_that_is_gone_and_can_not_be_released_is_told_once_and_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Story().told(*platform(), job("bad"), job("good"))
    told.decided()
    failing(monkeypatch, release, "release_proof", lambda _workloads, _cards, holding: holding.workload == "team/bad")
    told.told(WorkloadDeleted(workload="team/bad"), WorkloadDeleted(workload="team/good"))
    said = told.decided()
    assert named(said) == [("team/bad", "", "", "", "")]
    assert [one.workload for one in of(said, DevicesReleased)] == ["team/good"]
    assert not told.told(ObjectRemoved(kind="Pod", namespace="team", name="none")).told(job("next")).world.aside
    assert named(told.decided()) == [("team/bad", "", "", "", "")], "tried again, and set aside again"
