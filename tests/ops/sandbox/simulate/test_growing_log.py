"""A log that is read again while it grows gives the world that all of it gives, also where it has lost something meanwhile."""

from collections.abc import Callable

import pytest

from ops.sandbox.simulate.clusters import play_clusters
from ops.sandbox.simulate.drawn_division import drawn_division
from ops.sandbox.simulate.fault_plan import ALL, FaultKind, schedule_of
from ops.sandbox.simulate.growing_log import Entries, GrowingLog, LogAsRead
from ops.sandbox.simulate.history import play
from projections.state_hash import tables
from services.runtime.partition.errors import MessageHalts

Read = Callable[[GrowingLog, Entries], LogAsRead]
SPAN = 40_000


class ReadTwice:
    """Reads each log twice, on from where it was and from its beginning, and notes where the two differ."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.reads = self.went_on = 0
        self.different: list[str] = []
        self._read: Read = GrowingLog.read
        patch.setattr(GrowingLog, "read", lambda log, entries: self._twice(log, entries))

    def _twice(self, log: GrowingLog, entries: Entries) -> LogAsRead:
        self.reads += 1
        self.went_on += any(one.base for one in log._folds.values())  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        try:
            whole = self._read(GrowingLog(), entries)
        except MessageHalts:
            return self._read(log, entries)
        found = self._read(log, entries)
        here, there = dict(tables(found.world)), dict(tables(whole.world))
        self.different += [name for name in sorted({*here, *there}) if here.get(name) != there.get(name)]
        return found


def test_of_three_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = ReadTwice(monkeypatch)
    play_clusters(7, SPAN, 4, moves=True)
    assert twice.went_on
    assert not twice.different


def test_among_faults_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    twice, drawn = ReadTwice(monkeypatch), drawn_division(3, SPAN, 4)
    faults = schedule_of(3, SPAN, [kind for kind in ALL if kind is not FaultKind.COHORT])
    play(
        3,
        SPAN,
        faults,
        partitions=4,
        divided_after=drawn.after,
        moved_after=drawn.moved_after,
        most_moves=drawn.most_moves,
    )
    assert twice.reads
    assert not twice.different


def test_it_matters_whether_the_end_of_a_log_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GrowingLog, "_goes_on", lambda *_: True)
    twice = ReadTwice(monkeypatch)
    play_clusters(4, SPAN, 4, moves=True)
    assert twice.different, "else this history restores no log, and another one has to be found"
