"""A log that is read again and again while it grows: each partition is folded on from where it was, not from its beginning."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from events.subjects import CONTROL
from ops.production.log.streams import streams_in
from ops.queries.explaining import world_about
from ops.queries.log_times import LogTimes
from ops.queries.replay import fold_up
from ops.queries.time_travel import ends_of
from projections.world import World
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold

Entries = Mapping[str, Sequence[Entry]]


class LogAsRead(NamedTuple):
    """A log as a command reads it."""

    world: World
    """It stands until the log is read again."""
    control: Control
    ends: dict[str, int]


class GrowingLog:
    """What was folded of a log when it was read last. Who reads it for the first time folds all of it, and so does who finds
    that it has lost something, or that a message is skipped by now."""

    def __init__(self) -> None:
        self._folds: dict[str, PartitionFold] = {}
        self._last: dict[str, Entry] = {}
        """By stream the last message of which anything folded may know."""
        self._skipped: dict[tuple[str, int], str] = {}

    def read(self, entries: Entries) -> LogAsRead:
        """The log that has these messages by now, as a command reads it. Raises `MessageHalts`."""
        control = Control(entries.get(CONTROL, ()))
        folds = self._folds if self._goes_on(entries, control) else {}
        self._folds = {}  # What was folded in part, because a message can't be read, is of no use.
        found = [fold_up(name, entries, start=folds.get(name)) for name in streams_in(entries).trees]
        # A fork that has said nothing may have begun here before its origin lets it.
        self._folds = {one.partition: one for one in found if one.base or one.partition not in control.forks}
        self._last = {name: stored[-1] for name, stored in entries.items() if stored}
        self._skipped = control.skipped
        world = world_about([one.world for one in found], "", LogTimes(entries).span()[1])
        return LogAsRead(world, control, ends_of(entries))

    def _goes_on(self, entries: Entries, control: Control) -> bool:
        return control.skipped == self._skipped and all(
            len(stored := entries.get(name, ())) >= last.sequence and stored[last.sequence - 1] is last
            for name, last in self._last.items()
        )
