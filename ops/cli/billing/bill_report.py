"""`kuelog bill report`: a month for whoever signs it, as HTML, PDF or JSON."""

from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from ops.cli.audit.auditing import AuditSource, examined, found_of
from ops.cli.failures import known_failures
from ops.cli.log_reading import opened_log
from ops.production.archive.proof.evidence import load_evidence
from ops.queries.billing.month_report import MonthReport, month_report
from ops.queries.billing.problems import BillRefused, put
from ops.queries.billing.report_pages import html, pdf
from ops.terminal.form import AnswerForm, form_of

_WRITERS: dict[str, Callable[[MonthReport], bytes]] = {
    ".html": lambda report: html(report).encode(),
    ".pdf": pdf,
    ".json": lambda report: form_of(report, AnswerForm.JSON).encode(),
}


def run_report(source: AuditSource, month: str, out: Path, *, console: Console) -> int:
    """Write the report of a month; 1 when something in it has to be explained."""
    with known_failures() as outcome:
        if out.suffix not in _WRITERS:
            raise BillRefused(f"{out} is none of {', '.join(_WRITERS)}: name a file that ends so")
        evidence = load_evidence(source.beside)
        with found_of(source) as found:
            audit = examined(found, evidence)
        with opened_log(source) as entries:
            report = month_report(entries, month, audit)
        put(out, _WRITERS[out.suffix](report))
        console.print(f"{out}: {report.standing}", highlight=False)
        outcome.code = 0 if report.sound else 1
    return outcome.code
