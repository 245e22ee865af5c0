"""`kuelog audit archive`: a log is audited, signed where the key is at hand, and copied with its proof."""

import asyncio
import time
from pathlib import Path

import msgspec
from rich.console import Console

from events.subjects import CONTROL
from ops.cli.audit.auditing import AuditSource, examined, found_of, is_refused, lack_beginning, sign_all
from ops.cli.failures import known_failures
from ops.production.archive.archive import LIST, write_archive
from ops.production.archive.data_sets import copy_data_sets
from ops.production.archive.folder import Folder
from ops.production.archive.proof.evidence import load_evidence
from ops.production.archive.proof.keys import KEY
from ops.queries.billing.closed_months import closings


def run_archive(source: AuditSource, to: str, *, console: Console) -> int:
    """Audit the log, sign what there is, copy what is not archived yet, read it back; 1 when the log is not as it was.

    Without the key nothing is signed, and what is therefore not archived is named on the console.
    """
    with known_failures() as outcome:
        source = msgspec.structs.replace(source, archive="")
        evidence = load_evidence(source.beside)
        with found_of(source) as found, console.status("reading"):
            report = examined(found, evidence)
        if lack_beginning(report) and Folder(to).read(LIST) is not None:
            # What was rolled away is in the archive that is to go on.
            source = msgspec.structs.replace(source, archive=to)
            with found_of(source) as found, console.status("reading"):
                report = examined(found, evidence)
        if not report.changes and (Path(source.beside) / KEY).exists():
            asyncio.run(sign_all(source, Path(source.beside)))
            evidence = load_evidence(source.beside)
            with found_of(source) as found, console.status("reading"):
                report = examined(found, evidence)
        if is_refused(report, source, "archived", console):
            outcome.code = 1
            return outcome.code
        begun = time.perf_counter()
        with found_of(source) as found:
            fresh = write_archive(found.entries, evidence, to, lambda text: console.print(f"  {text}", style="dim"))
            closed = [(one.event.month, one.event.sha256) for one in closings({CONTROL: tuple(found.entries[CONTROL])})]
        for month in copy_data_sets(source.beside, to, closed):
            console.print(f"  what was billed for {month}", style="dim")
        took = time.perf_counter() - begun
        count = sum(one.last - one.first + 1 for one in fresh)
        console.print(f"{count:,} messages archived in {len(fresh)} files and read back in {took:.1f} s: {to}")
        for one in report.streams:
            if one.messages > one.signed:
                console.print(
                    f"[yellow]left out:[/yellow] {one.messages - one.signed:,} message(s) of {one.stream} from "
                    f"{one.signed + 1} on, which nobody has signed yet: `kuelog audit checkpoint`, then archive again",
                    highlight=False,
                )
        outcome.code = 0
    return outcome.code
