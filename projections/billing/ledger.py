"""The ledger, folded from the log: entries of cards and of quota, sums of cards, quota lent, waste, prices, corrections."""

import msgspec

from events.admission import PreemptionRequested, QuotaReserved, WorkloadAdmitted
from events.billing import AccountsSet, CorrectionEntered, ExchangeRateSet, LineKind, MonthClosed, PriceListSet
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.device import DevicesRegistered, DevicesReleased, DevicesReserved, NodeObserved, PodObserved
from events.device_config import DeviceConfigObserved
from events.event import Millis
from events.multikueue import WorkloadEndedElsewhere
from events.preemption import PreemptionOrdered
from events.quota import (
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    LocalQueueObserved,
    NamespaceObserved,
)
from events.settings import SettingsObserved
from events.slices import WorkloadSliceDropped, WorkloadSliceReplaced, WorkloadSliceResized, WorkloadSliceSubmitted
from events.upkeep import WorkloadDiscarded, WorkloadFailedToStart, WorkloadOrphaned
from events.variants import VariantDropped, VariantSubmitted
from events.workload import (
    AdoptedStatus,
    DecidedElsewhere,
    EvictionOrdered,
    PodsReclaimed,
    QuotaReleased,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadSubmitted,
)
from projections.billing.cards.card_side import CardSide, OpenSlice
from projections.billing.cards.strays import Strays
from projections.billing.cards.unused_time import UnusedTime
from projections.billing.entries import attempts
from projections.billing.entries.asked import asked_of_cards
from projections.billing.entries.attempts import Attempt, SliceKey
from projections.billing.entries.billed_workloads import BilledWorkloads
from projections.billing.entries.entry import AnyEntry, CardEntry, QuotaEntry, Waste, Window, caused
from projections.billing.entries.ledger_scope import EVERYTHING, LedgerScope
from projections.billing.quota.quota_book import QuotaBook
from projections.billing.quota.quota_side import QuotaSide
from projections.billing.terms.prices import PriceBook
from projections.devices.card_config import HAMI, card_config
from projections.feature_gates import enabled
from projections.log_position import LogPosition
from projections.workloads.decided_moments import MomentsByWorkload
from projections.workloads.long_gone import LongGone
from projections.workloads.slice_chains import SliceChains
from projections.workloads.variant_families import VariantFamilies

_ENTERED = (PriceListSet, ExchangeRateSet, AccountsSet, CorrectionEntered, MonthClosed)
"""What operators enter: it says nothing of how far the cluster was seen."""


