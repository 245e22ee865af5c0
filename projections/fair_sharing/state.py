"""The part of the world that says what local queues have used lately."""

from typing import Protocol

from projections.fair_sharing.ledger import Entered, Ledger
from projections.quota.state import QuotaState


class LedgerState(QuotaState, Protocol):
    """Past usage, where admission fair sharing counts it."""

    ledgers: dict[str, Ledger]
    """By local queue."""
    entered: dict[str, Entered]
    """What is counted there, by workload."""
