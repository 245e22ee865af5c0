"""Months that are closed: their bill is that of the log as it was then, and what is learnt later is in the month after them.

Rule: docs/rules/billing.md#closing
"""

import csv
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from events.billing import CorrectionEntered, MonthClosed
from events.control import ClockScaled, Quarantined
from events.event import Millis
from events.subjects import CONTROL
from events.timestamp import format_timestamp, parse_timestamp
from ops.queries.billing.focus import names_of, rows
from ops.queries.billing.focus_columns import FORM
from ops.queries.billing.message_times import message_times
from ops.queries.billing.problems import BillRefused
from ops.queries.billing.reading import LogRead, ledger_of
from ops.queries.stored import opened
from ops.queries.time_travel import ends_of, first
from projections.billing.entries.entry import Window
from projections.billing.ledger import Carried, Ledger
from projections.billing.lines.charge import HOUR
from projections.billing.lines.totals import bill
from projections.billing.terms.money import decimal
from projections.calendar import month_after
from projections.log_position import LogPosition
from services.runtime.control_log import Control
from services.runtime.log_port import Entry

Entries = Mapping[str, Sequence[Entry]]
_QUEUES_AS_GIVEN = 2
"""The form of data sets from which on a line names the local queue through which its quota was given (docs/rules/billing.md#clock)."""


class Sink(Protocol):
    """What takes bytes."""

    def write(self, data: bytes, /) -> object:
        """The next ones."""
        ...


class Closing(msgspec.Struct, frozen=True):
    """A month that was closed, and where on the log that stands."""

    event: MonthClosed
    sequence: int

    @property
    def window(self) -> Window:
        """The month."""
        return window_of(self.event.month)


def window_of(month: str) -> Window:
    """A month as people write it. Raises `BillRefused`."""
    try:
        begin = parse_timestamp(f"{month}-01T00:00:00Z")
    except ValueError as bad:
        raise BillRefused(f"{month!r} is no month: write 2026-11") from bad
    if format_timestamp(begin)[:7] != month:
        raise BillRefused(f"{month!r} is no month: write 2026-11")
    return Window(begin, month_after(begin))


def closings(entries: Entries) -> list[Closing]:
    """All months that were closed, in their order."""
    control = Control(entries.get(CONTROL, ()))
    return [
        Closing(one.event, entry.sequence)
        for entry in entries.get(CONTROL, ())
        for one in opened(entry, control)
        if isinstance(one.event, MonthClosed)
    ]


def corrected_entries(entries: Entries) -> list[str]:
    """The ids of all entries that corrections name."""
    control = Control(entries[CONTROL])
    return [
        one.event.entry
        for entry in entries[CONTROL]
        for one in opened(entry, control)
        if isinstance(one.event, CorrectionEntered) and one.event.entry
    ]


