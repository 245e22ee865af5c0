"""Trees that share hosts are decided about in one cycle, in one order, whichever of them has its turn (docs/rules/cycle.md#trees-together)."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.event import Millis
from events.setting_aside import SetAside
from events.settings import SettingsObserved
from events.workload import WorkloadDeleted, WorkloadSubmitted
from projections.world import World
from services.admitter import decide as admitter
from services.admitter.entry import QueueHead
from services.admitter.trees_together import trees_together
from tests.services.admitter.test_shared_domains import STRATEGIES, asking, host, queues
from tests.stories.small_world import Story, platform

EITHER = pytest.mark.parametrize("names", [("one", "two"), ("two", "one")], ids=("first", "last"))
TURNS = pytest.mark.parametrize("turn", range(2))
FAIR = pytest.mark.parametrize("fair", [False, True], ids=("classic", "fair"))


def urgent(name: str, queue: str, count: int, priority: int = 9) -> WorkloadSubmitted:
    asked = asking(name, queue, count)
    return replace(asked, spec=replace(asked.spec, priority=priority))


def story(turn: int, *facts: AnyEvent, flavors: tuple[str, str] = ("tas", "tas")) -> Story:
    """Two queues without a cohort on one host; it is the turn of another one with the next decision."""
    told = Story().told(*host(*dict.fromkeys(flavors)), *queues(STRATEGIES[1], *flavors), *facts)
    told.commits = turn
    return told


def let_in(told: Story) -> list[str]:
    return sorted(one.key for one in told.world.workloads.values() if one.admitted)


@FAIR
@EITHER
@TURNS
@pytest.mark.parametrize("flavors", [("tas", "tas"), ("tas", "other")], ids=("one flavor", "the same hosts"))
def test_hosts_go_to_the_higher_priority_in_whichever_tree_it_waits(
    turn: int, names: tuple[str, str], flavors: tuple[str, str], fair: bool
) -> None:
    low, high = names
    told = story(turn, SettingsObserved(fair_sharing=fair), flavors=flavors)
    told.told(asking("low1", low, 2), asking("low2", low, 2), urgent("high", high, 2)).decided()
    assert let_in(told) == ["team/high", "team/low1"]


@TURNS
def test_who_can_not_preempt_keeps_room_from_those_of_another_tree(turn: int) -> None:
    told = story(turn)
    told.told(asking("runs", "two", 2)).decided()
    told.told(asking("small", "two", 2), urgent("large", "one", 4)).decided()
    assert let_in(told) == ["team/runs"]


@TURNS
def test_who_fails_together_is_tried_alone_and_the_tree_at_fault_set_aside(
    turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = admitter.heads

    def fails(world: World, trees: Sequence[str], at: Millis) -> list[QueueHead]:
        if "queue/one" in trees:
            raise ValueError("no order")
        return heads(world, trees, at)

    monkeypatch.setattr(admitter, "heads", fails)
    said = story(turn).told(asking("bad", "one", 1), asking("good", "two", 1), asking("next", "two", 1)).decided()
    assert [one.tree for one in said if isinstance(one, SetAside)] == ["queue/one"]


def test_whatever_comes_in_any_of_them_has_all_of_them_looked_at() -> None:
    told = story(0)
    told.unchecked = True  # What is taken back would have all trees looked at again.
    told.decided()
    for name, queue in (("second", "two"), ("first", "one")):
        told.told(asking(name, queue, 1)).decided()
        assert told.world.workloads[f"team/{name}"].admitted


def test_those_without_a_topology_stay_alone() -> None:
    told = Story().told(*host("tas", "other"), *queues(STRATEGIES[0], "tas", "other"), *platform())
    assert trees_together(told.world) == [("queue/cq",), ("queue/one", "queue/two")]
    assert trees_together(Story().told(*platform()).world) == [("queue/cq",)]


def test_nobody_who_borrows_waits_for_the_owners_of_another_tree() -> None:
    told = story(0)
    one = told.world.cluster_queues["one"]
    quotas = one.groups[0].flavors[0]
    lender = replace(one, cohort="pool")
    nominal = replace(quotas, quotas=(replace(quotas.quotas[0], nominal=0),))
    borrower = replace(one, name="lent", cohort="pool", groups=(replace(one.groups[0], flavors=(nominal,)),))
    local = replace(told.world.local_queues["team/one"], name="lent", cluster_queue="lent")
    told.told(lender, borrower, local)
    told.told(asking("borrows", "lent", 1), *(asking(f"more{number}", "two", 1) for number in range(3))).decided()
    said = [one.workload for one in told.decisions if type(one).__name__ == "QuotaReserved"]
    assert said[:2] == ["team/more0", "team/borrows"]


@pytest.mark.parametrize("cohort", ["", "all"])
def test_who_was_refused_while_room_was_kept_gets_it_when_the_one_that_waited_for_it_is_gone(cohort: str) -> None:
    told = story(0)
    told.told(*(replace(one, cohort=cohort) for one in list(told.world.cluster_queues.values())))
    told.told(asking("runs", "two", 2)).decided()
    told.told(asking("small", "two", 2), urgent("large", "one", 4)).decided()
    assert let_in(told) == ["team/runs"]
    told.told(WorkloadDeleted(workload="team/large")).decided()
    assert let_in(told) == ["team/runs", "team/small"]
