"""`kuelog bill` and its subcommands: the ledger of a period, summed up, listed, checked, corrected."""

import asyncio
import csv
import gzip
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import Progress

from events.billing import CorrectionEntered
from events.event import Millis
from events.subjects import CONTROL
from ops.cli.billing.form import BillForm, printed
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import archive_of, bus_of, opened_log
from ops.production.archive.data_sets import chunks, kept
from ops.production.archive.history import read_everything
from ops.production.process.clock import ScaledClock
from ops.production.process.memory_tuning import tune_memory
from ops.queries.billing import flat, focus, tables
from ops.queries.billing.answer import asked_window, bill_answer, groups_of, period_ledger
from ops.queries.billing.closed_months import check_closed, closings, corrected_entries
from ops.queries.billing.entering import check_account, check_correction, check_tenant, enter
from ops.queries.billing.period import time
from ops.queries.billing.problems import BillRefused, put
from ops.queries.billing.reading import LogRead, ledger_of, seen
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, form_of, print_answer
from ops.terminal.legible import legible
from projections.billing.cards.reconcile import Mismatch, reconcile
from projections.billing.entries.entry import AnyEntry, DeviceEntry, QuotaEntry, Window
from projections.billing.ledger import Ledger
from projections.billing.lines.charge import HOUR
from projections.billing.lines.charged_lines import EVERYBODY, BilledTo
from projections.billing.lines.totals import Bill, bill
from projections.billing.terms.money import decimal, quotient
from projections.billing.terms.resource_unit import unit_of
from services.runtime.log_port import Entry as StoredEntry


class BillOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    source: LogSource
    since: str = ""
    until: str = ""
    tenant: str = ""
    account: str = ""
    witness: str = ""
    """Where the data sets of closed months are, if not in the folder or the archive."""

    @property
    def billed_to(self) -> BilledTo:
        """Whose lines are wanted."""
        return BilledTo(tenants=(self.tenant,) if self.tenant else None, account=self.account)

    @property
    def data_sets(self) -> tuple[str, ...]:
        """Folders that may hold the data sets of closed months."""
        own = self.witness or (str(self.source.folder / "witness") if self.source.folder is not None else "")
        return tuple(one for one in (own, self.source.archive) if one)


def run_bill(
    asked: BillOptions, group_by: Sequence[str], *, output: BillForm, out: Path | None, console: Console
) -> int:
    """Print or write a bill; 1 when something in it has no price, or the books do not agree."""
    with known_failures() as outcome:
        groups = groups_of(group_by)
        check_form(output, out, grouped=bool(group_by))
        if output is BillForm.FOCUS and asked.billed_to == EVERYBODY and (packed := _as_billed(asked)) is not None:
            _hand_out(packed, out)
            outcome.code = 0
            return outcome.code
        ledger, read, window = read_ledger(asked, quiet=output is not BillForm.TABLE)
        if asked.tenant:
            check_tenant(ledger, asked.tenant)
        found = bill(ledger, window, groups, asked.billed_to)
        if asked.account:
            check_account(ledger, asked.account)
        check_closed(ledger, window)
        _write(ledger, found, read, asked, output=output, out=out, console=console)
        warnings = warn(ledger, found, read, window)
        outcome.code = 1 if warnings else 0
    return outcome.code


def _as_billed(asked: BillOptions) -> bytes | None:
    """The data set of a closed month as it was billed, if the period is one and the data set is at hand."""
    with opened_log(asked.source) as entries:
        known = closings(entries)
        window = asked_window(entries, asked.since, asked.until) if known else None
    this = next((one.event for one in known if one.window == window), None)
    return kept(asked.data_sets, this.month, this.sha256) if this is not None else None


def _hand_out(packed: bytes, out: Path | None) -> None:
    if out is not None and out.suffix == ".parquet":
        text = io.TextIOWrapper(gzip.GzipFile(fileobj=io.BytesIO(packed)), encoding="utf-8", newline="")
        rows = csv.reader(text)
        flat.write_focus_parquet(out, next(rows), rows)
    elif out is not None:
        with flat.opened(out, "wb") as file:
            for part in chunks(packed):
                file.write(part)
    else:
        for part in chunks(packed):
            sys.stdout.buffer.write(part)


