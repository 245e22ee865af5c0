"""What falls due in a world, though nothing happens."""

from events.budget import Budget, BudgetPeriod
from events.quota import NamespaceObserved
from events.subjects import FACTS
from projections.budgets.budget_usage import over, settled, with_running
from projections.calendar import DAY
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from tests.services.queue_manager.waiting_room import KEY, SPEC, Room, submitted

MIDNIGHT = 20_000 * DAY


def test_a_budget_whose_end_is_folded_and_taken_back_day_by_day_falls_due_no_more_often_than_that() -> None:
    world = World()
    observed = NamespaceObserved(name="team", budget=Budget(period=BudgetPeriod.DAY, limits={"cpu": 1}))
    evolve(world, observed, LogPosition(partition=FACTS, sequence=1, at=MIDNIGHT))
    world.put_budget("Namespace/team", with_running(world.budgets["Namespace/team"], {"cpu": 1000}))
    world.settle()
    for day in range(1, 7):
        for _ in range(4):  # Others store their decisions first.
            mark = world.mark()
            world.advance(MIDNIGHT + day * DAY)
            world.take_back(mark)
    assert len(world._deadlines) < 100


def test_who_waits_for_a_budget_is_looked_at_when_a_fact_begins_its_next_period_though_that_is_used_up_at_once() -> (
    None
):
    room = Room(NamespaceObserved(name="team", budget=Budget(period=BudgetPeriod.DAY, limits={"cpu": 1})))
    room.tell(submitted(SPEC))
    world = room.world
    used_up = settled(with_running(world.budgets["Namespace/team"], {"cpu": 1000}), MIDNIGHT + DAY - 1)
    world.put_budget("Namespace/team", used_up)
    list(world.work.take_all("queue-manager"))
    world.put_budget("Namespace/team", settled(used_up, MIDNIGHT + 2 * DAY - 1))
    assert over(used_up) == over(world.budgets["Namespace/team"]) == ["cpu"]
    assert KEY in world.work.waiting("queue-manager")
