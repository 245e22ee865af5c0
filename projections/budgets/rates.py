"""What is used of budgets in an hour: amounts of resources, and what they cost at the prices of the check of budgets.

Rule: docs/rules/budgets.md#money
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from events.budget import MONEY_PARTS, PRICE_PARTS, BudgetPrice
from events.quantity import units_per_one
from events.quota import AdmissionCheckObserved, ClusterQueueObserved

CONTROLLER = "kuelog.io/budget"
"""The controller of the built-in check."""

Held = tuple[str, str, int]
"""Flavor, resource and amount."""
_PRICED_BY = {"memory": 2**30, "ephemeral-storage": 2**30}
"""Units of the quota in the unit that is priced, where that is not one of the resource."""


def own_checks(
    cluster_queues: Mapping[str, ClusterQueueObserved], checks: Mapping[str, AdmissionCheckObserved], cluster_queue: str
) -> list[str]:
    """The budget checks of a queue, which kuelog answers itself."""
    queue = cluster_queues.get(cluster_queue)
    if queue is None or not queue.checks:
        return []
    found = (checks.get(rule.name) for rule in queue.checks)
    return sorted(check.name for check in found if check is not None and check.controller == CONTROLLER)


def prices_of(
    cluster_queues: Mapping[str, ClusterQueueObserved], checks: Mapping[str, AdmissionCheckObserved], cluster_queue: str
) -> tuple[BudgetPrice, ...]:
    """The prices that a queue's budgets in money go by: those of its checks of budgets."""
    return tuple(price for name in own_checks(cluster_queues, checks, cluster_queue) for price in checks[name].prices)


def rates(held: Iterable[Held], prices: Sequence[BudgetPrice]) -> dict[str, int]:
    """What is held, by resource; and what it costs in an hour, by currency, in millionths, rounded once, half to even."""
    found: dict[str, int] = {}
    costs: dict[str, Fraction] = {}
    for flavor, resource, amount in held:
        found[resource] = found.get(resource, 0) + amount
        for price in _fitting(prices, flavor, resource):
            cost = Fraction(amount * price.price, _PRICED_BY.get(resource, units_per_one(resource)))
            costs[price.currency] = costs.get(price.currency, Fraction(0)) + cost
    for currency, cost in costs.items():
        found[currency] = round(cost * MONEY_PARTS / PRICE_PARTS)
    return dict(sorted(found.items()))


def priced(prices: Iterable[BudgetPrice], currency: str) -> frozenset[str]:
    """The resources that cost anything in a currency."""
    return frozenset(one.resource for one in prices if one.currency == currency)


def _fitting(prices: Sequence[BudgetPrice], flavor: str, resource: str) -> list[BudgetPrice]:
    """One price for each currency: that of the flavor, or else that of all."""
    found: dict[str, BudgetPrice] = {}
    for one in prices:
        if one.resource == resource and one.flavor in ("", flavor):
            known = found.get(one.currency)
            if known is None or (one.flavor and not known.flavor):
                found[one.currency] = one
    return list(found.values())
