"""The record of the past usage of a local queue (docs/rules/fair-sharing.md#usage-fades)."""

import msgspec

from events.event import Millis

Fixed = dict[str, int]
"""Amounts by resource, in steps of 2^-64 of its unit."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
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
