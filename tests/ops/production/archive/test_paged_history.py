"""A log that is read a page at a time is the log that is read at once, message by message, over the seam and with the same errors."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from events.subjects import FACTS
from ops.production.archive import paged_history
from ops.production.archive.archive import write_archive
from ops.production.archive.errors import ArchiveDamaged, ArchiveGoesFurther, ArchiveOfAnotherLog
from ops.production.archive.history import read_everything
from ops.production.archive.paged_history import Waits, open_everything
from ops.production.log.streams import DEVICE_PARTITION, PARTITION, SOLE
from ops.queries.replay import fold_partition
from ops.sandbox.bench.day import played, small_day
from services.runtime.log_errors import LogGap
from tests.ops.production.archive.test_history import copied, holding, upto
from tests.ops.queries.audit.logs import Log, evidence_of, key_of

KEY = key_of(3)


@pytest.fixture(scope="module")
def log() -> Log:
    entries, _ = played(small_day(0))
    return entries


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waits]:
    monkeypatch.setattr(paged_history, "PAGE", 7)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield Waits(lambda what: asyncio.run_coroutine_threadsafe(what, loop).result(30))
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def archived(log: Log, folder: Path) -> str:
    write_archive(log, evidence_of(log, KEY), str(folder))
    return str(folder)


def test_a_bus_an_archive_and_both_are_read_as_they_are_at_once(log: Log, tmp_path: Path, waits: Waits) -> None:
    part = archived(upto(log, {PARTITION: 20, FACTS: 25, DEVICE_PARTITION: 3}), tmp_path / "part")
    whole = archived(log, tmp_path / "whole")
    for bus, archive in ((holding(log), ""), (holding(log), part), (None, whole), (None, part)):
        paged = open_everything(waits, bus, archive)
        at_once = asyncio.run(read_everything(bus, archive))
        for name in SOLE.every:
            assert list(paged[name]) == at_once[name]
            assert list(reversed(paged[name])) == at_once[name][::-1]
            assert list(paged[name][3:9]) == at_once[name][3:9]
            assert len(paged[name][:4][1:]) == len(at_once[name][:4][1:])
        assert fold_partition(PARTITION, paged, verify=True)[1] == fold_partition(PARTITION, at_once, verify=True)[1]


def test_a_copy_of_which_one_stream_is_behind_is_read_as_it_is_at_once(log: Log, waits: Waits) -> None:
    bus = copied(upto(log, {FACTS: 20}))
    paged, at_once = open_everything(waits, bus), asyncio.run(read_everything(bus))
    for name in SOLE.every:
        assert list(paged[name]) == at_once[name]
    assert len(at_once[FACTS]) == 20 and len(at_once[PARTITION]) < len(log[PARTITION])


def test_what_does_not_fit_together_is_refused(log: Log, tmp_path: Path, waits: Waits) -> None:
    url = archived(log, tmp_path)
    other, _ = played(small_day(1))
    with pytest.raises(ArchiveOfAnotherLog):
        open_everything(waits, holding({**log, PARTITION: other[PARTITION]}), url)
    with pytest.raises(ArchiveGoesFurther):
        open_everything(waits, holding(upto(log, {FACTS: 9})), url)
    with pytest.raises(LogGap):
        open_everything(waits, holding(upto(log, {FACTS: 20})))


def test_a_damaged_file_is_named_when_it_is_come_to(log: Log, tmp_path: Path, waits: Waits) -> None:
    url = archived(log, tmp_path)
    next((tmp_path / FACTS).glob("*.parquet")).write_bytes(b"nothing")
    with pytest.raises(ArchiveDamaged, match=r"FACTS.*\.parquet"):
        list(open_everything(waits, None, url)[FACTS])


def test_what_is_held_is_a_page_and_not_the_log(log: Log, waits: Waits) -> None:
    bus = holding(log)
    read: list[int] = []
    stream = bus.memory(FACTS)
    plain = stream.read

    def counted(after: int = 0):  # noqa: ANN202 - as it is read
        read.append(after)
        return plain(after)

    stream.read = counted  # type: ignore[method-assign]
    found = open_everything(waits, bus)[FACTS]
    read.clear()
    assert sum(1 for _ in found) == len(log[FACTS])
    assert read == list(range(7, len(log[FACTS]), 7)), "each page once, the first was there"
