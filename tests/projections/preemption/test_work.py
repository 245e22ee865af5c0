"""How many holders a search for victims looks at: what it must not look at may be a hundred times what it needs."""

from collections.abc import Sequence

import pytest

from events.quota import PreemptionPolicy
from events.settings import SettingsObserved
from projections.fair_sharing.share import Share
from projections.preemption import fair_targets
from projections.preemption.classic import find_victims
from projections.preemption.fair import find_victims as find_fair_victims
from projections.quota.columns import FlavorResource, Usage
from projections.quota.node import Node
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


@pytest.mark.parametrize("queues", [20, 80])
def test_under_fair_sharing_a_share_is_reckoned_again_only_where_a_victim_changes_it(
    monkeypatch: pytest.MonkeyPatch, queues: int
) -> None:
    asked, works = 0, fair_targets.share_of

    def counted(node: Node, names: Sequence[FlavorResource]) -> Share:
        nonlocal asked
        asked += 1
        return works(node, names)

    monkeypatch.setattr(fair_targets, "share_of", counted)
    at = CohortWorld(SettingsObserved(fair_sharing=True))
    at.queue("own", queues)
    for number in range(queues):
        at.queue(f"of-{number}", 0)
        at.running(f"one-{number}", f"of-{number}", 1)
    at.waiting("asker", 5)
    assert len(find_fair_victims(at.world, at.ask("asker", "own", queues))) == queues
    assert asked <= 2 * queues + 1, "once for each queue, and once more for each victim"
