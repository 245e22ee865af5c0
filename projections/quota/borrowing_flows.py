"""Who borrows from whom in a cohort: what its members take beyond their own, and who leaves it unused.

Rule: docs/rules/quota.md#the-tree. Quota that members lend is one pool: nothing says whose part of it a borrower uses. So a
cohort's own quota is taken to serve first, then what its members leave unused, in proportion, and what is left comes
from the cohort above. Bills go by another rule, for which a cohort lends as
its queues do (`projections/billing/quota/quota_book.py`).
"""

from collections.abc import Iterator

import msgspec

from events.amount import UNLIMITED, in_proportion
from projections.quota.columns import Column
from projections.quota.node import Node
from projections.quota.tree import QuotaTree


class MemberFlow(msgspec.Struct, frozen=True, kw_only=True):
    """What one member of a cohort gives to its pool or takes from it, in the units of the resource."""

    node: str
    """Its key; the cohort itself where it gives its own quota, the one above where it gives through the cohort."""
    amount: int


class Lending(msgspec.Struct, frozen=True, kw_only=True):
    """What is borrowed in one cohort of one resource of one flavor: what is given and taken is the same in sum."""

    cohort: str
    flavor: str
    resource: str
    borrowed: int
    gives: tuple[MemberFlow, ...]
    takes: tuple[MemberFlow, ...]


def lending(quota: QuotaTree) -> list[Lending]:
    """All that is borrowed, by cohort, flavor and resource; nothing where everybody gets along with their own."""
    found = [
        one
        for _, cohort in sorted(quota.cohorts.items())
        for column, names in enumerate(quota.columns.names)
        if (one := _in_cohort(cohort, column, names)) is not None
    ]
    return sorted(found, key=lambda one: (one.cohort, one.flavor, one.resource))


def _in_cohort(cohort: Node, column: Column, names: tuple[str, str]) -> Lending | None:
    members = [member for _, member in sorted(cohort.children.items()) if column < len(member.usage)]
    takes = [MemberFlow(node=one.key, amount=over) for one in members if (over := _borrowed(one, column)) > 0]
    borrowed = sum(part.amount for part in takes)
    if not borrowed:
        return None
    return Lending(
        cohort=cohort.name,
        flavor=names[0],
        resource=names[1],
        borrowed=borrowed,
        gives=tuple(_givers(cohort, members, column, borrowed)),
        takes=tuple(takes),
    )


def _givers(cohort: Node, members: list[Node], column: Column, borrowed: int) -> Iterator[MemberFlow]:
    own = min(borrowed, _bounded(cohort.nominal[column], borrowed))
    if own:
        yield MemberFlow(node=cohort.key, amount=own)
    unused = {one.key: left for one in members if (left := _unused(one, column, borrowed)) > 0}
    wanted = min(borrowed - own, sum(unused.values()))
    for key, amount in in_proportion(wanted, unused).items():
        if amount:
            yield MemberFlow(node=key, amount=amount)
    if (above := borrowed - own - wanted) and cohort.parent is not None:
        yield MemberFlow(node=cohort.parent.key, amount=above)


def _borrowed(node: Node, column: Column) -> int:
    return 0 if node.subtree[column] == UNLIMITED else node.borrowed(column)


def _unused(node: Node, column: Column, most: int) -> int:
    """What a member leaves to the others of what it lends."""
    if node.subtree[column] == UNLIMITED:
        return most if node.local[column] != UNLIMITED else 0
    lends = node.subtree[column] - node.local[column]
    return lends - min(lends, max(0, node.usage[column] - node.local[column]))


def _bounded(amount: int, most: int) -> int:
    return most if amount == UNLIMITED else max(0, amount)
