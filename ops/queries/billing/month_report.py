"""A month for whoever signs it: what ran, who decided, proofs, exceptions, budgets and corrections, as tables of texts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from events.billing import CorrectionEntered, MonthClosed, PriceListSet
from events.budget import BudgetThresholdReached
from events.catalogue import AnyEvent
from events.commit import Commit, Sighting
from events.control import ObjectRefused, Quarantined
from events.event import Millis
from events.setting_aside import SetAside
from events.subjects import CONTROL
from events.timestamp import format_exactly, format_timestamp
from events.workload import EvictionOrdered, WorkloadFinished, WorkloadSubmitted
from ops.production.archive.finding import Report
from ops.queries.billing import flat
from ops.queries.billing.closed_months import check_closed, closings, month_ledger, window_of
from ops.queries.billing.reading import LogRead
from projections.billing.cards.reconcile import reconcile
from projections.billing.entries.entry import Window
from projections.billing.ledger import Ledger
from projections.billing.lines.totals import Bill, bill
from projections.billing.terms.money import decimal
from projections.budgets.amounts import in_units
from projections.budgets.scopes import in_words
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.stored_message import Passed, open_message

_GIB_HOUR, _GPU_HOUR = 1024 * 3_600_000, 3_600_000
_MOST = 100
"""So many exceptions of one sort are listed one by one."""


class ReportSection(msgspec.Struct, frozen=True, kw_only=True):
    """A heading, and a table under it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    none: str
    """What is said where there is no row."""


class MonthReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a month."""

    month: str
    since: Millis
    until: Millis
    standing: str
    """Whether it is closed, by whom, and what it comes to."""
    sound: bool
    """Whether nothing in it has to be explained: the audit holds, the books agree, all is priced."""
    sections: tuple[ReportSection, ...]


class _Seen:
    """What was stored in the month, counted as it is gone through."""

    def __init__(self) -> None:
        self.messages: Counter[tuple[str, str, str]] = Counter()
        """By stream, author and version of the rules."""
        self.events: Counter[str] = Counter()
        self.evictions: Counter[str] = Counter()
        self.people: list[tuple[str, ...]] = []
        self.budgets: list[tuple[str, ...]] = []
        self.amiss: list[tuple[str, ...]] = []
        self.corrections: list[tuple[str, ...]] = []

    def take(self, at: Millis, place: str, event: AnyEvent) -> None:
        """An event, with its time and its place."""
        self.events[type(event).__name__] += 1
        when = format_timestamp(at)
        match event:
            case EvictionOrdered():
                self.evictions[event.reason] += 1
            case BudgetThresholdReached():
                used, of = in_units(event.resource, event.used), in_units(event.resource, event.allowed)
                self.budgets.append((when, in_words(event.budget), f"{event.percent} %", used, of, place))
            case SetAside():
                what = event.workload or event.tree or event.node or event.card or event.pod or event.flavor
                self.amiss.append((when, "set aside", f"{what}: {event.reason}", place))
            case ObjectRefused():
                why = "; ".join(f"{one.field}: {one.message}" for one in event.problems)
                self.amiss.append((when, "refused", f"{event.kind} {event.namespace}/{event.name}: {why}", place))
            case Quarantined():
                self.amiss.append((when, "skipped", f"{event.stream} {event.sequence}: {event.reason}", place))
            case CorrectionEntered():
                about = event.entry or f"{event.amount} for {event.tenant}"
                approved = ", ".join(event.approved_by)
                self.corrections.append((when, event.tenant, about, event.author, approved, event.reason, place))
            case PriceListSet():
                self.people.append(
                    (
                        when,
                        event.author,
                        f"price list {event.name}, in force from {format_timestamp(event.starts)}",
                        event.reason,
                        place,
                    )
                )
            case MonthClosed():
                names = " and ".join(one.name for one in event.approvals)
                self.people.append(
                    (when, event.author, f"closing of {event.month}, approved by {names}", event.reason, place)
                )
            case _:
                pass


def month_report(entries: Mapping[str, Sequence[Entry]], month: str, audit: Report) -> MonthReport:
    """The report of a month, closed or not, with an audit of the whole log. Raises `BillRefused`."""
    window = window_of(month)
    ledger, read = month_ledger(entries, window, grain=_GPU_HOUR)
    check_closed(ledger, window)
    found = bill(ledger, window, ("tenant", "queue"))
    seen = _seen(entries, window)
    books = reconcile(ledger.cards.book, ledger.entries)
    closed = next((one for one in closings(entries) if one.event.month == month), None)
    sound = not audit.findings and not books.mismatches and not found.unpriced and not read.skewed
    total = ", ".join(f"{decimal(amount)} {currency}" for currency, amount in found.total.items()) or "nothing priced"
    standing = (
        f"Closed as invoice {closed.event.number} at {CONTROL} {closed.sequence}: {total}"
        if closed is not None
        else f"Not closed: {total} as the log has it now"
    )
    sections = (
        _bill(found),
        _ran(seen),
        _decided(seen),
        ReportSection(
            title="What people have entered",
            columns=("time", "who", "what", "reason", "place"),
            rows=tuple(seen.people),
            none="No price list was set and no month closed in this month.",
        ),
        _corrections(seen),
        _budgets(seen),
        _proofs(audit, closed.event if closed is not None else None),
        _approvals(closed.event if closed is not None else None),
        _exceptions(audit, ledger, found, read, seen, len(books.mismatches)),
    )
    return MonthReport(
        month=month, since=window.since, until=window.until, standing=standing, sound=sound, sections=sections
    )


def _seen(entries: Mapping[str, Sequence[Entry]], window: Window) -> _Seen:
    control, seen = Control(entries.get(CONTROL, ())), _Seen()
    for stream in sorted(entries):
        for entry in entries[stream]:
            opened = open_message(entry, control)
            if isinstance(opened, Passed) or opened.message.at not in window:
                continue
            message: Commit | Sighting = opened.message
            rules = "" if isinstance(message, Sighting) else message.rules
            seen.messages[stream, message.author, rules] += 1
            for event in (message.fact,) if isinstance(message, Sighting) else message.events:
                seen.take(message.at, f"{stream} {entry.sequence}", event)
    return seen


def _bill(found: Bill) -> ReportSection:
    names = flat.columns(found)
    at = {name: place for place, name in enumerate(names)}
    rows: list[tuple[str, ...]] = []
    for line in flat.lines(found):
        cost = line[at["cost"]] or "no price"
        rows.append(
            (
                line[at["tenant"]],
                line[at["queue"]],
                line[at["kind"]],
                _hours(line[at["memory_mib_ms"]], _GIB_HOUR),
                _hours(line[at["card_ms"]], _GPU_HOUR),
                f"{cost} {line[at['currency']]}".strip(),
            )
        )
    for currency, amount in found.total.items():
        rows.append(("total", "", "", "", "", f"{decimal(amount)} {currency}"))
    columns = ("tenant", "queue", "what", "GiB-h", "card-h", "cost")
    return ReportSection(title="What it costs", columns=columns, rows=tuple(rows), none="Nobody held a card.")


def _hours(text: str, size: int) -> str:
    thousandths = int(text) * 1000 // size
    return f"{thousandths // 1000:,}.{thousandths % 1000:03d}"


def _ran(seen: _Seen) -> ReportSection:
    told = (
        ("workloads submitted", WorkloadSubmitted.__name__),
        ("admitted", "WorkloadAdmitted"),
        ("finished", WorkloadFinished.__name__),
        ("refused for now", "AdmissionRefused"),
        ("preemptions ordered", "PreemptionOrdered"),
    )
    rows = [(words, f"{seen.events[name]:,}") for words, name in told]
    rows += [(f"evicted: {reason}", f"{count:,}") for reason, count in sorted(seen.evictions.items())]
    return ReportSection(title="What ran", columns=("what", "how often"), rows=tuple(rows), none="")


def _decided(seen: _Seen) -> ReportSection:
    rows = tuple(
        (author, stream, rules or "(facts)", f"{count:,}")
        for (stream, author, rules), count in sorted(seen.messages.items(), key=lambda one: (one[0][1], one[0]))
    )
    return ReportSection(
        title="Who decided, and who told what happened",
        columns=("author", "stream", "rules", "messages"),
        rows=rows,
        none="Nothing was stored in this month.",
    )


def _corrections(seen: _Seen) -> ReportSection:
    return ReportSection(
        title="Corrections",
        columns=("time", "tenant", "about", "entered by", "approved by", "reason", "place"),
        rows=tuple(seen.corrections),
        none="No correction was entered in this month.",
    )


def _budgets(seen: _Seen) -> ReportSection:
    return ReportSection(
        title="Budgets",
        columns=("time", "budget", "reached", "used", "of", "place"),
        rows=tuple(seen.budgets),
        none="No budget reached a threshold.",
    )


def _proofs(audit: Report, closed: MonthClosed | None) -> ReportSection:
    rows = [
        (one.stream, f"{one.messages:,}", f"{one.signed:,}", one.root or "none", one.key or "none")
        for one in audit.streams
    ]
    if closed is not None:
        rows.append((f"data set of {closed.month}", f"{closed.rows:,} rows", "", f"SHA-256 {closed.sha256}", ""))
    columns = ("what", "messages", "signed", "root (RFC 6962)", "key")
    return ReportSection(title="Proofs", columns=columns, rows=tuple(rows), none="There is no checkpoint.")


def _approvals(closed: MonthClosed | None) -> ReportSection:
    return ReportSection(
        title="Approvals",
        columns=("who", "key", "signature"),
        rows=tuple((one.name, one.key, one.signature) for one in closed.approvals) if closed is not None else (),
        none="The month is not closed, so nobody has approved of it.",
    )


def _exceptions(audit: Report, ledger: Ledger, found: Bill, read: LogRead, seen: _Seen, disagree: int) -> ReportSection:
    return ReportSection(
        title="Exceptions",
        columns=("time", "what", "about", "place"),
        rows=tuple(_each(audit, found, read, seen, disagree)),
        none=f"None: the audit finds nothing, both books agree, and all is priced ({len(ledger.entries):,} entries).",
    )


def _each(audit: Report, found: Bill, read: LogRead, seen: _Seen, disagree: int) -> Iterator[tuple[str, ...]]:
    for one in audit.findings[:_MOST]:
        yield "", f"audit: {one.what}", one.detail, one.place
    if disagree:
        yield "", "books", f"{disagree} card-hours disagree: kuelog bill reconcile", ""
    for (flavor, model), length in sorted(found.unpriced.items()):
        yield "", "no price", f"{_hours(str(length), _GPU_HOUR)} card-hours of flavor {flavor} (model {model})", ""
    for skew in read.skewed:
        yield "", "clock", f"that of {skew.author} was wrong by {skew.by:,} ms", f"{skew.stream} {skew.sequence}"
    yield from seen.amiss[:_MOST]
    for what, count in (("audit findings", len(audit.findings)), ("others", len(seen.amiss))):
        if count > _MOST:
            yield "", what, f"{count - _MOST:,} more", ""


def period_of(report: MonthReport) -> str:
    """The period in words; its end is not part of it."""
    return f"{format_exactly(report.since)} to {format_exactly(report.until)}"
