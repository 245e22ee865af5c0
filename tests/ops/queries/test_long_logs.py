"""Whoever goes through a long log holds no more of it than through a short one, and reads no file of an archive again and again."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self, overload

import msgspec
import pytest
from typer.testing import CliRunner

from events.commit import Sighting
from events.event import Millis
from events.merkle import SIZE, Frontier, leaf_hash
from events.subjects import FACTS
from events.workload import WorkloadDeleted, WorkloadFinished
from ops.cli.main import app
from ops.production.archive.archive import segments_of, write_archive
from ops.production.archive.folder import Folder
from ops.production.archive.proof.checkpoint import checkpoint_of
from ops.production.archive.proof.evidence import Evidence, Statement
from ops.production.archive.proof.leaves import Leaves
from ops.production.archive.segments import parts
from ops.queries import time_order
from ops.queries.audit.query import query_log
from ops.queries.audit.verify import Auditor
from ops.queries.shown import shown_in_order
from ops.queries.stored import in_order, opened
from ops.sandbox.bench.day import played, small_day
from projections.explanation.life import Life
from projections.log_position import LogPosition
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from tests.held import peak
from tests.ops.queries.audit.logs import Log, evidence_of, fact, key_of, log_of, ring_key, signed

KEY = key_of(5)
SHORT, LONG = 1_000, 3_000
_MESSAGE = 300
"""A message takes more bytes than that when it is held."""


class Made(Sequence[Entry]):
    """A stream of facts, each of which is made when it is read."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return [self[i] for i in range(self._count)[index]]
        return fact(index + 1, 1000 + index)

    def __iter__(self) -> Iterator[Entry]:
        return (self[i] for i in range(self._count))


def evidence_for(entries: Sequence[Entry]) -> Evidence:
    """What a witness keeps of a stream of facts."""
    leaves, tree = bytearray(), Frontier()
    for entry in entries:
        leaf = leaf_hash(entry.stream, entry.subject, entry.message_id, entry.data)
        leaves += leaf
        tree.add(leaf)
    head = signed(FACTS, checkpoint_of(tree, entries[-1].data), KEY)
    return Evidence(keys=(ring_key(KEY),), heads={FACTS: head}, leaves={FACTS: bytes(leaves)})


def test_an_audit_holds_the_leaves_of_a_log_and_not_its_messages() -> None:
    def audited(count: int) -> int:
        entries = Made(count)
        evidence = evidence_for(entries)
        handed = Statement(keys=evidence.keys, heads=evidence.heads)

        def audit() -> None:
            assert Auditor(evidence).examine({FACTS: entries}, [handed]).findings == ()

        return peak(audit)

    audited(10)
    assert audited(LONG) - audited(SHORT) < (LONG - SHORT) * 2 * SIZE < (LONG - SHORT) * _MESSAGE


def test_leaves_are_read_as_a_row_of_them() -> None:
    kept = b"".join(bytes([n]) * SIZE for n in range(7)) + b"half a leaf"
    leaves, row = Leaves(kept, 6), [bytes([n]) * SIZE for n in range(6)]
    assert list(leaves) == row and len(leaves) == 6 and len(Leaves(kept)) == 7 and not len(Leaves())
    assert (leaves[0], leaves[-1], list(leaves[2:4][1:]), list(leaves[5:2])) == (row[0], row[-1], row[3:4], [])
    with pytest.raises(IndexError):
        leaves[6]
    with pytest.raises(ValueError, match="in their order"):
        leaves[::2]


def test_the_life_of_an_object_is_told_without_the_lives_of_all_others() -> None:
    def told(count: int) -> int:
        entries = Made(count)
        return peak(lambda: sum(1 for _ in in_order({FACTS: entries})))

    def lived(count: int) -> int:
        def live() -> None:
            life = Life("workload/team/w0")
            for n in range(count):
                key, place = f"team/w{n}", LogPosition(partition=FACTS, sequence=2 * n + 1, at=n * 60_000)
                life.fold(WorkloadFinished(workload=key, reason="Succeeded"), place)
                life.fold(WorkloadDeleted(workload=key), place)
            assert [line.sequence for line in life.lines] == [1, 1]

        return peak(live)

    for tried in (told, lived):
        tried(10)
    assert told(LONG) - told(SHORT) < (LONG - SHORT) * 30
    assert lived(LONG) - lived(SHORT) < (LONG - SHORT) * 30


