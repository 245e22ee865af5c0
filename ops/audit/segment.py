"""One segment of an archive: messages as a Parquet file, the stored bytes beside columns that are good to query."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from services.log_port import Entry

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


ROWS_AT_MOST = 1_000_000
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
        for name, value in _told(entry.data).items():
            rows[name].append(value)
    return pa.table(rows, schema=SCHEMA)


def to_parquet(entries: Sequence[Entry]) -> bytes:
    """Messages as the bytes of a Parquet file."""
    out = io.BytesIO()
    pq.write_table(to_table(entries), out, compression="zstd")
    return out.getvalue()


def from_parquet(data: bytes) -> list[Entry]:
    """The messages of a Parquet file, in its order. Raises `SegmentUnreadable`."""
    try:
        if pq.read_metadata(io.BytesIO(data)).num_rows > ROWS_AT_MOST:
            raise SegmentUnreadable(f"it says that it has more than {ROWS_AT_MOST} rows")
        # Its own thread pool and its checksums: a damaged page must be an error, not other rows.
        there = [name for name in _KEPT if name != "stored" or name in pq.read_schema(io.BytesIO(data)).names]
        table = pq.read_table(io.BytesIO(data), columns=there, use_threads=False)
        # Older archives don't say when a message was stored.
        columns = [table.column(name).to_pylist() if name in there else [0] * len(table) for name in _KEPT]
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
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, MemoryError) as problem:
        raise SegmentUnreadable(str(problem).partition("\n")[0].rstrip(".")) from problem


def file_hash(data: bytes) -> str:
    """The hash by which the list of segments names a file."""
    return hashlib.sha256(data).hexdigest()


def _told(data: bytes) -> Mapping[str, Any]:
    """The columns that follow from the bytes; empty for what this version can't read."""
    nothing: dict[str, Any] = {"time": None, "author": None, "rules": None, "types": [], "workloads": []}
    try:
        plain: Any = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return nothing
    if not isinstance(plain, dict):
        return nothing
    told = plain.get("events", [plain.get("fact")])
    events = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    at = plain.get("at")
    return {
        "time": at if isinstance(at, int) and 0 <= at < _NEVER else None,
        "author": str(plain.get("author", "")),
        "rules": str(plain.get("rules", "")),
        "types": [str(one.get("type", "")) for one in events],
        "workloads": sorted({str(one["workload"]) for one in events if "workload" in one}),
    }
