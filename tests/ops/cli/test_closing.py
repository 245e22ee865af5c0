"""Months closed on the command line: audited, drawn up, approved by two people, entered, and the same ever after."""

import asyncio
from pathlib import Path

from events.billing import MonthClosed
from ops.files.reading import json_of
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
