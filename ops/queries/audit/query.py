"""SQL over a log or an archive: the views messages, commits, facts and events, through DuckDB."""

import tempfile
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import duckdb
import fsspec.core
import pyarrow as pa
from pyarrow import dataset, parquet
from pyarrow.fs import FSSpecHandler, PyFileSystem

from ops.production.archive.archive import check_files, segments_of
from ops.production.archive.errors import FolderUnreadable, QueryRefused
from ops.production.archive.folder import Folder
from ops.production.archive.segments.parts import files_of
from ops.production.archive.segments.segment import SCHEMA, to_table
from services.runtime.log_port import Entry

_VIEWS = """
CREATE VIEW commits AS
    SELECT stream, sequence, time, author, rules, len(types) AS events, types, workloads,
           TRY_CAST(try(decode(data)) AS JSON) AS body
    FROM messages WHERE stream <> 'FACTS';
CREATE VIEW facts AS
    SELECT sequence, time, author, types[1] AS type, workloads[1] AS workload,
           TRY_CAST(try(decode(data)) AS JSON) -> '$.fact' AS fact
    FROM messages WHERE stream = 'FACTS';
CREATE VIEW events AS
    SELECT stream, sequence, place, time, author, event ->> '$.type' AS type, event ->> '$.workload' AS workload, event
    FROM (
        SELECT stream, sequence, time, author, unnest(listed) AS event, generate_subscripts(listed, 1) AS place
        FROM (SELECT *, TRY_CAST(body -> '$.events' AS JSON[]) AS listed FROM commits)
    )
    UNION ALL
    SELECT 'FACTS', sequence, 1, time, author, type, workload, fact FROM facts;
"""


class Rows(NamedTuple):
    """The answer to a query."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def query_log(entries: Mapping[str, Iterable[Entry]], sql: str) -> Rows:
    """Ask a log, which is gone through once and put aside in files meanwhile. Raises `QueryRefused`."""
    with tempfile.TemporaryDirectory(prefix="kuelog-query-") as folder, _closed() as connection:
        files: list[str] = []
        for _, found in sorted(entries.items()):
            for part in files_of(found):
                files.append(f"{folder}/{len(files)}.parquet")
                parquet.write_table(to_table(part), files[-1])
        connection.register("messages", dataset.dataset(files, SCHEMA) if files else SCHEMA.empty_table())
        return _ask(connection, sql)


def query_archive(url: str, sql: str, *, unchecked: bool = False) -> Rows:
    """Ask an archive where it lies. Its files are held against their hashes first, which reads each of them whole.

    With `unchecked` only what the query needs is read, and taken as it is. Raises `FolderUnreadable`, `ArchiveDamaged`,
    `QueryRefused`.
    """
    folder = Folder(url)
    segments = segments_of(folder) if unchecked else check_files(url)
    if not segments:
        raise FolderUnreadable(url, "it is no archive, or an empty one; `kuelog audit archive` makes one")
    storage, _ = fsspec.core.url_to_fs(url)
    files = [folder.at(segment.file) for segment in segments]
    try:
        messages = dataset.dataset(files, SCHEMA, "parquet", PyFileSystem(FSSpecHandler(storage)))
        with _closed() as connection:
            connection.register("messages", messages)
            return _ask(connection, sql)
    except (pa.ArrowException, OSError) as problem:
        raise FolderUnreadable(url, str(problem).partition("\n")[0]) from problem


def _closed() -> duckdb.DuckDBPyConnection:
    """A connection of which a query reaches the views alone: no file, no network, no extension, no object of this program."""
    return duckdb.connect(
        config={
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            "lock_configuration": "true",
        }
    )


def _ask(connection: duckdb.DuckDBPyConnection, sql: str) -> Rows:
    try:
        connection.execute(_VIEWS)
        if not connection.extract_statements(sql):
            raise QueryRefused("nothing is asked: write a SELECT")
        answer = connection.execute(sql)
        return Rows([column[0] for column in answer.description or ()], answer.fetchall())
    except duckdb.Error as problem:
        # What Arrow could not read comes with the whole traceback in its text.
        raise QueryRefused(str(problem).partition(" Detail: Python exception")[0]) from problem
