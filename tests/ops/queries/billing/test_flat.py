"""A bill as a flat table: a line's period is the one that was billed, to its end, and every form has the same numbers to the last digit."""

import csv
from decimal import Decimal
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from events.billing import ExchangeRateSet
from events.subjects import CONTROL
from events.timestamp import parse_timestamp
from ops.queries.billing.answer import bill_answer
from ops.queries.billing.flat import columns, lines, write_csv, write_flat_parquet, write_focus
from ops.queries.billing.focus import names_of, rows
from ops.queries.billing.reading import LogRead
from projections.billing.entries.entry import Window
from projections.billing.lines.totals import bill
from projections.log_position import LogPosition
from tests.laws.test_ledger import lived
from tests.projections.billing.quota.test_quota_lines import CPU, FINISHED, LIST, told
from tests.projections.billing.test_entered_lines import ADMITTED, RESERVED, SUBMITTED


def test_the_period_of_a_line_contains_its_end() -> None:
    _, _, ledger, whole = lived(3)
    window = Window(whole.since, whole.since + (whole.until - whole.since) // 1000 * 1000 + 1)
    found = bill(ledger, window, ("tenant",))
    names = columns(found)
    for line in lines(found):
        row = dict(zip(names, line, strict=True))
        assert (parse_timestamp(row["since"]), parse_timestamp(row["until"])) == (window.since, window.until)


def test_csv_parquet_and_json_have_the_same_numbers(tmp_path: Path) -> None:
    _, _, ledger, window = lived(3)
    found = bill(ledger, window, ("tenant", "queue"))
    table, file = (
        list(csv.DictReader(write_csv(None, columns(found), lines(found)).splitlines())),
        tmp_path / "b.parquet",
    )
    write_flat_parquet(file, found)
    parquet, answer = pq.read_table(file).to_pylist(), bill_answer(ledger, found, LogRead(upto={}))["lines"]
    plain = msgspec.json.decode(msgspec.json.encode(answer), type=list[dict[str, str | None]])
    assert len(table) == len(parquet) == len(plain) > 1
    for name in ("memory_mib_ms", "card_ms", "dominant_share_gpu_hours", "list_cost", "cost"):
        texts = [one[name] for one in table]
        assert texts == [one[name] or "" for one in plain]
        assert [Decimal(text) if text else None for text in texts] == [one[name] for one in parquet]


def test_a_price_in_another_currency_is_exact_in_parquet_as_it_is_in_csv(tmp_path: Path) -> None:
    exact = msgspec.structs.replace(CPU, unit_price="0.0123456789")
    ledger = told(
        msgspec.structs.replace(LIST, currency="USD", billed_in="EUR", prices=(exact,)),
        *(SUBMITTED, RESERVED, ADMITTED, FINISHED),
    )
    rate = ExchangeRateSet(currency="USD", billed_in="EUR", rate="0.9876543217", starts=0, source="bank")
    ledger.prices.enter(rate, LogPosition(partition=CONTROL, sequence=2, at=0))
    names, window = names_of(ledger), Window(0, 10_000)
    text = list(csv.DictReader(write_focus(None, names, rows(ledger, window)).splitlines()))
    file = tmp_path / "focus.parquet"
    write_focus(file, names, rows(ledger, window))
    prices = [one["ListUnitPrice"] for one in text if one["ListUnitPrice"]]
    assert prices and set(prices) == {str(Decimal("0.0123456789") * Decimal("0.9876543217"))}
    for one, other in zip(text, pq.read_table(file).to_pylist(), strict=True):
        for name in names:
            if name.endswith(("Cost", "Price", "Quantity")):
                assert (Decimal(one[name]) if one[name] else None) == other[name], name
