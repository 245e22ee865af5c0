"""Small files that hold what no memory holds: each is refused before it is unpacked, by what the list of segments says."""

import io
import subprocess
import sys
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.production.archive.archive import LIST, Segment, read_archive, read_segment, segments_of, write_archive
from ops.production.archive.errors import ArchiveDamaged
from ops.production.archive.folder import Folder
from ops.production.archive.segments.parquet_reading import FileBounds
from ops.production.archive.segments.segment import SCHEMA, SegmentUnreadable, file_hash, from_parquet, to_table
from ops.production.log.streams import PARTITION
from ops.queries.audit.query import query_archive
from tests.ops.queries.audit.logs import Log, evidence_of, key_of, log_of

GIB = 1 << 30
ROWS = 100
TEXTS = [name for name in SCHEMA.names if pa.types.is_string(SCHEMA.field(name).type)]
LISTS = [name for name in SCHEMA.names if pa.types.is_list(SCHEMA.field(name).type)]


@pytest.fixture(scope="module")
def log() -> Log:
    return {PARTITION: log_of(ROWS)[PARTITION]}


@pytest.fixture
def archive(log: Log, tmp_path: Path) -> Path:
    write_archive(log, evidence_of(log, key_of(1)), str(tmp_path / "archive"))
    return tmp_path / "archive"


def packed(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def replaced(log: Log, column: str, values: pa.Array) -> pa.Table:
    table = to_table(log[PARTITION])
    return table.set_column(table.column_names.index(column), SCHEMA.field(column), values)


def repeated(log: Log, column: str, times: int) -> bytes:
    """One long value in every row: it stands in the file once."""
    value = b"x" * (64 << 10)
    one = value if column == "data" else [value.decode()] * times if column in LISTS else value.decode()
    return packed(replaced(log, column, pa.array([one] * ROWS, SCHEMA.field(column).type)))


def placed(archive: Path, bomb: bytes, **fields: int) -> Segment:
    """The bomb in the place of the file, and a list that knows it by its hash."""
    (segment,) = segments_of(Folder(str(archive)))
    listed = msgspec.structs.replace(segment, sha256=file_hash(bomb), **fields)
    (archive / segment.file).write_bytes(bomb)
    (archive / LIST).write_bytes(msgspec.json.encode([listed]))
    return listed


def test_the_list_says_how_much_each_file_holds_and_honest_files_are_read(archive: Path, log: Log) -> None:
    (segment,) = segments_of(Folder(str(archive)))
    assert (
        sum(len(one.data) for one in log[PARTITION]) < segment.bytes < 2 * sum(len(one.data) for one in log[PARTITION])
    )
    assert read_archive(str(archive)) == (log, [])
    assert query_archive(str(archive), "SELECT count(*) FROM messages").rows == [(ROWS,)]
    before = msgspec.json.decode((archive / LIST).read_bytes())
    (archive / LIST).write_bytes(msgspec.json.encode([{k: v for k, v in before[0].items() if k != "bytes"}]))
    assert read_archive(str(archive)) == (log, []), "older lists don't say so"


@pytest.mark.parametrize("column", ["data", *TEXTS])
def test_a_value_that_repeats_is_not_unpacked_more_often_than_it_may(archive: Path, log: Log, column: str) -> None:
    bomb = repeated(log, column, 1)
    assert len(bomb) < 100_000
    segment = placed(archive, bomb)
    if column in ("author", "rules"):
        assert read_segment(Folder(str(archive)), segment)[0] == log[PARTITION], "nobody reads it to read the messages"
    else:
        found, problem = read_segment(Folder(str(archive)), segment)
        assert found == [] and "may hold" in problem
    with pytest.raises(ArchiveDamaged, match="may hold"):
        query_archive(str(archive), "SELECT count(*) FROM messages")


@pytest.mark.parametrize("column", LISTS)
def test_lists_that_repeat_a_value_are_not_unpacked_for_a_query(archive: Path, log: Log, column: str) -> None:
    placed(archive, repeated(log, column, 3))
    with pytest.raises(ArchiveDamaged, match="may hold"):
        query_archive(str(archive), "SELECT count(*) FROM messages")


def test_a_file_with_more_rows_than_the_list_says_is_not_unpacked(log: Log) -> None:
    many = packed(pa.concat_tables([to_table(log[PARTITION])] * 3))
    with pytest.raises(SegmentUnreadable, match="it says that it has 300 rows, and may have 200"):
        from_parquet(many, FileBounds(rows=2 * ROWS, bytes=GIB))


def unpacked_in_half_a_gibibyte(file: Path) -> str:
    """What reading a file says in a process that may have half a GiB more than it has once everything is imported."""
    script = (
        "import resource, sys, pathlib\n"
        "from ops.production.archive.segments.segment import SegmentUnreadable, from_parquet\n"
        "from ops.production.archive.segments.parquet_reading import FileBounds\n"
        "data = pathlib.Path(sys.argv[1]).read_bytes()\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        f"resource.setrlimit(resource.RLIMIT_AS, (used + {GIB // 2},) * 2)\n"
        "try:\n    from_parquet(data, FileBounds(rows=1000, bytes=1 << 20))\n"
        "except SegmentUnreadable as problem:\n    print(problem)\n"
    )
    return subprocess.run([sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is bounded on Linux only")
def test_a_file_whose_pages_unpack_to_a_gibibyte_is_refused_before_that(log: Log, tmp_path: Path) -> None:
    part = replaced({PARTITION: log[PARTITION][:8]}, "data", pa.array([b"\0" * (16 << 20)] * 8, pa.binary()))
    with pq.ParquetWriter(tmp_path / "bomb", SCHEMA, compression="zstd", use_dictionary=False) as writer:
        for _ in range(8):
            writer.write_table(part)
    assert (tmp_path / "bomb").stat().st_size < GIB // 1000
    assert "it says that it holds more than the 1048576 bytes" in unpacked_in_half_a_gibibyte(tmp_path / "bomb")


def varint(value: int, length: int = 0) -> bytes:
    """A number as Thrift writes it, on so many bytes."""
    digits, left = list[int](), 2 * value
    while left or len(digits) < length or not digits:
        digits.append(left & 127)
        left >>= 7
    return bytes(digit | 128 for digit in digits[:-1]) + bytes(digits[-1:])


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is bounded on Linux only")
def test_pages_of_which_the_list_of_contents_says_that_they_are_small_are_refused_as_well(
    log: Log, tmp_path: Path
) -> None:
    part = replaced({PARTITION: log[PARTITION][:8]}, "data", pa.array([b"\0" * (100 << 20)] * 8, pa.binary()))
    pq.write_table(part, tmp_path / "bomb", compression="zstd", use_dictionary=False, write_statistics=False)
    told = pq.read_metadata(tmp_path / "bomb").row_group(0)
    for size in (told.column(SCHEMA.names.index("data")).total_uncompressed_size, told.total_byte_size):
        data = (tmp_path / "bomb").read_bytes()
        assert varint(size) in data
        (tmp_path / "bomb").write_bytes(data.replace(varint(size), varint(1000, len(varint(size)))))
    assert pq.read_metadata(tmp_path / "bomb").row_group(0).total_byte_size == 1000
    assert "its pages say that they hold more than the 1048576 bytes" in unpacked_in_half_a_gibibyte(tmp_path / "bomb")
