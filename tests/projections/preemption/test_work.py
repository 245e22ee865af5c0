"""How many holders a search for victims looks at: what it must not look at may be a hundred times what it needs."""

from events.quota import PreemptionPolicy
from events.settings import SettingsObserved
from projections.preemption.classic import find_victims
from projections.quota.columns import Usage
from tests.projections.fair_sharing.cohort_world import CohortWorld


class Counted(dict[str, Usage]):
    """What holders use, and how often somebody asked."""

    asked = 0

    def __getitem__(self, key: str) -> Usage:
        self.asked += 1
        return super().__getitem__(key)


def counted(at: CohortWorld, queue: str) -> Counted:
    holding = at.world.holding[queue]
    holding.usage = Counted(holding.usage)
    return holding.usage


def test_nobody_of_a_priority_that_the_policy_spares_is_looked_at() -> None:
    at = CohortWorld(SettingsObserved())
    at.queue("a", 101, within=PreemptionPolicy.LOWER_PRIORITY)
    at.running("low", "a", 1, 0)
    for number in range(100):
        at.running(f"high-{number}", "a", 1, 9)
    at.waiting("asker", 5)
    asked = counted(at, "a")
    assert not find_victims(at.world, at.ask("asker", "a", 2))
    assert asked.asked == 1


def test_a_queue_that_may_not_preempt_for_borrowing_looks_at_no_other_when_its_own_quota_is_used_up() -> None:
    at = CohortWorld(SettingsObserved())
    at.queue("a", 2, within=PreemptionPolicy.LOWER_PRIORITY)
    at.queue("b", 1)
    at.queue("spare", 100)
    at.running("mine", "a", 2)
    for number in range(101):
        at.running(f"lent-{number}", "b", 1)
    at.waiting("asker", 5)
    asked = counted(at, "b")
    assert [one.workload.name for one in find_victims(at.world, at.ask("asker", "a", 2))] == ["mine"]
    assert not asked.asked
