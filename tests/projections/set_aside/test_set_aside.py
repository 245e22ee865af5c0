"""What a service has set aside is shown, kept in snapshots, and taken up again when it or its queues change."""

import pytest

from events.control import ObjectRemoved
from events.event import Millis
from events.quota import LocalQueueObserved
from events.rules import RULES
from events.setting_aside import SetAside
from events.workload import ConditionStatus
from projections.evolve import evolve
from projections.folds.set_aside import SET_ASIDE
from projections.log_position import LogPosition
from projections.set_aside.records import Scope, is_aside
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.world import World
from tests.stories.small_world import job, platform


def place(at: Millis) -> LogPosition:
    return LogPosition(partition="LOG_0", sequence=at, at=at)


@pytest.fixture
def world() -> World:
    made = World()
    for number, fact in enumerate([*platform(nominal=4), job("a"), job("b")]):
        evolve(made, fact, place(number + 1))
    made.settle()
    return made


def left(key: str = "team/a", rules: str = RULES) -> SetAside:
    return SetAside(service="admitter", workload=key, reason="KeyError: x", rules=rules)


def test_a_workload_that_is_set_aside_is_told_and_a_change_of_its_queue_takes_it_up(world: World) -> None:
    evolve(world, left(), place(50))
    assert is_aside(world.aside, "admitter", Scope.WORKLOAD, "team/a")
    assert not is_aside(world.aside, "preemptor", Scope.WORKLOAD, "team/a")
    shown = world.workloads["team/a"].conditions[SET_ASIDE]
    assert shown.status is ConditionStatus.TRUE and "KeyError: x" in shown.message
    evolve(world, job("b", count=2), place(51))
    assert is_aside(world.aside, "admitter", Scope.WORKLOAD, "team/a"), "another workload does not concern it"
    door = world.local_queues[world.workloads["team/a"].local_queue]
    evolve(world, LocalQueueObserved(namespace=door.namespace, name=door.name, cluster_queue="other"), place(52))
    assert not world.aside
    assert world.workloads["team/a"].conditions[SET_ASIDE].status is ConditionStatus.FALSE


def test_other_rules_try_again_what_earlier_ones_have_set_aside(world: World) -> None:
    evolve(world, left(rules="0"), place(50))
    assert world.aside and not is_aside(world.aside, "admitter", Scope.WORKLOAD, "team/a")


def test_a_tree_and_a_node_are_set_aside_until_something_of_theirs_changes(world: World) -> None:
    tree = world.quota.trees()[0]
    evolve(world, SetAside(service="admitter", tree=tree, reason="r", rules=RULES), place(50))
    evolve(world, SetAside(service="accountant", node="n1", reason="r", rules=RULES), place(51))
    assert is_aside(world.aside, "admitter", Scope.TREE, tree) and is_aside(world.aside, "accountant", Scope.NODE, "n1")
    for observed in list(world.cluster_queues.values()):
        evolve(world, observed, place(52))
    assert [one.scope for one in world.aside.values()] == [Scope.NODE]
    evolve(world, ObjectRemoved(kind="Node", name="n1"), place(53))
    assert not world.aside


def test_it_is_undone_with_the_trail_and_comes_back_from_a_snapshot(world: World) -> None:
    before = state_hash(world)
    mark = world.mark()
    evolve(world, left(), place(50))
    aside = state_hash(world)
    assert aside != before
    world.settle()
    assert state_hash(world_of(tables_of(world))) == aside
    mark = world.mark()
    evolve(world, ObjectRemoved(kind="Cohort", name="x"), place(51))
    assert not world.aside
    world.undo(mark)
    assert state_hash(world) == aside