def run_entries(asked: BillOptions, workload: str, *, output: AnswerForm, console: Console) -> int:
    """List the entries of a period, each with its id; 1 when there are none of what is asked for."""
    with known_failures() as outcome:
        ledger, _, _ = read_ledger(asked, quiet=output is not AnswerForm.TEXT)
        if asked.tenant:
            check_tenant(ledger, asked.tenant)
        found = [
            entry
            for entry in (*ledger.entries, *ledger.quota_entries, *ledger.holds.claimed.lines.kept.inside)
            if (not asked.tenant or entry.holder.tenant == asked.tenant)
            and (not workload or workload in {entry.holder.workload, entry.holder.job})
        ]
        if output is not AnswerForm.TEXT:
            print_answer(found, output)
        elif not found:
            of = f" of {workload or asked.tenant}" if workload or asked.tenant else ""
            console.print(f"the period has no entry{of}", highlight=False, markup=False, soft_wrap=True)
        else:
            _show_entries(found, console)
        outcome.code = 0 if found or not (asked.tenant or workload) else 1
    return outcome.code


def run_reconcile(asked: BillOptions, grain: Millis, *, output: AnswerForm, console: Console) -> int:
    """Check both books against each other, card by card; 1 when they disagree."""
    with known_failures() as outcome:
        ledger, _, window = read_ledger(asked, grain=grain, quiet=output is not AnswerForm.TEXT)
        found = reconcile(ledger.cards.book, ledger.entries)
        wrong, count = found.mismatches, found.checked
        if output is not AnswerForm.TEXT:
            plain = {"since": window.since, "until": window.until, "checked": count, "mismatches": wrong}
            print_answer(plain, output)
        else:
            for one in wrong:
                console.print(legible(_describe(one)), style="red", highlight=False)
            agree = "used + idle + stranded + cordoned + unhealthy + lost = capacity x time, and tenants = cards"
            stretch = "hours" if grain == 3_600_000 else "stretches"  # noqa: PLR2004 - an hour
            console.print(f"{count} card-{stretch} checked: " + (f"{len(wrong)} disagree" if wrong else agree))
        outcome.code = 1 if wrong else 0
    return outcome.code


def run_correct(asked: BillOptions, event: CorrectionEntered, since: str, until: str, *, console: Console) -> int:
    """Enter a correction."""
    with known_failures() as outcome:

        async def correct() -> tuple[CorrectionEntered, int]:
            async with bus_of(asked.source) as bus:
                entries = await read_everything(bus, await archive_of(asked.source, bus))
                first = seen(entries)[0]
                ledger, _ = ledger_of(entries, wanted=[event.entry, *corrected_entries(entries)])
                timed = msgspec.structs.replace(
                    event, since=time(since, first) if since else None, until=time(until, first) if until else None
                )
                checked = check_correction(ledger, timed)
                return checked, await enter(bus, checked, max(ScaledClock().now(), ledger.at), entries[CONTROL])

        done, sequence = asyncio.run(correct())
        what = f"an amount of {done.amount}" if done.amount else f"entry {done.entry}"
        console.print(
            f"{CONTROL}/{sequence}: {what} of {done.tenant} is corrected: {legible(done.reason)}", highlight=False
        )
        outcome.code = 0
    return outcome.code


def read_ledger(
    asked: BillOptions, *, grain: Millis | None = None, quiet: bool = True
) -> tuple[Ledger, LogRead, Window]:
    """The ledger of the period that is asked for. Raises the known failures."""
    with opened_log(asked.source) as entries:
        return _ledger_of(entries, asked, grain=grain, quiet=quiet)


def _ledger_of(
    entries: Mapping[str, Sequence[StoredEntry]], asked: BillOptions, *, grain: Millis | None, quiet: bool
) -> tuple[Ledger, LogRead, Window]:
    tune_memory()
    if quiet or not sys.stderr.isatty():
        return period_ledger(entries, asked.since, asked.until, grain=grain)
    with Progress(console=terminal(stderr=True), transient=True) as progress:
        task = progress.add_task("folding", total=None)
        return period_ledger(
            entries, asked.since, asked.until, grain=grain, on_progress=lambda n: progress.update(task, completed=n)
        )


