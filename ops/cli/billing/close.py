"""`kuelog bill close` and what belongs to it: a month's statement, approvals by two people, and the event that closes it."""

import asyncio
from pathlib import Path

import msgspec
from rich.console import Console

from events.billing import MonthClosed
from events.subjects import CONTROL
from ops.cli.audit.auditing import AuditSource, examined, found_of
from ops.cli.failures import known_failures
from ops.cli.log_reading import archive_of, bus_of, opened_log
from ops.files.reading import bytes_of, json_of
from ops.production.archive.data_sets import DataSetWriter
from ops.production.archive.history import read_everything
from ops.production.archive.proof.approvers import add, approved, approvers_in, check_approvals, make_key
from ops.production.archive.proof.evidence import load_evidence
from ops.production.process.clock import ScaledClock
from ops.queries.billing.closed_months import Entries, closings, drawn_up, invoice_of, upto
from ops.queries.billing.entering import enter
from ops.queries.billing.problems import BillRefused, put
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.legible import legible
from projections.billing.cards.reconcile import reconcile
from projections.billing.ledger import Ledger


def run_draft(source: AuditSource, month: str, file: Path, *, author: str, reason: str, console: Console) -> int:
    """Write the statement of a month, to be approved; nothing is entered."""
    with known_failures() as outcome:
        _check_audit(source)
        with opened_log(source) as entries:
            event, ledger = drawn_up(entries, month, author=author, reason=reason)
            _check_books(ledger, month)
        put(file, msgspec.json.format(msgspec.json.encode(event), indent=2))
        _show(event, console)
        console.print(f"written to {file}: two approvers sign it with `kuelog bill approve {file}`", highlight=False)
        outcome.code = 0
    return outcome.code


def run_approve(file: Path, name: str, key: Path, *, console: Console) -> int:
    """Sign a statement."""
    with known_failures() as outcome:
        event = approved(_read(file), name, key)
        put(file, msgspec.json.format(msgspec.json.encode(event), indent=2))
        _show(event, console)
        outcome.code = 0
    return outcome.code


def run_close(source: AuditSource, file: Path, *, month: str, console: Console) -> int:
    """Enter an approved statement, if the log still comes to it."""
    with known_failures() as outcome:
        event = _read(file)
        if event.month != month:
            raise BillRefused(f"{file} is the statement of {event.month}, not of {month}")
        check_approvals(event, approvers_in(Path(source.beside)))
        _check_audit(source)

        async def close() -> int:
            async with bus_of(source) as bus:
                entries = await read_everything(bus, await archive_of(source, bus))
                data_set = DataSetWriter()
                _check_still(entries, event, data_set)
                for place in (source.beside, *((source.archive,) if source.archive else ())):
                    data_set.keep(place, event.month)
                return await enter(bus, event, ScaledClock().now(), entries[CONTROL])

        sequence = asyncio.run(close())
        _show(event, console)
        console.print(f"{CONTROL}/{sequence}: {event.month} is closed", highlight=False)
        outcome.code = 0
    return outcome.code


def run_closed(source: AuditSource, *, output: AnswerForm, console: Console) -> int:
    """The months that are closed."""
    with known_failures() as outcome:
        with opened_log(source) as entries:
            found = [one.event for one in closings(entries)]
        if output is not AnswerForm.TEXT:
            print_answer(found, output)
        elif not found:
            console.print("no month is closed: `kuelog bill close MONTH` closes one")
        for event in found if output is AnswerForm.TEXT else ():
            _show(event, console)
        outcome.code = 0
    return outcome.code


def run_key(file: Path, *, console: Console) -> int:
    """Make a person's key."""
    with known_failures() as outcome:
        console.print(make_key(file), highlight=False)
        outcome.code = 0
    return outcome.code


def run_approver(source: AuditSource, name: str, public: str, *, console: Console) -> int:
    """Endorse a person's public key."""
    with known_failures() as outcome:
        one = add(Path(source.beside), name, public)
        console.print(
            f"{legible(one.name)} may approve of months; the key {one.voucher} vouches for that", highlight=False
        )
        outcome.code = 0
    return outcome.code


def _check_audit(source: AuditSource) -> None:
    """A log that is not what it was can't be invoiced. Raises `BillRefused`."""
    evidence = load_evidence(source.beside)
    with found_of(source) as found:
        report = examined(found, evidence)
    if report.findings:
        one = report.findings[0]
        raise BillRefused(
            f"the audit does not hold: {one.what} {one.stream} {one.sequence}, {one.detail}. No month of this log is "
            "closed before `kuelog audit verify` finds nothing"
        )


def _check_books(ledger: Ledger, month: str) -> None:
    wrong = reconcile(ledger.cards.book, ledger.entries).mismatches
    if wrong:
        raise BillRefused(
            f"the books disagree about {wrong[0].card}: `kuelog bill reconcile --from {month}` says where"
        )


def _check_still(entries: Entries, event: MonthClosed, data_set: DataSetWriter) -> None:
    """Whether the statement is what this log comes to, and still the next one. Raises `BillRefused`."""
    known = closings(entries)
    if len(known) + 1 != event.number:
        raise BillRefused(
            f"{len(known)} months are closed by now, so this is not invoice {event.number}: draw it up anew"
        )
    again, ledger = drawn_up(
        upto(entries, event.upto), event.month, author=event.author, reason=event.reason, data_set=data_set
    )
    if again != msgspec.structs.replace(event, approvals=()):
        raise BillRefused(
            f"the log does not come to this statement of {event.month}: draw it up anew, and have it approved"
        )
    _check_books(ledger, event.month)


def _read(file: Path) -> MonthClosed:
    if not file.exists():
        raise BillRefused(f"{file} is not there: `kuelog bill close MONTH --statement {file}` writes it")
    return json_of(bytes_of(file), MonthClosed, file)


def _show(event: MonthClosed, console: Console) -> None:
    totals = ", ".join(f"{amount} {currency}" for currency, amount in event.totals.items()) or "nothing"
    signed = ", ".join(f"{legible(one.name)} ({one.key})" for one in event.approvals) or "nobody yet"
    console.print(
        f"{event.month}: invoice {invoice_of(event.month, event.number)}, {totals}, {event.rows} rows, SHA-256 "
        f"{event.sha256}; approved by {signed}",
        highlight=False,
        soft_wrap=True,
    )
