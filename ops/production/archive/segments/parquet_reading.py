"""A Parquet file that others wrote, read within bounds: a small file can say that it holds more than any memory does.

What it says of itself is held against the bounds before anything is unpacked. Values that repeat are unpacked once, and counted
as often as they stand there before they are. The list of contents and each page say how large they are unpacked; both have to.
"""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.files.reading import Unreadable
from ops.production.archive.segments.parquet_pages import pages_of

_ROWS = 1024
"""So many rows are unpacked at a time."""
_MIB = 1 << 20


class FileBounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much a file may hold."""

    rows: int
    bytes: int
    """Of all values together, each as often as it stands there."""


def parquet_columns(data: bytes, names: Sequence[str], bounds: FileBounds) -> dict[str, list[Any]]:
    """The values of those of these columns that are there. Raises `Unreadable`, and what Arrow raises."""
    found: dict[str, list[Any]] = {}
    for batch in _batches(data, names, bounds):
        for name in batch.schema.names:
            found.setdefault(name, []).extend(_values(batch.column(name)))
    return found


def check_parquet(data: bytes, names: Sequence[str], bounds: FileBounds) -> None:
    """That a file holds no more in these columns. Raises `Unreadable`, and what Arrow raises."""
    for _ in _batches(data, names, bounds):
        pass


def _batches(data: bytes, names: Sequence[str], bounds: FileBounds) -> Iterator[pa.RecordBatch]:
    metadata = pq.read_metadata(io.BytesIO(data))
    if metadata.num_rows > bounds.rows:
        raise Unreadable(f"it says that it has {metadata.num_rows} rows, and may have {bounds.rows}")
    if _packed(metadata, names) > 2 * bounds.bytes + _MIB:
        raise Unreadable(f"it says that it holds more than the {bounds.bytes} bytes that it may hold")
    if _unpacked(data, metadata, names) > 2 * bounds.bytes + _MIB:
        raise Unreadable(f"its pages say that they hold more than the {bounds.bytes} bytes that it may hold")
    repeated = [column.path for column in map(metadata.schema.column, range(metadata.num_columns)) if _is_text(column)]
    file = pq.ParquetFile(io.BytesIO(data), read_dictionary=repeated)
    there = [name for name in names if name in file.schema_arrow.names]
    left = bounds.bytes + _MIB
    for batch in file.iter_batches(_ROWS, columns=there, use_threads=False):
        left -= sum(_size(column) for column in batch.columns)
        if left < 0:
            raise Unreadable(f"it holds more than the {bounds.bytes} bytes that it may hold")
        yield batch


def _packed(metadata: pq.FileMetaData, names: Sequence[str]) -> int:
    """How large the columns are behind their compression, as far as the list of contents says so."""
    return sum(one.total_uncompressed_size for one in _chunks(metadata, names))


def _unpacked(data: bytes, metadata: pq.FileMetaData, names: Sequence[str]) -> int:
    """How large they are by what stands before each page, which is what Arrow sets memory aside for."""
    found = 0
    for one in _chunks(metadata, names):
        begin = min(one.dictionary_page_offset or one.data_page_offset, one.data_page_offset)
        found += sum(page.unpacked for page in pages_of(data, begin, begin + one.total_compressed_size))
    return found


def _chunks(metadata: pq.FileMetaData, names: Sequence[str]) -> list[pq.ColumnChunkMetaData]:
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    return [one for one in columns if one.path_in_schema.partition(".")[0] in names]


def _is_text(column: pq.ColumnSchema) -> bool:
    return column.physical_type == "BYTE_ARRAY"


def _size(column: pa.Array) -> int:
    if pa.types.is_dictionary(column.type):
        lengths = pc.call_function("binary_length", [column.dictionary])
        return pc.call_function("sum", [lengths.take(column.indices)]).as_py() or 0
    if pa.types.is_list(column.type):
        return _size(column.flatten())
    return column.nbytes


def _values(column: pa.Array) -> list[Any]:
    if not pa.types.is_dictionary(column.type):
        return column.to_pylist()
    values = column.dictionary.to_pylist()
    return [None if index is None else values[index] for index in column.indices.to_pylist()]
