"""Quota as it is taken and given back: each stretch in which a workload holds so much of a resource makes an entry.

Cards are billed as cards, so a resource that counts them makes entries only where a price list names it. While no
price list of the log prices any resource nothing is entered at all (docs/rules/billing.md#quota).
"""

from collections.abc import Mapping

import msgspec

from events.billing import LineKind
from events.event import Millis
from events.pod_set import PodSet
from events.workload import AdoptedStatus, PodSetAssignment
from projections.billing.claims.claim_time import ClaimTime
from projections.billing.entries.attempts import Attempt, wasted
from projections.billing.entries.entry import Cause, DeviceEntry, QuotaEntry, Waste, caused, entry_id
from projections.billing.entries.kept_entries import KeptEntries
from projections.billing.entries.ledger_scope import LedgerScope
from projections.billing.quota.quota_book import QuotaBook
from projections.devices.capacity.offer import meaning_of
from projections.devices.card_config import HAMI
from projections.log_position import LogPosition
from projections.quota.charge_quota import charged_amounts, done_when_let_in, given_back_by, left_done
from projections.quota.columns import FlavorResource
from projections.workloads.slices import counts_of, with_fewer


class _Open(msgspec.Struct, kw_only=True):
    """What a workload holds, and since when."""

    attempt: Attempt
    kind: LineKind
    amounts: dict[FlavorResource, int]
    began: Cause


class _Given(msgspec.Struct, frozen=True):
    """The quota that a workload was let in with, and what it has given back of it since (docs/rules/quota.md#charged-usage)."""

    cluster_queue: str
    assignments: tuple[PodSetAssignment, ...]
    done_before: dict[str, int]
    given_back: dict[str, int] = {}

    @property
    def amounts(self) -> dict[FlavorResource, int]:
        """What is charged by now."""
        return charged_amounts(self.assignments, self.given_back)

    def after(self, done: dict[str, int]) -> "_Given":
        """The same when so many pods of each pod set are done."""
        return msgspec.structs.replace(self, given_back=given_back_by(done, self.done_before, self.given_back))

    def of(self, counts: Mapping[str, int]) -> "_Given":
        """The same for so few pods of each pod set."""
        fewer = tuple(with_fewer(one, counts.get(one.name, one.count)) for one in self.assignments)
        given_back = left_done(self.given_back, counts_of(self.assignments), counts_of(fewer))
        return msgspec.structs.replace(self, assignments=fewer, given_back=given_back)


class _Done(msgspec.Struct, frozen=True, gc=False):
    """How many pods of each pod set are done, as the fact of this number says."""

    number: int
    counts: dict[str, int]


