"""Deciders that look at workloads by key give every namespace its turn in a commit.

Rule: docs/rules/log.md#turns-of-namespaces
"""

from collections.abc import Iterator
from typing import Any

import pytest

from events.event import Millis
from events.multikueue import MultiKueueSettings
from events.quota import NamespaceObserved
from events.settings import SettingsObserved
from projections.log_position import LogPosition
from projections.trail import Trail
from projections.work_queue import WorkQueue
from projections.workloads.lifecycle import Workload
from services.accountant import decide as accountant
from services.multikueue import decide as multikueue
from tests.projections.quota.test_adjusted_pods import asking, one, platform
from tests.stories.small_world import Story

MANY = 300


def flooded() -> Story:
    """A platform with so many workloads in a namespace of an early name, and one in another."""
    told = platform("cpu")
    told.told(SettingsObserved(multikueue=MultiKueueSettings()), NamespaceObserved(name="aaa"))
    told.told(*(asking(one({"cpu": 1}), name=f"w{index:04}", namespace="aaa") for index in range(MANY)))
    told.told(asking(one({"cpu": 1}), name="late"))
    return told


def by_key(world: object, workload: Workload, at: Millis = 0) -> Iterator[Any]:
    """A decision about every workload, which is its key."""
    del world, at
    yield workload.key


def nothing(*args: object) -> tuple[()]:
    del args
    return ()


PLACE = LogPosition(partition="LOG_0", sequence=7, at=0)


def test_cards_are_given_in_every_namespace_though_one_has_more_to_decide_than_a_commit_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("evolve", "allocations"):
        monkeypatch.setattr(accountant, name, nothing)
    monkeypatch.setattr(accountant, "assignments", by_key)
    found = accountant.Accountant().decide(flooded().world, PLACE)
    assert len(found) == accountant.MOST_EVENTS and "team/late" in found


def test_other_clusters_are_chosen_in_every_namespace_though_one_has_more_to_decide_than_a_commit_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(multikueue, "evolve", nothing)
    monkeypatch.setattr(multikueue, "reconcile", by_key)
    found = multikueue.MultiKueue().decide(flooded().world, PLACE)
    assert len(found) == multikueue.MOST_EVENTS and "team/late" in found


def order_of(*, idle: int) -> list[str]:
    """In which order is decided about 300 workloads of 60 namespaces, beside others about which nothing is."""
    busy = [f"n{space:02}/w{index}" for space in range(60) for index in range(5)]
    work = WorkQueue(Trail(), dict.fromkeys([*busy, *(f"n{number:03}-idle/w" for number in range(idle))]))
    decided = list[str]()
    for key in work.take_in_turns("reader", decided, 7):
        if "idle" not in key:
            decided.append(key)
    return decided


def test_what_there_is_to_look_at_besides_does_not_change_whose_turn_it_is() -> None:
    assert order_of(idle=0) == order_of(idle=100)
    assert order_of(idle=0)[:100] == sorted(order_of(idle=0))[:100] and order_of(idle=0) != sorted(order_of(idle=0))
