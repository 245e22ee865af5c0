"""The part of the world that says who waits where, with all that decides about the order and the end of waiting."""

from typing import Protocol

from projections.checks.state import DispatchState
from projections.devices.state import DeviceState
from projections.fair_sharing.state import LedgerState
from projections.partitions.state import PartitionState
from projections.queues.pending_queues import PendingQueues
from projections.set_aside.state import SetAsideState


class QueueState(DeviceState, PartitionState, LedgerState, DispatchState, SetAsideState, Protocol):
    """The pending queues, beside the quota, cards, past usage and checks that workloads wait for."""

    lines: PendingQueues

    def stamp(self, cluster_queue: str) -> int:
        """A number that grows whenever something may let in what was refused in this queue.

        Rule: docs/rules/queues.md#retry
        """
        ...
