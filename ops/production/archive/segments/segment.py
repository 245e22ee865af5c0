"""One segment of an archive: messages as a Parquet file, the stored bytes beside columns that are good to query."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from ops.production.archive.segments.parquet_reading import FileBounds, check_parquet, parquet_columns
from services.runtime.log_port import Entry

SCHEMA = pa.schema(
    [
        ("stream", pa.string()),
        ("sequence", pa.int64()),
        ("subject", pa.string()),
        ("message_id", pa.string()),
        ("data", pa.binary()),
        ("trace", pa.string()),
        ("stored", pa.int64()),
        ("time", pa.timestamp("ms")),
        ("author", pa.string()),
        ("rules", pa.string()),
        ("types", pa.list_(pa.string())),
        ("workloads", pa.list_(pa.string())),
    ]
)
"""The first five columns are what is proved; the rest follows from them, but for trace and time of storing, which no proof covers."""


DEFAULT_BOUNDS = FileBounds(rows=1_000_000, bytes=2 << 30)
"""The bounds of a segment of which the list does not say how much it holds."""
_A_NUMBER = 8
_NEVER = 1 << 53
_KEPT = ("stream", "sequence", "subject", "message_id", "data", "trace", "stored")


class SegmentUnreadable(Exception):
    """The bytes are no segment."""


def to_table(entries: Sequence[Entry]) -> pa.Table:
    """Messages as a table."""
    rows: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for entry in entries:
        for name in _KEPT:
            rows[name].append(getattr(entry, name))
        for name, value in _derived_columns(entry.data).items():
            rows[name].append(value)
    return pa.table(rows, schema=SCHEMA)


def to_parquet(entries: Sequence[Entry]) -> bytes:
    """Messages as the bytes of a Parquet file."""
    out = io.BytesIO()
    pq.write_table(to_table(entries), out, compression="zstd")
    return out.getvalue()


def size_of(entries: Sequence[Entry]) -> int:
    """How many bytes the columns of messages have of which the file is read back, unpacked."""
    texts = (len(one.subject.encode()) + len(one.message_id.encode()) + len(one.trace.encode()) for one in entries)
    named = sum(len(one.stream.encode()) + 2 * _A_NUMBER + len(one.data) for one in entries)
    return named + sum(texts)


def check_segment(data: bytes, bounds: FileBounds) -> None:
    """That no column of a file holds more than it may. Raises `SegmentUnreadable`."""
    try:
        check_parquet(data, SCHEMA.names, bounds)
    except _UNREADABLE as problem:
        raise SegmentUnreadable(_first_line(problem)) from problem


def from_parquet(data: bytes, bounds: FileBounds = DEFAULT_BOUNDS) -> list[Entry]:
    """The messages of a Parquet file, in its order, if it holds no more than it may. Raises `SegmentUnreadable`."""
    try:
        found = parquet_columns(data, _KEPT, bounds)
        rows = len(next(iter(found.values()), ()))
        # Older archives don't say when a message was stored.
        columns = [found[name] if name != "stored" else found.get(name, [0] * rows) for name in _KEPT]
        return [
            Entry(
                stream=stream,
                sequence=sequence,
                subject=subject,
                message_id=message_id,
                data=content,
                trace=trace or "",
                stored=stored or 0,
            )
            for stream, sequence, subject, message_id, content, trace, stored in zip(*columns, strict=True)
            if isinstance(content, bytes)
        ]
    except _UNREADABLE as problem:
        raise SegmentUnreadable(_first_line(problem)) from problem


_UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, IndexError, MemoryError)


def _first_line(problem: BaseException) -> str:
    return str(problem).partition("\n")[0].rstrip(".")


def file_hash(data: bytes) -> str:
    """The hash by which the list of segments names a file."""
    return hashlib.sha256(data).hexdigest()


def _derived_columns(data: bytes) -> Mapping[str, Any]:
    """The columns that follow from the bytes; empty for what this version can't read."""
    nothing: dict[str, Any] = {"time": None, "author": None, "rules": None, "types": [], "workloads": []}
    try:
        plain: Any = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return nothing
    if not isinstance(plain, dict):
        return nothing
    items = plain.get("events", [plain.get("fact")])
    events = [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []
    at = plain.get("at")
    return {
        "time": at if isinstance(at, int) and 0 <= at < _NEVER else None,
        "author": str(plain.get("author", "")),
        "rules": str(plain.get("rules", "")),
        "types": [str(one.get("type", "")) for one in events],
        "workloads": sorted({str(one["workload"]) for one in events if "workload" in one}),
    }
