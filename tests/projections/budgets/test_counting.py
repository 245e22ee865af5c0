"""Whom a budget counts: all who hold quota, and nobody who is gone.

Rule: docs/rules/checks.md#budget
"""

import pytest
from msgspec.structs import replace

from events.admission import QuotaReserved
from events.budget import Budget, BudgetPeriod
from events.catalogue import Fact
from events.quota import NamespaceObserved
from events.variants import VariantSubmitted
from events.workload import PodSetAssignment, WorkloadDeleted, WorkloadFinished
from projections.budgets.budget_usage import settled, used
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SPEC, Room, submitted

SCOPE, VARIANT = "Namespace/team", "team/w-variant"
DAY = 24 * 60 * MINUTE


@pytest.mark.parametrize(
    "end", [WorkloadDeleted(workload=KEY), WorkloadFinished(workload=KEY, reason="Succeeded")], ids=["deleted", "over"]
)
def test_a_variant_that_ends_with_its_job_is_counted_no_more(end: Fact) -> None:
    room = Room(
        NamespaceObserved(name="team", budget=Budget(period=BudgetPeriod.DAY, limits={"cpu": 100_000})),
        submitted(),
        VariantSubmitted(
            workload=VARIANT, parent=KEY, flavor="f", uid="v", created_at=0, spec=replace(SPEC, variant_of=KEY)
        ),
        QuotaReserved(
            workload=VARIANT,
            cluster_queue="cq",
            assignments=(PodSetAssignment(name="main", count=1, flavors={"cpu": "f"}, usage={"cpu": 1000}),),
        ),
    )
    assert room.world.budgets[SCOPE].running == {"cpu": 1000}
    room.tell(end)
    assert room.world.budgets[SCOPE].running == {}
    assert not room.world.budgeted


def test_another_period_that_is_told_late_begins_where_what_was_counted_ends() -> None:
    """The clock of what is observed may be behind: nobody is counted for days in which he did not run."""
    week = Budget(period=BudgetPeriod.WEEK, limits={"cpu": 100_000})
    room = Room(NamespaceObserved(name="team", budget=week))
    told_at = room.at
    room.at += 3 * DAY + 5 * MINUTE
    room.tell(
        submitted(),
        QuotaReserved(
            workload=KEY,
            cluster_queue="cq",
            assignments=(PodSetAssignment(name="main", count=1, flavors={"cpu": "f"}, usage={"cpu": 1000}),),
        ),
    )
    now, room.at = room.at, told_at
    room.tell(NamespaceObserved(name="team", budget=replace(week, period=BudgetPeriod.DAY)))
    usage = settled(room.world.budgets[SCOPE], now + MINUTE)
    assert (usage.began, used(usage, "cpu")) == (now - now % DAY, 1000 * MINUTE)
