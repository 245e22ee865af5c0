"""The part of the world that says what local queues have used lately."""

from typing import Protocol

from projections.fair_sharing.ledger import Entered, UsageRecord
from projections.quota.state import QuotaState


class LedgerState(QuotaState, Protocol):
    """Past usage, where admission fair sharing counts it."""

    ledgers: dict[str, UsageRecord]
    """By local queue."""
    entered: dict[str, Entered]
    """What is counted there, by workload."""
