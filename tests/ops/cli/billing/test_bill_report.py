"""The report of a month, as pages that an auditor can sign: what is in it, and that nothing in it is taken for markup."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from ops.production.archive.finding import AuditFinding, Covered, Report
from ops.queries.billing.month_report import MonthReport, ReportSection, month_report
from ops.queries.billing.report_pages import html, pdf
from tests.ops.queries.billing.test_bill_commands import stored, told
from tests.ops.queries.billing.test_closed_months import three_months

SOUND = Report(streams=(Covered(stream="LOG_0", messages=3, signed=3, key="k" * 32, root="r" * 64),), findings=())


def titles(report: MonthReport) -> dict[str, ReportSection]:
    return {one.title: one for one in report.sections}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    data = ("--data", str(folder / "run"))
    asyncio.run(stored(folder / "run", three_months(1, ("2026-09", "2026-10")).entries))
    assert told("audit", "checkpoint", *data)[0] == 0
    file = folder / "september.json"
    assert told("bill", "close", "2026-09", *data, "--statement", str(file))[0] == 0
    for name in ("ann", "ben"):
        key = folder / f"{name}.key"
        public = told("bill", "key", str(key))[1].strip()
        assert told("bill", "approve", str(file), "--name", name, "--key", str(key))[0] == 0
        assert told("bill", "approver", name, public, *data)[0] == 0
    assert told("bill", "close", "2026-09", *data, "--approved", str(file))[0] == 0
    return folder


def test_a_closed_month_has_its_proof_and_who_approved(run: Path, tmp_path: Path) -> None:
    data, out = ("--data", str(run / "run")), tmp_path / "report.json"
    code, _, warned = told("bill", "report", "2026-09", *data, "--out", str(out))
    report = json.loads(out.read_text())
    sections = {one["title"]: one for one in report["sections"]}
    assert code == (0 if report["sound"] else 1), warned
    assert report["standing"].startswith("Closed as invoice 1 at CONTROL ")
    closed = json.loads((run / "september.json").read_text())
    assert any(f"SHA-256 {closed['sha256']}" in row for row in sections["Proofs"]["rows"])
    assert [row[0] for row in sections["Approvals"]["rows"]] == ["ann", "ben"]
    assert {row[0] for row in sections["Proofs"]["rows"]} >= {"FACTS", "LOG_0", "DEVICES_default"}
    (total,) = [row[-1] for row in sections["What it costs"]["rows"] if row[0] == "total"]
    assert [total] == [f"{amount} {currency}" for currency, amount in closed["totals"].items()]
    deciders = {(row[0], row[1]) for row in sections["Who decided, and who told what happened"]["rows"]}
    assert deciders >= {("watcher", "FACTS"), ("admitter", "LOG_0"), ("accountant", "DEVICES_default")}
    assert int(dict(sections["What ran"]["rows"])["admitted"]) > 0


def test_it_is_written_as_html_and_as_pdf_and_nothing_else(run: Path, tmp_path: Path) -> None:
    data = ("--data", str(run / "run"))
    for suffix, begin in ((".html", b"<!doctype html>"), (".pdf", b"%PDF-1")):
        out = tmp_path / f"report{suffix}"
        assert told("bill", "report", "2026-10", *data, "--out", str(out))[0] in (0, 1)
        assert out.read_bytes().startswith(begin)
    code, _, warned = told("bill", "report", "2026-10", *data, "--out", str(tmp_path / "report.doc"))
    assert code == 2 and "name a file that ends so" in warned
    code, _, warned = told("bill", "report", "2026-13", *data, "--out", str(tmp_path / "no.html"))
    assert code == 2 and "is no month" in warned and not (tmp_path / "no.html").exists()


def test_what_is_amiss_is_an_exception_and_nothing_of_it_is_markup() -> None:
    day = three_months(1, ("2026-09", "2026-10"))
    findings = (AuditFinding(stream="LOG_0", sequence=7, what="changed", detail="<b>is</b> not € what 漢 it was"),)
    report = month_report(day.entries, "2026-09", Report(streams=SOUND.streams, findings=findings))
    assert not report.sound
    rows = titles(report)["Exceptions"].rows
    assert ("", "audit: changed", "<b>is</b> not € what 漢 it was", "LOG_0 7") in rows
    page = html(report)
    assert "&lt;b&gt;is&lt;/b&gt; not € what 漢 it was" in page and "<b>" not in page
    assert "Something has to be explained" in page
    assert re.search(r"https?://", page) is None, "it needs nothing from elsewhere"
    assert pdf(report) == pdf(report), "the same report is the same file"
    assert len(pdf(report)) > 2000


def test_a_month_in_which_nothing_happened_says_so() -> None:
    day = three_months(1, ("2026-09", "2026-10"))
    report = month_report(day.entries, "2027-03", SOUND)
    page = html(report)
    for none in ("Nobody held a card.", "No budget reached a threshold.", "nobody has approved of it"):
        assert none in page