def at(entry: Entry, time: Millis) -> Entry:
    """The same fact, told at another time."""
    sighting = msgspec.structs.replace(msgspec.json.decode(entry.data, type=Sighting), at=time)
    return msgspec.structs.replace(entry, data=msgspec.json.encode(sighting))


def test_events_come_in_the_order_of_their_time_however_far_it_runs_against_that_of_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_order, "STEP", 7)
    chance = random.Random(20261122)
    for late in (0, 5, 1_000_000):
        log = log_of(120, devices=30)
        log[FACTS] = [at(one, 1000 + place - chance.randint(0, late)) for place, one in enumerate(log[FACTS])]
        every = [one for entries in log.values() for entry in entries for one in opened(entry, Control())]
        every.sort(key=lambda one: (one.at, one.entry.stream != FACTS, one.entry.stream, one.entry.sequence, one.index))
        assert list(in_order(log)) == every
        shown = list(shown_in_order(log))
        assert [(one.at, one.entry, one.index, one.event) for one in shown] == [
            (one.at, one.entry, one.index, one.event) for one in every
        ]


class Held(bytes):
    """The data of a message, counted for as long as somebody holds it."""

    now = most = 0

    def __new__(cls, data: bytes) -> Self:
        cls.now += 1
        cls.most = max(cls.most, cls.now)
        return super().__new__(cls, data)

    def __del__(self) -> None:
        type(self).now -= 1


class Counted(Made):
    """A stream of which is counted how many messages are held at the same time."""

    def __iter__(self) -> Iterator[Entry]:
        for one in super().__iter__():
            yield msgspec.structs.replace(one, data=Held(one.data))


def test_what_is_shown_or_queried_is_never_held_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SEGMENT", 500)
    for ask, most in (
        (lambda: sum(1 for _ in shown_in_order({FACTS: Counted(LONG)})), time_order.STEP + 10),
        (lambda: query_log({FACTS: Counted(LONG)}, "SELECT count(*) FROM events").rows[0][0], 2 * 500 + 10),
    ):
        Held.now = Held.most = 0
        assert ask() == LONG
        assert 0 < Held.most <= most


@pytest.fixture(scope="module")
def log() -> Log:
    return played(small_day(0))[0]


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (("replay",), 2),
        (("replay", "--verify"), 2),
        (("bill",), 2),
        (("history", "clusterqueue/queue-0"), 3),
        (("audit", "verify"), 2),
        (("log", "show"), 2),
        (("explain", "clusterqueue/queue-0"), 4),
    ],
    ids=str,
)
def test_no_file_of_an_archive_is_read_more_often_than_it_is_gone_through(
    words: Sequence[str], most: int, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "SEGMENT", 10)
    write_archive(log, evidence_of(log, KEY), str(tmp_path))
    count, read = Counter[str](), Folder.read

    def counted(self: Folder, name: str) -> bytes | None:
        count[name] += 1
        return read(self, name)

    monkeypatch.setattr(Folder, "read", counted)
    result = CliRunner().invoke(app, [*words, "--archive", str(tmp_path)])
    assert result.exit_code == (words == ("bill",)), result.output  # What has no price is told by the exit code.
    ends = {one.stream: one.file for one in segments_of(Folder(str(tmp_path)))}
    begins = {one.file for one in segments_of(Folder(str(tmp_path))) if one.first == 1}
    files = {name: often for name, often in count.items() if name.endswith(".parquet")}
    inner = {name: often for name, often in files.items() if name not in begins and name not in ends.values()}
    assert len(inner) > 5 and max(inner.values()) <= most
    # Where a stream begins and ends is asked besides.
    assert max(files.values()) <= most + 4
