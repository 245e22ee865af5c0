"""The victims of the classic search, by the rules in docs/rules/preemption.md alone: no order is kept, nothing is spared.

Every candidate is written down and sorted; whether something fits is asked of the definitions of the quota tree.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from events.event import Millis
from events.quota import ClusterQueueObserved, PreemptionPolicy, StopPolicy
from projections.preemption.candidates import Variant
from projections.workloads.lifecycle import Workload
from tests.projections.quota.by_definition import ByDefinition, Item, Place

NEVER = PreemptionPolicy.NEVER


class Holder(NamedTuple):
    """A workload that holds quota."""

    workload: Workload
    queue: str
    usage: dict[Item, int]


class Asker(NamedTuple):
    """A workload that needs room in a queue, at a time."""

    workload: Workload
    queue: str
    usage: dict[Item, int]
    at: Millis


class Chosen(NamedTuple):
    """A workload that may have to go, and by which right."""

    holder: Holder
    variant: Variant


class ClassicByDefinition:
    """One search among these holders."""

    def __init__(self, tree: ByDefinition, holders: Sequence[Holder], asker: Asker) -> None:
        self.tree, self.holders, self.asker = tree, holders, asker
        self.here: Place = ("queue", asker.queue)
        self.needed = [item for item, amount in asker.usage.items() if amount > tree.available(self.here, item)]
        self.rules = tree.queues[asker.queue].preemption

    def victims(self) -> list[Chosen]:
        """Those of the first attempt that finds enough."""
        candidates = self.candidates()
        found = (self.attempt(candidates, borrowing=borrowing) for borrowing in self.attempts(candidates))
        return next((victims for victims in found if victims), [])

    def candidates(self) -> list[Chosen]:
        """All that may be preempted, in order (docs/rules/preemption.md#candidates)."""
        own = [one for one in self.holders if one.queue == self.asker.queue]
        found = [
            *(Chosen(one, Variant.WITHIN_QUEUE) for one in own if self.may_go(one, self.rules.within_cluster_queue)),
            *(one for one in self.foreign() if self.may_go(one.holder, self.rules.reclaim_within_cohort)),
        ]
        rights = {Variant.HIERARCHICAL: 0, Variant.WITHIN_QUEUE: 2}
        return sorted(
            found, key=lambda one: (not one.holder.workload.evicted, rights.get(one.variant, 1), *age(one.holder))
        )

    def foreign(self) -> Iterator[Chosen]:
        """Who stands below an ancestor, in a subtree that borrows something of what is needed, in a queue that is not stopped."""
        rest = {item: float(amount) for item, amount in self.asker.usage.items()}
        visited, advantage = self.here, self.fits_within(self.here, rest)
        for ancestor in self.tree.path(self.here)[1:]:
            rest = {item: max(0, amount - self.tree.local_available(visited, item)) for item, amount in rest.items()}
            seen = set(self.tree.leaves(visited))
            for one in self.holders:
                path = self.tree.path(("queue", one.queue))
                if (
                    one.queue in seen
                    or self.tree.queues[one.queue].stop is not StopPolicy.NONE
                    or ancestor not in path
                    or not all(map(self.borrows, path[: path.index(ancestor)]))
                ):
                    continue
                yield Chosen(one, Variant.HIERARCHICAL if advantage else self.by_priority(one))
            advantage = advantage or self.fits_within(ancestor, rest)
            visited = ancestor

    def fits_within(self, place: Place, rest: dict[Item, float]) -> bool:
        return not any(self.tree.borrows_with(place, item, amount) for item, amount in rest.items())

    def borrows(self, place: Place) -> bool:
        return any(self.tree.borrows_with(place, item, 0) for item in self.needed)

    def by_priority(self, one: Holder) -> Variant:
        rule, priority = self.rules.borrow_within_cohort, one.workload.priority
        if rule is None or rule.policy is NEVER or priority >= self.asker.workload.priority:
            return Variant.WITHOUT_BORROWING
        above = rule.max_priority_threshold is not None and priority > rule.max_priority_threshold
        return Variant.WITHOUT_BORROWING if above else Variant.WHILE_BORROWING

    def may_go(self, one: Holder, policy: PreemptionPolicy) -> bool:
        """Whether the policy lets it be preempted (docs/rules/preemption.md#within-queue), nothing protects it, and it does not end anyhow."""
        uses = any(one.usage.get(item, 0) > 0 for item in self.needed)
        allowed = self.policy_lets(policy, self.asker.workload, one.workload)
        before = one.workload.key == self.asker.workload.spec.replaces
        return allowed and uses and not before and not self.protected(one.workload, self.tree.queues[one.queue])

    def policy_lets(self, policy: PreemptionPolicy, mine: Workload, theirs: Workload) -> bool:
        return {
            PreemptionPolicy.NEVER: False,
            PreemptionPolicy.ANY: True,
            PreemptionPolicy.LOWER_PRIORITY: theirs.priority < mine.priority,
            PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY: (theirs.priority, -theirs.created_at)
            < (mine.priority, -mine.created_at),
        }[policy]

    def protected(self, one: Workload, queue: ClusterQueueObserved) -> bool:
        rules, at = queue.preemption, self.asker.at
        young = one.admitted_at is not None and at < one.admitted_at + rules.minimum_runtime
        cooling = one.stops.preempted_at is not None and at < one.stops.preempted_at + rules.cooldown
        return one.spec.never_preempt or (not one.evicted and (young or cooling))

    def attempts(self, candidates: Sequence[Chosen]) -> tuple[bool, ...]:
        """Whether one may end up borrowing, attempt by attempt (docs/rules/preemption.md#search)."""
        foreign = [one for one in candidates if one.holder.queue != self.asker.queue]
        at_nominal = any(self.tree.usage(self.here, item) >= self.tree.nominal(self.here, item) for item in self.needed)
        if not foreign or (self.forbidden and at_nominal):
            return (True,)
        if self.forbidden and not any(one.variant is Variant.HIERARCHICAL for one in foreign):
            return (False, True)
        return (True, False)

    @property
    def forbidden(self) -> bool:
        rule = self.rules.borrow_within_cohort
        return rule is None or rule.policy is NEVER

    def attempt(self, candidates: Sequence[Chosen], *, borrowing: bool) -> list[Chosen]:
        gone: list[Chosen] = []
        try:
            for one in candidates:
                if borrowing and one.variant is Variant.WITHOUT_BORROWING:
                    continue
                if one.holder.queue != self.asker.queue and not all(map(self.borrows, self.below_meeting(one.holder))):
                    continue
                self.change(one.holder, -1)
                gone.append(one)
                if self.fits(borrowing=borrowing):
                    return self.filled_back(gone, borrowing=borrowing)
            return []
        finally:
            for one in gone:
                self.change(one.holder, 1)

    def below_meeting(self, one: Holder) -> list[Place]:
        """A queue and the cohorts above it, below the first one that it has in common with the asker."""
        mine = self.tree.path(self.here)
        return [place for place in self.tree.path(("queue", one.queue)) if place not in mine]

    def fits(self, *, borrowing: bool) -> bool:
        usage = self.asker.usage.items()
        within = borrowing or not any(self.tree.borrows_with(self.here, item, amount) for item, amount in usage)
        return within and all(amount <= self.tree.available(self.here, item) for item, amount in usage)

    def filled_back(self, gone: list[Chosen], *, borrowing: bool) -> list[Chosen]:
        """From the last but one to the first, whoever need not go stays; the last of those who go takes his place."""
        for index in reversed(range(len(gone) - 1)):
            self.change(gone[index].holder, 1)
            if self.fits(borrowing=borrowing):
                gone[index] = gone[-1]
                gone.pop()
            else:
                self.change(gone[index].holder, -1)
        return list(gone)

    def change(self, one: Holder, times: int) -> None:
        for item, amount in one.usage.items():
            held = self.tree.held
            held[one.queue, item] = held.get((one.queue, item), 0) + times * amount


def age(one: Holder) -> tuple[int, int, str]:
    """Lower priority first, then who got quota later."""
    assert one.workload.admission is not None
    return one.workload.priority, -one.workload.admission.reserved_at, one.workload.uid
