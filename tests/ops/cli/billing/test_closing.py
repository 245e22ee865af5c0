"""Months closed on the command line: audited, drawn up, approved by two people, entered, and the same ever after."""

import asyncio
import gzip
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from events.billing import MonthClosed
from ops.files.reading import json_of
from services.runtime.log_port import Entry
from tests.ops.queries.billing.test_bill_commands import stored, told
from tests.ops.queries.billing.test_closed_months import three_months


def test_a_month_is_closed_by_two_people(tmp_path: Path) -> None:
    day = three_months(1, ("2026-09", "2026-10"))
    data, file = ("--data", str(tmp_path / "run")), tmp_path / "september.json"
    asyncio.run(stored(tmp_path / "run", day.entries))
    code, _, text = told("bill", "close", "2026-09", *data, "--statement", str(file))
    assert code == 2 and "witness" in text, "without evidence there is nothing that an audit could hold against"
    assert told("audit", "checkpoint", *data)[0] == 0
    code, text, warned = told("bill", "close", "2026-09", *data, "--statement", str(file), "--author", "eve")
    assert code == 0 and "invoice 2026-09-0001" in text, warned
    close = ("bill", "close", "2026-09", *data, "--approved", str(file))
    code, _, text = told(*close)
    assert code == 2 and "0 of 2 people have approved of it" in text
    for name in ("ann", "ben"):
        key = tmp_path / f"{name}.key"
        public = told("bill", "key", str(key))[1].strip()
        sign = ("bill", "approve", str(file), "--name", name, "--key", str(key))
        assert told(*sign)[0] == 0
        code, _, text = told(*close)
        assert code == 2 and f"{name} is no approver" in text
        assert told("bill", "approver", name, public, *data)[0] == 0
        code, _, text = told("bill", "approver", f"{name}2", public, *data)
        assert code == 2 and "one person, one key" in text
        if name == "ann":
            code, _, text = told(*close)
            assert code == 2 and "1 of 2 people have approved of it" in text
    changed = tmp_path / "changed.json"
    changed.write_text(file.read_text().replace('"eve"', '"ann"'))
    code, _, text = told("bill", "close", "2026-09", *data, "--approved", str(changed))
    assert code == 2 and "is not under this statement" in text
    code, text, warned = told(*close)
    assert code == 0 and "2026-09 is closed" in text, warned
    assert told(*close)[0] == 2, "once"
    event = json_of(file.read_bytes(), MonthClosed, file)
    code, text, _ = told("bill", "--from", "2026-09", "--to", "2026-10", *data, "-o", "focus")
    assert code == 0 and text.count("2026-09-0001-team") == event.rows
    assert told("bill", "closed", *data)[1].count(event.sha256) == 1
    _what_was_billed_outlives_the_log_that_it_was_billed_from(tmp_path, text, data)


def test_a_statement_that_is_no_file_is_one_clear_message(tmp_path: Path) -> None:
    day = three_months(1, ("2026-09", "2026-10"))
    data, folder = ("--data", str(tmp_path / "run")), str(tmp_path)
    asyncio.run(stored(tmp_path / "run", day.entries))
    assert told("audit", "checkpoint", *data)[0] == 0
    for words, problem in (
        (("close", "2026-09", *data, "--statement", folder), f"error: {folder} can't be written: Is a directory"),
        (("close", "2026-09", *data, "--approved", folder), f"error: {folder}: Is a directory"),
        (("approve", folder, "--name", "ann", "--key", "k"), f"error: {folder}: Is a directory"),
        (("report", "2026-09", *data, "--out", f"{folder}/no/r.json"), "r.json can't be written: No such file"),
    ):
        code, _, text = told("bill", *words)
        assert code == 2 and problem in text


def _what_was_billed_outlives_the_log_that_it_was_billed_from(tmp_path: Path, text: str, data: tuple[str, ...]) -> None:
    """Of another log, which comes to something else for the same month, as it might under a later version."""
    month = ("bill", "--from", "2026-09", "--to", "2026-10", "-o")
    archive = tmp_path / "archive"
    assert told("audit", "archive", str(archive), *data)[0] == 0
    kept = tmp_path / "run" / "witness" / "closed" / "2026-09.csv.gz"
    assert gzip.decompress(kept.read_bytes()).decode() == text
    assert (archive / "closed" / "2026-09.csv.gz").read_bytes() == kept.read_bytes()
    day = three_months(2, ("2026-09", "2026-10"))
    day.operate(closed_in(tmp_path / "september.json", day.entries))  # type: ignore[arg-type]
    other = ("--data", str(tmp_path / "other"))
    asyncio.run(stored(tmp_path / "other", day.entries))
    code, _, warned = told(*month, "focus", *other)
    assert code == 2 and "this version comes to" in warned and "--witness" in warned, "it is gone there"
    witness = ("--witness", str(tmp_path / "run" / "witness"))
    assert told(*month, "focus", *other, *witness)[:2] == (0, text)
    assert told(*month, "focus", *other, *witness, "--out", str(tmp_path / "billed.parquet"))[0] == 0
    assert pq.read_table(tmp_path / "billed.parquet").num_rows == text.count("\n") - 1
    assert told(*month, "json", *other, *witness)[0] == 2, "other forms are made from the log, and say so"
    kept.write_bytes(gzip.compress(text.replace("2026-09-0001", "2026-09-0002").encode()))
    code, _, warned = told(*month, "focus", *other, *witness)
    assert code == 2 and "this version comes to" in warned, "a data set that was changed is none"
    assert told(*month, "focus", *data)[:2] == (0, text), (
        "where the log still comes to it nothing is lost with the file"
    )


def closed_in(file: Path, entries: dict[str, list[Entry]]) -> MonthClosed:
    """The same closing on another log."""
    event = json_of(file.read_bytes(), MonthClosed, file)
    return msgspec.structs.replace(event, upto={name: len(found) for name, found in entries.items()})
