"""The dominant resource share of a node: how much it borrows of what it could get, by its weight.

Rule: docs/rules/fair-sharing.md#share

Shares are exact: a fraction of integers, compared by cross-multiplication. A node within its own quota has the share 0.
"""

from collections.abc import Collection, Sequence

import msgspec

from events.amount import UNLIMITED, add
from events.quota import Weight
from projections.quota.columns import Column, FlavorResource
from projections.quota.node import Node

PER_MILLE = 1000
"""Kueue's scale: a node that borrows all that can be lent has the share 1000."""
SHOWN_DIGITS = 18
"""Digits after the point with which a share is shown to people."""


class Share(msgspec.Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """A share, `numerator/denominator` in per mille and by weight; by nothing when `infinite`, where no weight divides."""

    numerator: int = 0
    denominator: int = 1
    infinite: bool = False
    """The node has the weight 0 and borrows: more than every finite share."""
    resource: str = ""
    """The resource of which it borrows the most; empty when nothing of what it borrows can be lent."""
    borrowed: tuple[Column, ...] = ()
    """What it borrows at all."""

    @property
    def borrowing(self) -> bool:
        """Whether the node uses more than its own of anything."""
        return bool(self.borrowed)

    def borrowing_on(self, columns: Collection[Column]) -> bool:
        """Whether it uses more than its own of one of these columns."""
        return any(column in columns for column in self.borrowed)

    def rounded(self) -> int:
        """What status.fairSharing.weightedShare shows: rounded up, and the largest number there for an infinite share."""
        return UNLIMITED if self.infinite else -(-self.numerator // self.denominator)

    def as_text(self) -> str:
        """The share in digits; cut off after many, because a fraction may have no end."""
        if self.infinite:
            return "+Inf"
        whole, rest = divmod(self.numerator, self.denominator)
        digits = str(rest * 10**SHOWN_DIGITS // self.denominator).rjust(SHOWN_DIGITS, "0").rstrip("0")
        return f"{whole}.{digits}" if digits else str(whole)

    def __lt__(self, other: "Share") -> bool:
        if self.infinite is not other.infinite:
            return other.infinite
        return self.numerator * other.denominator < other.numerator * self.denominator

    def __le__(self, other: "Share") -> bool:
        return not other < self

    def __gt__(self, other: "Share") -> bool:
        return other < self

    def __ge__(self, other: "Share") -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Share) and not self < other and not other < self

    __hash__ = None  # pyright: ignore[reportAssignmentType] - equal shares may be written as different fractions


NO_SHARE = Share()


def share_of(node: Node, names: Sequence[FlavorResource]) -> Share:
    """The share of a node as the tree stands; `names` holds flavor and resource of each column."""
    parent = node.parent
    if parent is None:
        return NO_SHARE
    usage, subtree = node.usage, node.subtree
    borrowed = tuple([column for column in node.declared if usage[column] > subtree[column]])
    if not borrowed:
        return NO_SHARE
    amounts: dict[str, int] = {}
    for column in borrowed:
        resource = names[column][1]
        amounts[resource] = amounts.get(resource, 0) + usage[column] - subtree[column]
    if parent.lendable is None:
        parent.lendable = lendable_by(parent, names)
    most, out_of, dominant = 0, 1, ""
    for resource in sorted(amounts):
        lendable = parent.lendable.get(resource, 0)
        if lendable > 0 and amounts[resource] * out_of > most * lendable:
            most, out_of, dominant = amounts[resource], lendable, resource
    return weighted(most * PER_MILLE, out_of, node.weight, resource=dominant, borrowed=borrowed)


def weighted(
    numerator: int, denominator: int, weight: Weight, *, resource: str = "", borrowed: tuple[Column, ...] = ()
) -> Share:
    """The share of whoever borrows `numerator` of `denominator` in one resource: the ratio divided by the weight, infinite with a weight of 0."""
    if weight.numerator <= 0:
        infinite = numerator > 0
        return Share(
            numerator=numerator, denominator=denominator, infinite=infinite, resource=resource, borrowed=borrowed
        )
    return Share(
        numerator=numerator * weight.denominator,
        denominator=denominator * weight.numerator,
        resource=resource,
        borrowed=borrowed,
    )


def lendable_by(node: Node, names: Sequence[FlavorResource]) -> dict[str, int]:
    """What the children of a node could use at most, by resource, over all flavors. It changes only with quota."""
    found: dict[str, int] = {}
    for column in range(len(node.usage)):
        most = node.potential(column)
        if most:
            resource = names[column][1]
            found[resource] = add(found.get(resource, 0), most)
    return found
