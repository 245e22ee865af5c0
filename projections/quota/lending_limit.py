"""What a queue or cohort keeps for itself of its quota: all beyond its `lendingLimit` (docs/rules/quota.md#lending-limit)."""

from events.amount import subtract
from projections.quota.node import Node


def keep_beyond_lending_limit(node: Node) -> None:
    """Set what of the node's subtree is its own alone, by column; where no limit is set all of it may be lent."""
    for column, quota in node.quotas.items():
        if quota.lending_limit is not None:
            node.local[column] = max(0, subtract(node.subtree[column], quota.lending_limit))