class QuotaSide:
    """Who holds how much of which resource, and the entries that have come of it."""

    def __init__(self, scope: LedgerScope) -> None:
        self.book = QuotaBook(scope.window, scope.cuts)
        self.claimed = ClaimTime(scope)
        """How long claims held the devices that some of it is for."""
        self.config = HAMI
        """Which resources count cards."""
        self.kept = KeptEntries[QuotaEntry](scope)
        self.wastes: list[Waste] = []
        """What attempts that were cut short had held, in the window or asked for."""
        self._priced = scope.priced
        self._given: dict[str, _Given] = {}
        """By workload that holds quota."""
        self._done: dict[str, tuple[_Done, ...]] = {}
        """By workload, how many pods of each pod set were said to be done; the last is what holds."""
        self._open: dict[str, _Open] = {}
        self._over: dict[str, list[QuotaEntry]] = {}
        """By workload that holds quota: entries of its attempt that have ended."""

    def hold(
        self, attempt: Attempt, assignments: tuple[PodSetAssignment, ...], cause: Cause, facts: int | None = None
    ) -> None:
        """An attempt begins, and holds just this. Whoever let it in knew of no fact of a higher number, where that is known."""
        workload = attempt.holder.workload
        told = self._done.get(workload, ())
        before = [one for one in told if facts is None or one.number <= facts]
        given = _Given(attempt.holder.cluster_queue, assignments, before[-1].counts if before else {})
        self._hold(attempt, given.after(told[-1].counts) if told else given, cause)
        if told:
            self._done[workload] = told[-1:]

    def adopt(self, attempt: Attempt, asked: tuple[PodSet, ...], status: AdoptedStatus, cause: Cause) -> None:
        """An attempt goes on that another manager has begun, for a workload that asks for these pods."""
        done = status.reclaimable
        self._done[attempt.holder.workload] = (_Done(0, done),)
        given = _Given(status.cluster_queue, status.assignments, done_when_let_in(asked, status.assignments, done))
        self._hold(attempt, given.after(done), cause)

    def _hold(self, attempt: Attempt, given: "_Given", cause: Cause) -> None:
        workload, queue, amounts = attempt.holder.workload, given.cluster_queue, given.amounts
        self._given[workload] = given
        self.book.hold(workload, queue, amounts, cause.at)
        self.claimed.hold(attempt.holder, cause)
        if not self._priced:
            return
        before = self._open.get(workload)
        if before is not None:
            cause = _not_before(before.began, cause)
            self._close(workload, before, cause)
            self._over.pop(workload, None)
        billed = self._billed(amounts)
        self._open[workload] = _Open(attempt=attempt, kind=attempt.kind, amounts=billed, began=cause)

    def holds(self, workload: str) -> bool:
        """Whether quota of a workload is being billed."""
        return workload in self._given

    def reclaim(self, workload: str, done: dict[str, int], cause: Cause) -> None:
        """So many pods of each pod set are done, and hold nothing any more."""
        known = self._given.get(workload)
        told = (_Done(cause.sequence, done),)
        self._done[workload] = told if known is not None else self._done.get(workload, ()) + told
        if known is not None:
            self._given[workload] = given = known.after(done)
            self._change(workload, given.cluster_queue, given.amounts, cause)

    def replace(self, workload: str, by: str) -> None:
        """Another slice of the same job comes after this one: as many of its pods are done."""
        if workload in self._done:
            self._done[by] = self._done[workload]

    def forget(self, workload: str) -> None:
        """Who comes under the name from now on is somebody else."""
        self._done.pop(workload, None)

    def resize(self, workload: str, counts: dict[str, int], cause: Cause) -> None:
        """It has so few pods of each pod set from now on."""
        known = self._given.get(workload)
        if known is not None:
            self._given[workload] = given = known.of(counts)
            self._change(workload, given.cluster_queue, given.amounts, cause)

    def _change(self, workload: str, queue: str, amounts: dict[FlavorResource, int], cause: Cause) -> None:
        self.book.hold(workload, queue, amounts, cause.at)
        open_, billed = self._open.get(workload), self._billed(amounts)
        if open_ is not None and open_.amounts != billed:
            cause = _not_before(open_.began, cause)
            self._close(workload, open_, cause)
            open_.amounts, open_.began = billed, cause

    def rename(self, workload: str, cause: Cause) -> None:
        """From now on its time is billed under the kind of line that its attempt has come to."""
        open_ = self._open.get(workload)
        if open_ is None or open_.kind is open_.attempt.kind:
            return
        cause = _not_before(open_.began, cause)
        self._close(workload, open_, cause)
        open_.kind, open_.began = open_.attempt.kind, cause

    def found_entry(self, entry: str) -> QuotaEntry | DeviceEntry | None:
        """An entry of quota or of claimed devices by its id, if it was asked for."""
        return self.kept.found.get(entry) or self.claimed.lines.kept.found.get(entry)

    def release(self, workload: str, current: Attempt | None, position: LogPosition, asking: Mapping[str, str]) -> None:
        """It holds nothing any more. `asking` has the cluster queue of each workload that has requested preemption."""
        self._given.pop(workload, None)
        if current is not None:
            self.claimed.release(current, position, asking.get(current.preemptor, ""))
        cause = caused("quota released", position)
        open_ = self._open.pop(workload, None)
        if open_ is not None:
            cause = _not_before(open_.began, cause)
        self.book.release(workload, cause.at)
        if open_ is None:
            return
        self._close(workload, open_, cause)
        held, attempt = tuple(self._over.pop(workload, ())), open_.attempt
        cut_short = attempt.stopped and not attempt.finished and held
        if cut_short and self.kept.keeps_waste(position.at, held):
            self.wastes.append(wasted(attempt, position, asking.get(attempt.preemptor, ""), held))

    def finish(self, at: Millis) -> None:
        """Enter what goes on, as far as the log reaches; nothing may be folded after that."""
        self.book.settle(at)
        self.claimed.finish(at)
        for workload, open_ in sorted(self._open.items()):
            self._close(workload, open_, None, at)

    def _billed(self, amounts: dict[FlavorResource, int]) -> dict[FlavorResource, int]:
        return {
            column: amount
            for column, amount in sorted(amounts.items())
            if amount and (column[1] in self._priced or meaning_of(column[1], self.config) is None)
        }

    def _close(self, workload: str, open_: _Open, cause: Cause | None, at: Millis = 0) -> None:
        began, until = open_.began, cause.at if cause is not None else at
        if until <= began.at:
            return
        holder = open_.attempt.holder
        for (flavor, resource), amount in open_.amounts.items():
            entry = QuotaEntry(
                id=entry_id(open_.kind, holder, began, holder.workload, holder.attempt, flavor, resource),
                kind=open_.kind,
                holder=holder,
                flavor=flavor,
                resource=resource,
                amount=amount,
                since=began.at,
                until=until,
                began=began,
                ended=cause,
            )
            self.kept.keep(entry)
            if cause is not None:
                self._over.setdefault(workload, []).append(entry)


def _not_before(began: Cause, cause: Cause) -> Cause:
    """Another machine's clock may be behind what it tells the end of: that takes no time away."""
    return cause if cause.at >= began.at else Cause(cause.why, began.at, cause.partition, cause.sequence)