def month_ledger(
    entries: Entries,
    window: Window,
    *,
    grain: Millis | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> tuple[Ledger, LogRead]:
    """The ledger of a period; of a closed month as it was closed, of the one after it with what was learnt since."""
    known = closings(entries)
    this = next((one for one in known if one.window == window), None)
    if this is not None:
        entries = upto(entries, this.event.upto)
        known = [one for one in known if one.window.until <= window.since]
    carries = bool(known) and window == Window(known[-1].window.until, month_after(known[-1].window.until))
    then = upto(entries, known[-1].event.upto) if carries else {}
    wanted, learnt = corrected_entries(entries), _Learnt({name: len(found) for name, found in then.items()}, window)
    ledger, read = ledger_of(
        entries,
        window,
        grain=grain,
        wanted=wanted,
        queues_as_named=this is not None and this.event.form < _QUEUES_AS_GIVEN,
        on_progress=on_progress,
        on_place=learnt.see if carries else None,
    )
    ledger.closed = this.event if this is not None else None
    ledger.invoice = invoice_of(this.event.month, this.event.number) if this is not None else ""
    if carries and (learnt.found or not _read_as_then(entries, then, read)):
        windows = tuple(one.window for one in known)
        span = Window(windows[0].since, windows[-1].until)
        ledger.carried = Carried(
            before=ledger_of(then, span, wanted=corrected_entries(then))[0],
            now=ledger_of(entries, span, wanted=wanted)[0],
            windows=windows,
            booked=window.since,
            place=f"{CONTROL}/{known[-1].sequence}",
        )
    return ledger, read


class _Learnt:
    """Whether a message that was stored after a closing tells of a time before the month's end, or comes ahead of one that does.

    While none does, and what was known of the cluster then reached the month's end, the log up to the closing and the whole
    of it say the same of the closed months.
    """

    def __init__(self, upto: Mapping[str, int], window: Window) -> None:
        self._upto, self._until, self._beyond, self._told = upto, window.since, False, False
        self._reached: Millis = 0

    @property
    def found(self) -> bool:
        """Whether the closed months have to be folded again."""
        return self._told or self._reached < self._until

    def see(self, place: LogPosition) -> None:
        """The next message in the order in which the log counts."""
        later = place.sequence > self._upto.get(place.partition, 0)
        if not later and place.partition != CONTROL:
            self._reached = max(self._reached, place.at)
        self._beyond = self._beyond or later
        self._told = self._told or (self._beyond and place.at < self._until)


def _read_as_then(entries: Entries, then: Entries, read: LogRead) -> bool:
    """Whether what was stored since has changed neither which of the messages before it count, nor their times."""
    control, control_then = Control(entries.get(CONTROL, ())), Control(then.get(CONTROL, ()))
    later = entries.get(CONTROL, ())[len(then.get(CONTROL, ())) :]
    if any(isinstance(one.event, Quarantined | ClockScaled) for entry in later for one in opened(entry, control)):
        return False
    return not read.moved or all(
        message_times(name, found, control_then) == message_times(name, entries[name], control)[: len(found)]
        for name, found in then.items()
    )


def invoice_of(month: str, number: int) -> str:
    """What the ids of a month's invoices begin with; the tenant follows."""
    return f"{month}-{number:04d}"


def upto(entries: Entries, ends: Mapping[str, int]) -> dict[str, Sequence[Entry]]:
    """The log as it was when its streams ended there. Raises `BillRefused` where it does not reach that far."""
    kept = {name: first(found, ends.get(name, 0)) for name, found in entries.items()}
    for name, end in sorted(ends.items()):
        if end and (not kept.get(name) or kept[name][-1].sequence < end):
            raise BillRefused(f"a closed month rests on {name} up to {end}, and this log does not reach that far")
    return kept


def statement(entries: Entries, month: str, *, author: str, reason: str = "") -> MonthClosed:
    """What would be closed: the month as the log has it now. Raises `BillRefused` where it can't be closed."""
    return drawn_up(entries, month, author=author, reason=reason)[0]


def drawn_up(
    entries: Entries, month: str, *, author: str, reason: str = "", data_set: Sink | None = None
) -> tuple[MonthClosed, Ledger]:
    """The statement of a month, and the ledger that it rests on, with the time of cards by hour. Raises `BillRefused`.

    `data_set` gets the bytes of which the statement has the hash.
    """
    window, known = window_of(month), closings(entries)
    if any(one.event.month == month for one in known):
        raise BillRefused(f"{month} is closed already: what is learnt of it now is in the bill of the month after it")
    if known and window.since != known[-1].window.until:
        due = format_timestamp(known[-1].window.until)[:7]
        raise BillRefused(f"{known[-1].event.month} was closed last: close {due} before {month}")
    ledger, read = month_ledger(entries, window, grain=HOUR)
    if read.last < window.until:
        raise BillRefused(f"the log ends at {format_timestamp(read.last)}, and {month} goes on until {_end(window)}")
    number = len(known) + 1
    ledger.invoice = invoice_of(month, number)
    count, sha256 = digest(ledger, window, data_set)
    found = bill(ledger, window, ("tenant",))
    if found.unpriced:
        flavor, model = next(iter(found.unpriced))
        raise BillRefused(f"cards of flavor {flavor or '?'} (model {model}) have no price in {month}: enter one first")
    if found.unpriced_quota:
        flavor, resource = next(iter(found.unpriced_quota))
        raise BillRefused(f"{resource} of flavor {flavor} has no price in {month}: enter one first")
    if found.unpriced_devices:
        device_class, _ = next(iter(found.unpriced_devices))
        raise BillRefused(f"claimed devices of class {device_class} have no price in {month}: enter one first")
    if found.unknown_entries:
        raise BillRefused(f"a correction names entry {found.unknown_entries[0]}, which the ledger has not or not yet")
    closing = MonthClosed(
        month=month,
        number=number,
        upto=ends_of(entries),
        rows=count,
        totals={currency: decimal(amount, least=2) for currency, amount in found.total.items()},
        sha256=sha256,
        form=FORM,
        author=author,
        reason=reason,
    )
    return closing, ledger


def check_closed(ledger: Ledger, window: Window) -> None:
    """Whether a closed month still comes to what was closed. Raises `BillRefused`."""
    if ledger.closed is None:
        return
    month, (_, sha256) = ledger.closed.month, digest(ledger, window)
    if sha256 != ledger.closed.sha256:
        raise BillRefused(
            f"{month} was closed with the data set {ledger.closed.sha256}, and this version comes to {sha256} from the log. "
            f"`kuelog bill --from {month} --to {format_timestamp(window.until)[:7]} -o focus` hands out what was billed, where "
            "the witness folder or an archive holds it (--witness, --archive); `kuelog audit verify` says whether the log "
            "was changed"
        )


def digest(ledger: Ledger, window: Window, data_set: Sink | None = None) -> tuple[int, str]:
    """How many rows the FOCUS data set of a period has, and the hash of it as CSV."""
    sha = _Hashing(data_set)
    writer = csv.writer(sha, lineterminator="\n")
    writer.writerow(names_of(ledger))
    writer.writerows(rows(ledger, window))
    return sha.lines - 1, sha.hash.hexdigest()


class _Hashing:
    """Where a CSV is written to of which the hash is wanted, and the bytes by whoever takes them."""

    def __init__(self, data_set: Sink | None) -> None:
        self.hash, self.lines, self._data_set = hashlib.sha256(), 0, data_set

    def write(self, text: str) -> None:
        """One row."""
        data = text.encode()
        self.hash.update(data)
        self.lines += 1
        if self._data_set is not None:
            self._data_set.write(data)


def _end(window: Window) -> str:
    return format_timestamp(window.until)