class Ledger:
    """What is entered within a window, and what else was asked for."""

    def __init__(self, scope: LedgerScope = EVERYTHING) -> None:
        self.window, self.began = scope.window, scope.began
        self.unused = UnusedTime(scope.window, scope.cuts) if scope.cuts is not None else None
        self.cards = CardSide(scope, self.unused)
        self.holds = QuotaSide(scope)
        self.prices = PriceBook()
        self.strays = Strays(self.cards)
        self.wastes: list[Waste] = []
        """Attempts that were cut short within the window."""
        self.foregone: list[Waste] = []
        """Those before or after it that had entries which were asked for."""
        self.tenants: set[str] = set()
        self.carried: Carried | None = None
        """What was learnt since of months that were closed before this one."""
        self.closed: MonthClosed | None = None
        self.invoice = ""
        """What the ids of this month's invoices begin with, where it is closed."""
        self.at: Millis = 0
        """The time up to which the ledger is folded; prices and corrections that operators enter do not advance it."""
        self._settings = SettingsObserved()
        self._config = HAMI
        self._workloads = BilledWorkloads(queues_as_named=scope.queues_as_named)
        self._attempts: dict[str, dict[int, Attempt]] = {}
        """By workload and number."""
        self._current: dict[str, Attempt] = {}
        self._asking: dict[str, str] = {}
        """The cluster queue of each workload that has requested preemption."""
        self._decided = MomentsByWorkload()
        self._gone = LongGone()
        self._variants = VariantFamilies()
        self._owners = SliceChains()
        """Whose the pods of elastic jobs are, as far as cards are concerned: the next slice's once it has been given its own."""
        self._handed: dict[str, str] = {}
        """By slice, the one before it, whose cards go on under it when it is given them."""

    @property
    def entries(self) -> list[CardEntry]:
        """All lines of cards within the window, in the order in which they ended."""
        return self.cards.kept.inside

    @property
    def quota_entries(self) -> list[QuotaEntry]:
        """All lines of quota within the window, in the order in which they ended."""
        return self.holds.kept.inside

    @property
    def quota(self) -> QuotaBook:
        """Quota held and lent, summed up."""
        return self.holds.book

    def found(self, entry: str) -> AnyEntry | None:
        """An entry by its id, if it was among those to look for and has been billed by now."""
        return self.cards.kept.found.get(entry) or self.holds.found_entry(entry)

    def fold(self, event: AnyEvent, position: LogPosition, facts: int | None = None) -> None:  # noqa: C901, PLR0912, PLR0915 - one case after the other
        """Enter what an event means for time and money, if anything; `facts` is the last fact that who decided it knew, if known."""
        if not isinstance(event, _ENTERED):
            self.at = max(self.at, position.at)
        self.holds.claimed.fold(event, position)
        for gone in self._gone.hear(event, getattr(event, "workload", ""), position.at):
            self._forget(gone, position.at)
        for told in self._variants.told(event):
            self.fold(told, position)
        self._decided.hear(event, position.at, position.sequence)
        match event:
            case WorkloadSubmitted():
                self._submit(event, position)
            case DecidedElsewhere() if not self._variants.has(event.workload):
                self._take_over(event, position)
            case WorkloadChanged():
                self._workloads.change(event, position.sequence)
            case WorkloadOwned():
                self._own(event)
            case QuotaReserved():
                self._reserve(event, position, facts)
            case WorkloadAdmitted():
                self._admit(event.workload, position)
            case PreemptionRequested():
                self._asking[event.workload] = event.cluster_queue
            case PreemptionOrdered():
                self._stop(event.workload, "Preempted", event.preemptor)
            case EvictionOrdered():
                self._stop(event.workload, event.reason)
            case VariantSubmitted():
                self._workloads.submit_beside(event)
            case (
                VariantDropped() | QuotaReleased() | WorkloadOrphaned() | WorkloadFailedToStart() | WorkloadDiscarded()
            ):
                self._let_quota_go(event.workload, position)
                if isinstance(event, WorkloadDiscarded):
                    self._current.pop(event.workload, None)
            case WorkloadDeleted():
                last = self._workloads.delete(event, position.sequence)
                self._let_quota_go(last, position)
                # What is still held goes on as it began.
                self._current.pop(last, None)
                self.holds.forget(last)
            case WorkloadFinished() | WorkloadEndedElsewhere():
                last = self._workloads.finish(event, position.sequence)
                if (current := self._current.get(last)) is not None:
                    current.finished = True
                self._let_quota_go(last, position)
            case PodsReclaimed() if enabled(self._settings, "ReclaimablePods"):
                for key, done in self._workloads.reclaimed(event).items():
                    self.holds.reclaim(key, done, caused("pods done", position))
            case WorkloadSliceSubmitted() | WorkloadSliceResized() | WorkloadSliceReplaced() | WorkloadSliceDropped():
                self._slice(event, position)
            case DevicesReserved():
                self._give(event, position)
            case DevicesReleased():
                self._take_back(event, position)
            case _:
                self._see(event, position)

    def finish(self, at: Millis | None = None) -> None:
        """Enter what goes on, as far as the log reaches or to a time before that; nothing may be folded after that."""
        end = self.at if at is None else min(at, self.at)
        self.cards.finish(end)
        self.holds.finish(end)

    def _see(self, event: AnyEvent, position: LogPosition) -> None:  # noqa: C901 - one case after the other
        match event:
            case NodeObserved():
                self.cards.see_node(event, caused("node " + ("ready" if event.ready else "not ready"), position))
            case DevicesRegistered():
                self.cards.register(event, caused("cards registered", position))
            case PodObserved():
                owner = self._owners.last(event.workload) if event.elastic else event.workload
                seen = event if owner == event.workload else msgspec.structs.replace(event, workload=owner)
                self.strays.see_pod(seen, caused("pod seen", position))
                self.tenants.add(event.namespace)
            case FlavorObserved():
                self.cards.see_flavor(event, caused("flavor changed", position))
            case ClusterQueueObserved():
                self.quota.set_queue(event, position.at)
            case LocalQueueObserved():
                self.quota.times.set_way(event, position.at)
            case CohortObserved():
                self.quota.set_cohort(event, position.at)
            case NamespaceObserved():
                self.tenants.add(event.name)
            case SettingsObserved():
                self._settings = event
            case DeviceConfigObserved():
                self._config = self.holds.config = card_config(event)
            case PriceListSet() | ExchangeRateSet() | AccountsSet() | CorrectionEntered():
                self.prices.enter(event, position)
            case ObjectRemoved():
                self._remove(event, position)
            case _:
                pass

    def _remove(self, event: ObjectRemoved, position: LogPosition) -> None:
        match event.kind:
            case "Node":
                self.cards.remove_node(event.name, caused("node gone", position))
            case "Pod":
                self.strays.remove_pod(f"{event.namespace}/{event.name}", caused("pod gone", position))
            case "ResourceFlavor":
                self.cards.remove_flavor(event.name, caused("flavor changed", position))
            case "ClusterQueue" | "Cohort":
                self.quota.remove(event.kind, event.name, position.at)
            case "LocalQueue":
                self.quota.times.remove_way(event.namespace, event.name, position.at)
            case _:
                pass

    def _submit(self, event: WorkloadSubmitted, position: LogPosition) -> None:
        self.tenants.add(event.workload.partition("/")[0])
        if self._workloads.is_there(event.workload) and event.workload in self._current:
            return
        self._workloads.submit(event)
        if event.adopted is not None:
            self._adopt(event.workload, event.adopted, position)

    def _own(self, event: WorkloadOwned) -> None:
        about, current = self._workloads.own(event), self._current.get(event.workload)
        if about is not None and current is not None:
            self.cards.bill_to(current, about)

    def _take_over(self, event: DecidedElsewhere, position: LogPosition) -> None:
        """What another manager has let in while kuelog was away is billed from when that is on the log."""
        if self._workloads.about(event.workload) is None or not self._decided.take_over(event):
            return
        self._let_quota_go(event.workload, position)
        self._adopt(event.workload, event.status, position)

    def _adopt(self, workload: str, adopted: AdoptedStatus, position: LogPosition) -> None:
        attempt = self._attempt(workload, adopted, position.sequence, None)
        if attempts.goes_on(attempt, adopted):
            self._note(attempt)
            asked = known.pod_sets if (known := self._workloads.about(workload)) is not None else ()
            self.holds.adopt(attempt, asked, adopted, caused("quota reserved", position))

    def _reserve(self, event: QuotaReserved, position: LogPosition, facts: int | None) -> None:
        attempt = self._attempt(event.workload, event, position.sequence, facts)
        self._note(attempt)
        if self._workloads.ended_unseen(event.workload, facts):
            attempt.finished = True
            return
        self.holds.hold(attempt, event.assignments, caused("quota reserved", position), facts)

    def _attempt(self, workload: str, given: QuotaReserved | AdoptedStatus, number: int, facts: int | None) -> Attempt:
        about, cohort = self._workloads.let_in(workload, facts), self.quota.cohort_of(given.cluster_queue)
        return attempts.attempt_of(workload, about, number, given.cluster_queue, cohort, given.assignments)

    def _note(self, attempt: Attempt) -> None:
        holder = attempt.holder
        self._attempts.setdefault(holder.workload, {})[holder.attempt] = self._current[holder.workload] = attempt

    def _admit(self, workload: str, position: LogPosition) -> None:
        attempt = self._current.get(workload)
        if attempt is None or attempt.admitted:
            return
        attempt.admitted = True
        for key in attempt.keys:
            self.cards.rename(key[-1], key, LineKind.USAGE, caused("admitted", position))
        self.holds.rename(workload, caused("admitted", position))

    def _stop(self, workload: str, reason: str, preemptor: str = "") -> None:
        if (attempt := self._current.get(workload)) is not None and not attempt.stopped:
            attempt.stopped, attempt.preemptor = reason, preemptor

    def _let_quota_go(self, workload: str, position: LogPosition) -> None:
        self.holds.release(workload, self._current.get(workload), position, self._asking)
        self._close_handed(workload, position)

    def _slice(
        self,
        event: WorkloadSliceSubmitted | WorkloadSliceResized | WorkloadSliceReplaced | WorkloadSliceDropped,
        position: LogPosition,
    ) -> None:
        """A slice of an elastic job comes, becomes smaller, or takes another one's place: quota at once, cards with its own."""
        match event:
            case WorkloadSliceSubmitted():
                self._workloads.submit_beside(event)
                self.holds.replace(event.replaces, event.workload)
            case WorkloadSliceResized():
                self.holds.resize(event.workload, self._workloads.resize(event), caused("fewer pods", position))
            case WorkloadSliceReplaced() | WorkloadSliceDropped():
                held = self.holds.holds(event.workload)
                if (current := self._current.get(event.workload)) is not None:
                    current.finished = True
                self._let_quota_go(event.workload, position)
                self._workloads.replace(event.workload, event.by)
                if held:
                    self._handed[event.by] = event.workload

    def _close_handed(self, by: str, position: LogPosition) -> None:
        """The cards of the slice before are no longer its own: they are another's, or are free again."""
        old = self._handed.pop(by, None)
        cause = caused("replaced", position)
        for number, attempt in self._attempts.pop(old, {}).items() if old is not None else ():
            for key in attempt.keys:
                self.cards.close(key[-1], key, cause)
            self.strays.released(attempt.holder.workload, number, cause)
        if old is not None:
            self.strays.hand_over(old, by, cause)
            self._owners.replace(old, by)
            self._current.pop(old, None)

    def _give(self, event: DevicesReserved, position: LogPosition) -> None:
        about = self._workloads.about(event.workload)
        attempt = self._attempts.get(event.workload, {}).get(event.reservation)
        if attempt is None:
            attempt = attempts.attempt_of(event.workload, about, event.reservation, "", "", ())
            self._attempts.setdefault(event.workload, {})[event.reservation] = attempt
        cause, keys = caused("reserved", position), list[SliceKey]()
        uses = attempts.uses_by_pod(event.placements)
        whole = self.cards.whole_nodes((uuid, use) for _, uuid, use in uses)
        asked = asked_of_cards(event.placements, about, self._config, lambda uuid: self.cards.book.account(uuid).card)
        for placement, uuid, use in uses:
            key: SliceKey = (event.workload, event.reservation, placement.pod_set, placement.index, uuid)
            keys.append(key)
            slice_ = OpenSlice(
                kind=attempt.kind,
                holder=attempt.holder,
                flavor=attempts.flavor_of(attempt, placement.pod_set, self._config),
                pod_set=placement.pod_set,
                index=placement.index,
                use=use,
                attempt=attempt,
                node_cards=whole.get(uuid, 0),
                asked=asked.get((placement.pod_set, placement.index, uuid)),
            )
            self.cards.close(uuid, key, cause)
            self.cards.open(uuid, key, slice_, cause)
        for key in attempt.keys:
            if key not in keys:
                self.cards.close(key[-1], key, cause)  # Its pod was given others: its node has failed.
        attempt.keys = tuple(keys)
        self.strays.reserved(attempt.holder, event.placements, cause)
        self._close_handed(event.workload, position)

    def _take_back(self, event: DevicesReleased, position: LogPosition) -> None:
        attempt = self._attempts.get(event.workload, {}).pop(event.reservation, None)
        if attempt is None:
            return
        cause = caused("released", position)
        for key in attempt.keys:
            self.cards.close(key[-1], key, cause)
        self.strays.released(event.workload, event.reservation, cause)
        if self._current.get(event.workload) is attempt:
            # By clocks that are wrong its end may be counted before its beginning: nobody holds quota without a pod for ever.
            self._let_quota_go(event.workload, position)
            del self._current[event.workload]
        if attempt.stopped and not attempt.finished and attempt.entries:
            self._waste(attempt, position)

    def _waste(self, attempt: Attempt, position: LogPosition) -> None:
        if self.cards.kept.keeps_waste(position.at, attempt.entries):
            waste = attempts.wasted(attempt, position, self._asking.get(attempt.preemptor, ""))
            (self.wastes if position.at in self.window else self.foregone).append(waste)

    def _forget(self, workload: str, at: Millis) -> None:
        """A workload is long gone: nothing of it is needed any more, unless it still holds cards."""
        if any(attempt.keys for attempt in self._attempts.get(workload, {}).values()):
            self._gone.keep(workload, at)
            return
        for known in (self._attempts, self._current, self._asking):
            known.pop(workload, None)
        self._workloads.forget(workload)
        self._decided.forget(workload)
        self.strays.forget(workload)


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """Closed months as they were when the last of them was closed, and as the log has them now."""

    before: Ledger
    now: Ledger
    windows: tuple[Window, ...]
    booked: Millis
    """In which month the difference stands."""
    place: str
    """Where on the log the last of them was closed."""
