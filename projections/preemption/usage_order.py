"""The order in which holders of one queue have to make room, where past usage counts.

Rule: docs/rules/fair-sharing.md#usage-victims
"""

from events.event import Millis
from projections.fair_sharing.past_usage import usage_ranks
from projections.fair_sharing.state import LedgerState
from projections.fair_sharing.usage_mode import by_usage
from projections.quota.holders import HolderOrder


def in_order_of_usage(world: LedgerState, cluster_queue: str, row: list[HolderOrder], at: Millis) -> list[HolderOrder]:
    """Those of the local queue that has used the most come first; elsewhere the row stays as it is."""
    if not by_usage(world, cluster_queue):
        return row
    local_queues = {order[3]: world.workloads[order[3]].local_queue for order in row}
    ranks = usage_ranks(world, local_queues.values(), at)
    return sorted(row, key=lambda order: (-ranks[local_queues[order[3]]], order))
