"""Devices that claims hold as lines of a bill: entered when a claim gives them up, and given back with an attempt that was cut short.

While no price list of the log prices devices nothing is entered at all (docs/rules/billing.md#claimed).
"""

import msgspec

from events.billing import LineKind
from events.event import Millis
from projections.billing.entries.attempts import Attempt, wasted
from projections.billing.entries.entry import Cause, DeviceEntry, Holder, Waste, entry_id
from projections.billing.entries.kept_entries import KeptEntries
from projections.billing.entries.ledger_scope import LedgerScope
from projections.log_position import LogPosition


class HeldDevices(msgspec.Struct, frozen=True, gc=False):
    """So many devices of one class that a claim holds, and what the class counts as."""

    claim: str
    device_class: str
    resource: str
    count: int


class DeviceLines:
    """The entries within a window, and what was held for nothing."""

    def __init__(self, scope: LedgerScope) -> None:
        self._priced = scope.prices_devices
        self.kept = KeptEntries[DeviceEntry](scope)
        self.wastes: list[Waste] = []
        """What attempts that were cut short had held, in the window or asked for."""
        self._over: dict[str, list[DeviceEntry]] = {}
        """By workload that holds quota: entries of its attempt that have ended."""
        self._cut_short: dict[str, tuple[Attempt, str]] = {}
        """By workload its attempt that was cut short, and whose queue it was for, while devices of it may still be held."""

    def forget(self, workload: str) -> None:
        """What a workload holds from now on is of another attempt: it has quota anew, or is deleted and its last pod is gone."""
        self._over.pop(workload, None)
        self._cut_short.pop(workload, None)

    def add(self, held: HeldDevices, holder: Holder, began: Cause, ended: Cause | None, until: Millis) -> None:
        """Enter what a claim held until it was given up, or up to where the log reaches."""
        if not self._priced or until <= began.at:
            return
        kind = LineKind.USAGE if holder.attempt else LineKind.UNRESERVED
        devices = (held.claim, held.device_class, held.resource)
        entry = DeviceEntry(
            id=entry_id(kind, holder, began, holder.workload, holder.attempt, *devices),
            kind=kind,
            holder=holder,
            claim=held.claim,
            device_class=held.device_class,
            resource=held.resource,
            count=held.count,
            since=began.at,
            until=until,
            began=began,
            ended=ended,
        )
        self.kept.keep(entry)
        if ended is None or not holder.attempt:
            return
        attempt, queue = self._cut_short.get(holder.workload, (None, ""))
        if attempt is not None and attempt.holder.attempt == holder.attempt:
            self._waste(
                attempt, queue, LogPosition(partition=ended.partition, sequence=ended.sequence, at=ended.at), (entry,)
            )
        else:
            self._over.setdefault(holder.workload, []).append(entry)

    def release(self, attempt: Attempt, position: LogPosition, preemptor_queue: str, *, going_on: bool) -> None:
        """An attempt holds no quota any more; where it was cut short, what it had is given back, and what it still holds when that ends."""
        workload = attempt.holder.workload
        held = tuple(self._over.pop(workload, ()))
        if attempt.stopped and not attempt.finished and self._priced:
            self._waste(attempt, preemptor_queue, position, held)
            if going_on:
                self._cut_short[workload] = (attempt, preemptor_queue)

    def _waste(self, attempt: Attempt, queue: str, at: LogPosition, held: tuple[DeviceEntry, ...]) -> None:
        if held and self.kept.keeps_waste(at.at, held):
            self.wastes.append(wasted(attempt, at, queue, devices=held))
