"""A bill as one flat table, for CSV and Parquet: exact integers of time, money in plain decimals."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from events.timestamp import format_exactly
from ops.queries.billing.focus import QUANTITY_PLACES
from ops.queries.billing.focus_columns import ALL_COLUMNS, FOCUS_VERSION, ColumnType
from ops.queries.billing.problems import BillRefused
from projections.billing.lines.charge import HOUR
from projections.billing.lines.totals import Bill, BillRow
from projections.billing.terms.money import PLACES, decimal, quotient

INTEGERS = ("memory_mib_ms", "core_percent_ms", "card_ms", "exclusive_ms", "unpriced_lines", "unpriced_card_ms")
DECIMALS = ("dominant_share_gpu_hours", "list_cost", "cost")
_BATCH = 20_000


def columns(bill: Bill) -> tuple[str, ...]:
    """The names of the columns."""
    groups = tuple(name.replace("-", "_") for name in bill.group_by)
    return ("since", "until", *groups, "kind", *INTEGERS, *DECIMALS, "currency")


def lines(bill: Bill) -> Iterator[tuple[str, ...]]:
    """A line of texts per group and kind; an empty text where there is no cost."""
    since, until = format_exactly(bill.window.since), format_exactly(bill.window.until)
    for row in bill.rows:
        yield (since, until, *row.group, str(row.kind), *_numbers(row), _currency(bill, row))


def write_csv(path: Path | None, names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """CSV with Unix line ends, into a file, or as a text where none is named."""
    if path is None:
        text = io.StringIO()
        _csv(text, names, rows)
        return text.getvalue()
    with opened(path) as file:
        _csv(file, names, rows)
    return ""


def write_flat_parquet(path: Path, bill: Bill) -> None:
    """The same as Parquet, with exact types."""
    names = columns(bill)
    kinds = [_flat_type(name) for name in names]
    _parquet(path, pa.schema(list(zip(names, kinds, strict=True))), lines(bill))


def write_focus(path: Path | None, names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A FOCUS data set into a file, Parquet if it is called so and CSV otherwise, or as a text where none is named."""
    if path is None or path.suffix != ".parquet":
        return write_csv(path, names, rows)
    write_focus_parquet(path, names, rows)
    return ""


def write_focus_parquet(path: Path, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A FOCUS data set as Parquet, with the version in its metadata."""
    kinds: dict[ColumnType, pa.DataType] = {
        ColumnType.STRING: pa.string(),
        ColumnType.JSON: pa.string(),
        ColumnType.INTEGER: pa.int64(),
        ColumnType.TIME: pa.timestamp("ms", tz="UTC"),
    }
    columns = {one.name: one for one in ALL_COLUMNS}
    fields = [
        (one.name, _decimal_type(one.name) if one.kind is ColumnType.DECIMAL else kinds[one.kind])
        for one in (columns[name] for name in names)
    ]
    schema = pa.schema(fields, metadata={"FocusVersion": FOCUS_VERSION, "DataGenerator": "kuelog"})
    _parquet(path, schema, rows)


def _decimal_type(name: str) -> pa.DataType:
    """Exact quantities, and prices that are exact in another currency, have more places than costs."""
    places = QUANTITY_PLACES if name.endswith("Quantity") else 2 * PLACES if name.endswith("UnitPrice") else PLACES
    return pa.decimal128(38, places)


def _numbers(row: BillRow) -> Iterator[str]:
    sums = row.totals
    for number in (sums.memory, sums.cores, sums.cards, sums.exclusive, sums.unpriced, sums.unpriced_time):
        yield str(number)
    share = sums.dominant_share
    yield quotient(share.numerator, share.denominator * HOUR, PLACES)
    yield "" if sums.list_cost is None else decimal(sums.list_cost)
    yield "" if sums.cost is None else decimal(sums.cost)


def _currency(bill: Bill, row: BillRow) -> str:
    return "" if row.totals.cost is None else "/".join(bill.total)


def _flat_type(name: str) -> pa.DataType:
    if name in INTEGERS:
        return pa.decimal128(38, 0)
    if name in DECIMALS:
        return pa.decimal128(38, PLACES)
    return pa.timestamp("ms", tz="UTC") if name in {"since", "until"} else pa.string()


def _csv(file: Any, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)


def _parquet(path: Path, schema: pa.Schema, rows: Iterable[Sequence[str]]) -> None:
    try:
        with pq.ParquetWriter(path, schema) as writer:
            batch: list[Sequence[str]] = []
            for row in rows:
                batch.append(row)
                if len(batch) == _BATCH:
                    writer.write_table(_table(schema, batch))
                    batch = []
            writer.write_table(_table(schema, batch))
    except OSError as problem:
        raise BillRefused(f"{path} can't be written: {problem.strerror or problem}") from problem


def _table(schema: pa.Schema, rows: Sequence[Sequence[str]]) -> pa.Table:
    texts = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.table([_array(one, field.type) for one, field in zip(texts, schema, strict=True)], schema=schema)


def _array(texts: Sequence[str], kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(text) if text else None for text in texts], kind)
    if pa.types.is_integer(kind):
        return pa.array([int(text) if text else None for text in texts], kind)
    if pa.types.is_timestamp(kind):
        found = pa.array([text.removesuffix("Z") if text else None for text in texts], pa.string())
        return found.cast(pa.timestamp("ms")).cast(kind)
    return pa.array([text or None for text in texts], kind)


def opened(path: Path, mode: str = "w") -> Any:
    """A file to write to. Raises `BillRefused`."""
    try:
        return path.open(mode) if "b" in mode else path.open(mode, encoding="utf-8", newline="")
    except OSError as problem:
        raise BillRefused(f"{path} can't be written: {problem.strerror}") from problem
