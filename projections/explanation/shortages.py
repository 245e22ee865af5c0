"""What a workload requests compared with what is available, flavor by flavor, and which queues borrow what it lacks."""

from collections.abc import Iterator

import msgspec

from events.amount import UNLIMITED
from projections.explanation.words import Borrower, Shortage, in_numbers
from projections.flavors.plan import Plan
from projections.quota.columns import Column
from projections.quota.node import Node
from projections.quota.state import QuotaState

_NAMED = 5
"""So many of a borrower's workloads are named."""


def shortages(world: QuotaState, plan: Plan, node: Node) -> tuple[Shortage, ...]:
    """Every flavor that the plan would look at, with the numbers as the tree stands."""
    found: list[Shortage] = []
    seen: set[Column] = set()
    asked = totals(plan)
    for one in _columns(plan):
        column = one.column
        if column in seen:
            continue
        seen.add(column)
        available, potential = node.available(column), node.potential(column)
        amount, nominal, used = asked[column], node.nominal[column], node.usage[column]
        missing = 0 if available == UNLIMITED else max(amount - available, 0)
        found.append(
            Shortage(
                flavor=one.flavor,
                resource=one.resource,
                asked=amount,
                available=in_numbers(available),
                missing=missing,
                potential=in_numbers(potential),
                nominal=in_numbers(nominal),
                used=used,
                lent=_lent(node, column),
                obstacle=one.obstacle,
                borrowers=tuple(borrowers(world, node, column)) if missing else (),
            )
        )
    return tuple(found)


def totals(plan: Plan) -> dict[Column, int]:
    """What all pod sets ask for together of each column that they might use."""
    found: dict[Column, int] = {}
    for part in plan.parts:
        for group in part.groups:
            for option in group.options:
                for amount, column in zip(group.amounts, option.columns, strict=True):
                    found[column] = found.get(column, 0) + amount
    return found


def borrowers(world: QuotaState, node: Node, column: Column) -> Iterator[Borrower]:
    """The other queues of the tree that use more than their own, most first, with their workloads."""
    for leaf in node.borrowers(column):
        holders = world.holders(leaf.name)
        orders = sorted([*holders.leaving, *holders.staying])
        keys = [order[3] for order in orders if holders.usage[order[3]].get(column)]
        yield Borrower(cluster_queue=leaf.name, over=leaf.borrowed(column), workloads=tuple(keys[:_NAMED]))


def _lent(node: Node, column: Column) -> int:
    """Of what the queue owns and does not use itself, the part that it could not get back just now."""
    free = node.subtree[column] - node.usage[column]
    available = node.available(column)
    return 0 if free <= 0 or node.subtree[column] == UNLIMITED else max(free - available, 0)


class PlannedColumn(msgspec.Struct, frozen=True):
    """A flavor and resource that a plan may use."""

    flavor: str
    resource: str
    column: Column
    obstacle: str
    """Why the flavor does not suit; empty where it does."""


def _columns(plan: Plan) -> Iterator[PlannedColumn]:
    for part in plan.parts:
        for group in part.groups:
            for option in group.options:
                for resource, column in zip(group.resources, option.columns, strict=True):
                    yield PlannedColumn(option.flavor, resource, column, option.unsuitable)
