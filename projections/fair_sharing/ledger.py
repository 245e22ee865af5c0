"""The record of the past usage of a local queue (docs/rules/fair-sharing.md#usage-fades)."""

import msgspec

from events.event import Millis
from events.settings import AdmissionFairSharing
from projections.fair_sharing.decay import BITS, faded

Fixed = dict[str, int]
"""Amounts by resource, in steps of 2^-64 of its unit."""


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of one local queue as it stood at a time."""

    at: Millis
    consumed: Fixed = {}
    """What was used, faded; at `at`."""
    penalties: Fixed = {}
    """What is counted for workloads that have got quota and are not admitted yet."""
    running: dict[str, int] = {}
    """What admitted workloads use now, in units."""


class Entered(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted for one workload, and in whose ledger."""

    local_queue: str
    penalty: Fixed | None = None
    """The penalty in steps of 2^-64, until it is admitted."""
    running: dict[str, int] = {}
    """Its usage in units, from its admission on."""


def settled(ledger: UsageRecord, rule: AdmissionFairSharing, at: Millis) -> UsageRecord:
    """The ledger as it stands at a later time."""
    if at <= ledger.at:
        return ledger
    resources = sorted({*ledger.consumed, *ledger.running})
    consumed = {
        resource: faded(
            ledger.consumed.get(resource, 0),
            ledger.running.get(resource, 0) << BITS,
            at - ledger.at,
            rule.half_life,
        )
        for resource in resources
    }
    return UsageRecord(at=at, consumed=consumed, penalties=ledger.penalties, running=ledger.running)
