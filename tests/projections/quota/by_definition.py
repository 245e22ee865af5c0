"""What a quota tree says, by the rules in docs/rules/quota.md alone: each question is answered from the facts anew.

It knows nothing of the code that it judges: nothing is kept, and what is unlimited is infinite.
"""

from collections.abc import Iterator, Mapping
from math import inf

from events.amount import UNLIMITED
from events.quota import ClusterQueueObserved, CohortObserved, Quota

Place = tuple[str, str]
"""`queue` or `cohort`, and its name."""
Item = tuple[str, str]
"""Flavor and resource."""


class ByDefinition:
    """Queues and cohorts that are there, and what each queue's workloads hold, also of queues that are not there."""

    def __init__(
        self,
        queues: Mapping[str, ClusterQueueObserved],
        cohorts: Mapping[str, CohortObserved],
        held: Mapping[tuple[str, Item], int],
    ) -> None:
        self.queues, self.cohorts, self.held = queues, cohorts, dict(held)
        named = {queue.cohort for queue in queues.values()} | {one.parent for one in cohorts.values()}
        names = sorted((named | set(cohorts)) - {""})
        self.places: list[Place] = [
            *(("queue", name) for name in sorted(queues)),
            *(("cohort", name) for name in names),
        ]
        """Every queue, and every cohort that is there or named by somebody."""
        self.children = {
            place: [one for one in self.places if self.parent(one) == place] for place in reversed(self.places)
        }

        self._quotas = {
            (kind, name, flavor.flavor, quota.resource): quota
            for kind, observed in (("queue", queues), ("cohort", cohorts))
            for name, one in observed.items()
            for group in one.groups
            for flavor in group.flavors
            for quota in flavor.quotas
        }

    def parent(self, place: Place) -> Place | None:
        kind, name = place
        if kind == "queue":
            cohort = self.queues[name].cohort
            return ("cohort", cohort) if cohort else None
        above = self._above(name)
        return ("cohort", above) if above and not self.cyclic(name) else None

    def _above(self, cohort: str) -> str:
        return self.cohorts[cohort].parent if cohort in self.cohorts else ""

    def cyclic(self, cohort: str) -> bool:
        """Whether one walks up from it for ever."""
        for _ in range(len(self.cohorts) + 1):
            cohort = self._above(cohort)
        return bool(cohort)

    def path(self, place: Place) -> list[Place]:
        above = self.parent(place)
        return [place, *(self.path(above) if above else [])]

    def leaves(self, place: Place) -> Iterator[str]:
        """The queues at and below a place."""
        if place[0] == "queue":
            yield place[1]
        for child in self.children[place]:
            yield from self.leaves(child)

    def height(self, place: Place) -> int:
        return max((1 + self.height(child) for child in self.children[place]), default=0)

    def quota(self, place: Place, item: Item) -> Quota | None:
        return self._quotas.get((*place, *item))

    def nominal(self, place: Place, item: Item) -> float:
        quota = self.quota(place, item)
        return 0 if quota is None else _infinite(quota.nominal)

    def subtree(self, place: Place, item: Item) -> float:
        lent = (less(self.subtree(one, item), self.local(one, item)) for one in self.children[place])
        return self.nominal(place, item) + sum(lent)

    def local(self, place: Place, item: Item) -> float:
        quota = self.quota(place, item)
        if quota is None or quota.lending_limit is None:
            return 0
        return max(0, less(self.subtree(place, item), quota.lending_limit))

    def usage(self, place: Place, item: Item) -> float:
        if place[0] == "queue":
            return self.held.get((place[1], item), 0)
        return sum(max(0, self.usage(one, item) - self.local(one, item)) for one in self.children[place])

    def local_available(self, place: Place, item: Item) -> float:
        return max(0, self.local(place, item) - self.usage(place, item))

    def available(self, place: Place, item: Item) -> float:
        free = self._available(place, item)
        return max(0, free) if place[0] == "queue" else free

    def _available(self, place: Place, item: Item) -> float:
        above, subtree, usage = self.parent(place), self.subtree(place, item), self.usage(place, item)
        if above is None:
            return less(subtree, usage)
        local = self.local(place, item)
        room = less(subtree, local) - max(0, usage - local) + self._borrowing_limit(place, item)
        return self.local_available(place, item) + min(self._available(above, item), room)

    def potential(self, place: Place, item: Item) -> float:
        above, subtree = self.parent(place), self.subtree(place, item)
        if above is None:
            return subtree
        most = self.local(place, item) + self.potential(above, item)
        return min(most, subtree + self._borrowing_limit(place, item))

    def _borrowing_limit(self, place: Place, item: Item) -> float:
        quota = self.quota(place, item)
        return inf if quota is None or quota.borrowing_limit is None else _infinite(quota.borrowing_limit)

    def borrows_with(self, place: Place, item: Item, amount: float) -> bool:
        return self.usage(place, item) + amount > self.subtree(place, item)

    def borrowed(self, place: Place, item: Item) -> float:
        return max(0, self.usage(place, item) - self.subtree(place, item))

    def lowest_that_fits(self, queue: Place, item: Item, amount: int) -> tuple[int, bool]:
        """How high one has to climb to a place that holds the amount within its own, and whether there is more above."""
        rest: float = amount
        for place in self.path(queue):
            if not self.borrows_with(place, item, rest):
                return self.height(place), self.parent(place) is not None
            rest -= self.local_available(place, item)
        return self.height(self.path(queue)[-1]), False


def less(left: float, right: float) -> float:
    """What is unlimited stays so, whatever is taken of it."""
    return left if left == inf else left - right


def finite(amount: float) -> int:
    """An amount in the words of the code."""
    return UNLIMITED if amount == inf else int(amount)


def _infinite(amount: int) -> float:
    return inf if amount == UNLIMITED else amount
