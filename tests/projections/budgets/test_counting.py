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
from tests.services.queue_manager.waiting_room import KEY, SPEC, Room, submitted

SCOPE, VARIANT = "Namespace/team", "team/w-variant"


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
