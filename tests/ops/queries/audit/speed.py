"""How fast a log is audited, archived and read back: python -m tests.ops.queries.audit.speed."""

import sys
import tempfile
import time
from collections.abc import Callable
from typing import TypeVar

import psutil

from ops.production.archive.archive import read_archive, write_archive
from ops.production.log.streams import PARTITION
from ops.queries.audit.proof import prove
from ops.queries.audit.query import query_archive
from ops.queries.audit.verify import Auditor
from tests.ops.queries.audit.logs import evidence_of, key_of, log_of

T = TypeVar("T")


def timed(what: str, count: int, work: Callable[[], T]) -> T:
    begun = time.perf_counter()
    done = work()
    took = time.perf_counter() - begun
    print(f"{what:<50} {took:7.2f} s {count / took:>12,.0f} messages/s")
    return done


def main() -> None:
    commits = int("".join(sys.argv[1:2]) or 200_000)
    log = log_of(commits)
    count = sum(map(len, log.values()))
    print(f"{count:,} messages; load {psutil.getloadavg()[0]:.1f}")
    evidence = timed("leaves, tree and checkpoint", count, lambda: evidence_of(log, key_of(1)))
    auditor = timed("the record led to the signed roots", count, lambda: Auditor(evidence))
    report = timed("every message against record and chain", count, lambda: auditor.examine(log))
    assert not report.findings
    timed("one proof", commits, lambda: prove(log[PARTITION], evidence, PARTITION, commits // 3))
    with tempfile.TemporaryDirectory() as folder:
        timed("archived, and read back", count, lambda: write_archive(log, evidence, folder))
        timed("archive read", count, lambda: read_archive(folder))
        sql = "SELECT type, count(*) FROM events GROUP BY type"
        timed("events of the archive by type, in SQL", count, lambda: query_archive(folder, sql))


if __name__ == "__main__":
    main()
