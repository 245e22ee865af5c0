"""Budgets as Prometheus metrics: what is used of each in its period, and what may be.

A share of a user has no series of its own, as no label names a user: only how many users have used up theirs is told.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from events.event import Millis
from ops.production.metrics.families import Values, gauge, ratio
from projections.budgets.amounts import parts_of
from projections.budgets.budget_usage import allowed, limits_of, over, settled
from projections.budgets.budget_usage import used as used_of
from projections.budgets.scopes import whole_of
from projections.world import World


class BudgetMetrics(Collector):
    """Collects from the world that it is given at the moment; nothing while there is none."""

    def __init__(self, world: Callable[[], World | None], now: Callable[[], Millis]) -> None:
        self._world, self._now = world, now

    def collect(self) -> Iterator[Metric]:
        """All budgets, as they stand now: those who run use more of them all the time."""
        world = self._world()
        if world is None:
            return
        now = self._now()
        used: list[tuple[Values, float]] = []
        limits: list[tuple[Values, float]] = []
        spent: Counter[Values] = Counter()
        for scope, known in sorted(world.budgets.items()):
            usage, (kind, _, name) = settled(known, now), whole_of(scope).partition("/")
            if usage.user is not None:
                spent.update((kind, name, resource) for resource in over(usage))
                continue
            for resource in sorted(limits_of(usage).limits):
                where, parts = (kind, name, resource), parts_of(resource)
                used.append((where, ratio(Fraction(used_of(usage, resource), parts))))
                limits.append((where, ratio(Fraction(allowed(usage, resource), parts))))
            if usage.budget.each_user is not None:
                spent.update(dict.fromkeys(((kind, name, one) for one in usage.budget.each_user.limits), 0))
        yield gauge("kuelog_budget_used", used)
        yield gauge("kuelog_budget_limit", limits)
        yield gauge("kuelog_budget_users_spent", sorted(spent.items()))