def warn(ledger: Ledger, found: Bill, read: LogRead, window: Window, *, cluster: str = "") -> int:
    """Say on stderr what a reader of the bill has to know, of one cluster where it is of several; how many of it are wrong with the bill."""
    stderr, of = terminal(stderr=True), f"{cluster}: " if cluster else ""
    wrong = 0
    for (flavor, model), length in found.unpriced.items():
        wrong += 1
        hours = decimal(length * 10_000 // 3_600_000, 4)
        stderr.print(
            f"[yellow]warning:[/yellow] {of}no price for cards of flavor {flavor or '?'} (model {legible(model)}): {hours} GPU-hours "
            "have no cost. Enter a price list with `kuelog price set -f FILE`",
            highlight=False,
        )
    for (flavor, resource), amount in found.unpriced_quota.items():
        wrong += 1
        unit = unit_of(resource)
        stderr.print(
            f"[yellow]warning:[/yellow] {of}no price for {resource} of flavor {flavor}: "
            f"{quotient(amount, unit.size * HOUR, 4)} {unit.name} have no cost. A price list that prices quota names every "
            'resource that is held: enter one with `kuelog price set -f FILE`, with price "0" for what is free',
            highlight=False,
        )
    for (device_class, _), length in found.unpriced_devices.items():
        wrong += 1
        stderr.print(
            f"[yellow]warning:[/yellow] {of}no price for devices of class {device_class}: {quotient(length, HOUR, 4)} "
            "Device-Hours have no cost. A price list that prices claimed devices names every class that is held, or has a price "
            'of the meter device without one: enter it with `kuelog price set -f FILE`, with price "0" for what is free',
            highlight=False,
        )
    for entry in found.unknown_entries:
        wrong += 1
        stderr.print(
            f"[yellow]warning:[/yellow] {of}a correction names entry {entry}, which the ledger has not or not yet"
        )
    for place in found.covered:
        stderr.print(
            f"note: {of}the correction at {place} has no effect: a credit had given back all of its entry before"
        )
    for one in reconcile(ledger.cards.book, ledger.entries).mismatches:
        wrong += 1
        stderr.print(f"[red]alarm:[/red] {of}{legible(_describe(one))}", highlight=False)
    for skew in read.skewed:
        wrong += 1
        stderr.print(
            f"[yellow]warning:[/yellow] {of}{skew.stream} {skew.sequence} of {skew.author} has a time that is wrong by {skew.by} ms: "
            "set the clock of its machine. The bill counts it where the messages around it are",
            highlight=False,
        )
    if read.late:
        stderr.print(
            f"note: {of}{read.late} messages have a time that their author contradicts before or after, by {read.latest} ms at "
            "most; they count where those around them are",
            highlight=False,
        )
    # What was entered later is on the log, too, and says nothing about cards.
    if window.until > ledger.at + 1:
        stderr.print(
            f"note: {of}the cluster was last heard of at {tables.moment(ledger.at)}: what goes on is counted up to then, and what comes later "
            "will be added to this period"
        )
    return wrong


def _write(
    ledger: Ledger,
    found: Bill,
    read: LogRead,
    asked: BillOptions,
    *,
    output: BillForm,
    out: Path | None,
    console: Console,
) -> None:
    match output:
        case BillForm.CSV:
            printed(flat.write_csv(out, flat.columns(found), flat.lines(found)))
        case BillForm.JSON | BillForm.YAML:
            text = form_of(bill_answer(ledger, found, read), AnswerForm(output))
            if out is None:
                printed(text)
            else:
                put(out, text.encode())
        case BillForm.PARQUET if out is not None:
            flat.write_flat_parquet(out, found)
        case BillForm.FOCUS:
            rows = focus.rows(ledger, found.window, asked.billed_to)
            printed(flat.write_focus(out, focus.names_of(ledger), rows))
        case _:
            tables.show_bill(ledger, found, console)
            console.print("as of " + ", ".join(f"{name} {last}" for name, last in read.upto.items()), style="dim")


def check_form(output: BillForm, out: Path | None, *, grouped: bool) -> None:
    """Whether a bill can be written so. Raises `BillRefused`."""
    if output is BillForm.PARQUET and out is None:
        raise BillRefused("Parquet goes into a file: name it with --out")
    if output is BillForm.FOCUS and grouped:
        raise BillRefused("a FOCUS data set has a row per charge: leave --group-by away, and group when you read it")


def _show_entries(found: Sequence[AnyEntry], console: Console) -> None:
    for entry in found:
        console.print(
            f"{entry.id}  {tables.moment(entry.since)} {tables.moment(entry.until)}  {entry.kind:<11} "
            f"{entry.holder.job}  {_what_is_held(entry)}  "
            f"{entry.began} .. {entry.ended or 'goes on'}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _what_is_held(entry: AnyEntry) -> str:
    if isinstance(entry, QuotaEntry):
        return f"{entry.amount} {entry.resource} of {entry.flavor}"
    if isinstance(entry, DeviceEntry):
        return f"{entry.count} device(s) of class {entry.device_class} by claim {entry.claim}"
    slice_ = entry.slice
    return f"{slice_.node} {slice_.card.uuid}  {slice_.memory} MiB {slice_.cores} cores"


def _describe(one: Mismatch) -> str:
    return (
        f"{one.node} {one.card} from {tables.moment(one.since)}: {one.what} of tenants {one.tenants}, of the card "
        f"{one.cards}"
    )
