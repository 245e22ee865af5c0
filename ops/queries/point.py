"""A point on the log: a time, or a sequence of a partition, and the log as it was there."""

from collections.abc import Mapping, Sequence

import msgspec

from events.codec import NotOurs, decode_commit
from events.event import Millis
from events.subjects import CONTROL, FACTS
from events.timestamp import format_exactly
from events.whole_number import whole_number
from ops.production.log.streams import LogStreams, streams_in
from ops.queries.log_times import LogTimes
from ops.queries.time_travel import as_of, first, moment, reaching, rests_on, until
from services.runtime.control_log import Control
from services.runtime.log_port import Entry

Entries = Mapping[str, Sequence[Entry]]


class NotOnTheLog(ValueError):
    """A point that the log does not reach, at its beginning or at its end."""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """The log up to a point, and what point that is."""

    entries: dict[str, Sequence[Entry]]
    at: Millis
    """The time as of which questions are answered."""
    ended: bool = True
    """Nothing was cut off: this is the log as it is now."""

    @property
    def upto(self) -> dict[str, int]:
        """The last sequence of each stream."""
        return rests_on(self.entries)

    def describe(self) -> str:
        """The point as text: the time, and the last sequence of each stream."""
        return as_of(self.at, self.upto)


def point_at(entries: Entries, text: str = "", times: LogTimes | None = None) -> Point:
    """The log up to a sequence (`17`, `DEVICES_default/3`) or a time; all of it when the text is empty.

    Who asks often keeps the times of the log. Raises `NotOnTheLog`, `BadTime`.
    """
    times = times or LogTimes(entries)
    began, ended = times.span()
    if not text:
        return Point(entries=dict(entries), at=ended)
    if not any(entries.values()):
        raise NotOnTheLog("the log is empty")
    stream, _, number = text.rpartition("/")
    if is_sequence(text):
        return _at_sequence(entries, streams_in(entries), stream, int(number), times)
    at = moment(text, began)
    if at < began:
        raise NotOnTheLog(f"{text} is before the log, which begins at {format_exactly(began)}")
    return Point(entries=until(entries, at, times), at=at, ended=at >= ended)


def is_sequence(text: str) -> bool:
    """Whether a moment is named by a sequence (`17`, `DEVICES_default/3`), and not by a time."""
    return whole_number(text.rpartition("/")[2]) is not None


def _at_sequence(entries: Entries, there: LogStreams, stream: str, sequence: int, times: LogTimes) -> Point:
    """The partition up to a commit, and of its inputs just what that commit rests on.

    Where trees are in several partitions, the others are as they were at the time of that commit, with all that they rest on.
    """
    partition = stream or there.trees[0]
    if partition not in there.partitions or not (stream or len(there.trees) == 1):
        instead = " or ".join(f"{name}/{sequence}" for name in there.partitions)
        problem = f"{partition} is no partition of decisions" if stream else f"{sequence} names no partition"
        raise NotOnTheLog(f"{problem}: write {instead}")
    found, control = entries.get(partition, ()), Control(entries.get(CONTROL, ()))
    if (within := control.sequence_of(partition, sequence)) > 0:
        sequence = within
    if not found or not found[0].sequence <= sequence <= found[-1].sequence:
        held = f"sequences {found[0].sequence} to {found[-1].sequence}" if found else "nothing"
        raise NotOnTheLog(f"{partition} has no sequence {sequence}: it holds {held}")
    kept = first(found, sequence)
    at, ends = _last_at(kept), times.rests_on(partition, sequence)
    if len(there.trees) > 1:
        ends = _beside(there, partition, {**ends, partition: sequence}, at, times)
    cut = {name: stored if name == CONTROL else first(stored, ends.get(name, 0)) for name, stored in entries.items()}
    return Point(entries={**cut, partition: kept}, at=at, ended=False)


def _beside(there: LogStreams, partition: str, ends: dict[str, int], at: Millis, times: LogTimes) -> dict[str, int]:
    """By stream the last sequence at a time, for all partitions of trees but one, of which and of whose inputs no less is kept."""
    others = {name: max(times.end(name, at), ends.get(name, 0)) for name in there.trees if name != partition}
    return {**reaching(times, {**dict.fromkeys(there.every[1:], 0), **ends, **others}), partition: ends[partition]}


def _last_at(commits: Sequence[Entry]) -> Millis:
    """The time of the last commit that can be read."""
    for entry in reversed(commits):
        try:
            return decode_commit(entry.data).at
        except NotOurs:
            continue
    return 0


__all__ = ["FACTS", "Entries", "NotOnTheLog", "Point", "point_at"]
