"""Which messages may be skipped: those that nothing rests on yet, and those that halt a partition."""

from collections.abc import Mapping, Sequence

from events.subjects import CONTROL
from ops.production.log.streams import streams_in, streams_known
from ops.queries.audit.chain import link_of
from ops.queries.replay import fold_up
from ops.queries.time_travel import ends_of
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.errors import MessageHalts

Entries = Mapping[str, Sequence[Entry]]


class QuarantineRefused(ValueError):
    """A message that must not be skipped, and why."""

    def __init__(self, why: str, *, first: tuple[str, int] | None = None) -> None:
        super().__init__(why)
        self.first = first
        """What has to be skipped before it, by stream and sequence; None when that would not help."""


def refuse_if_folded(entries: Entries, stream: str, sequence: int) -> None:
    """Raises `QuarantineRefused` for a message that decisions rest on, unless it is what halts a partition."""
    if stream == CONTROL:
        if sequence not in Control(entries.get(CONTROL, ())).unread:
            raise QuarantineRefused(
                f"{CONTROL} {sequence} counts: what was entered there is taken back by another entry"
            )
        return
    by = _resting(entries, stream, sequence)
    if by is None:
        return
    halts = halting(entries)
    if (stream, sequence) in halts:
        return
    if by in halts:
        raise QuarantineRefused(
            f"{by[0]} {by[1]} rests on {stream} {sequence}, and halts its partition: have that skipped first", first=by
        )
    raise QuarantineRefused(
        f"{stream} {sequence} is folded, and {by[0]} {by[1]} rests on it: to skip it would change history. "
        "Put right in the cluster what it says, so that a later fact replaces it"
    )


def halting(entries: Entries) -> set[tuple[str, int]]:
    """The messages that a partition can't go past, by stream and sequence."""
    found: set[tuple[str, int]] = set()
    partitions = streams_in(entries).partitions
    for partition in partitions:
        try:
            fold_up(partition, entries)
        except MessageHalts as halt:
            found.add((halt.stream, halt.sequence))
    for partition in partitions:
        found |= {(partition, sequence) for sequence in _ahead_of_inputs(entries, partition)}
    return found


def _ahead_of_inputs(entries: Entries, partition: str) -> list[int]:
    """Commits that rest on more than there is."""
    control = Control(entries.get(CONTROL, ()))
    ends = ends_of(entries)
    envelopes = [
        (entry.sequence, link_of(entry).envelope) for entry in entries.get(partition, ()) if not control.skips(entry)
    ]
    return [
        sequence
        for sequence, envelope in envelopes
        if envelope is not None and any(run.upto > ends.get(run.stream, 0) for run in envelope.inputs)
    ]


def _resting(entries: Entries, stream: str, sequence: int) -> tuple[str, int] | None:
    """The first commit that was made on a message."""
    control = Control(entries.get(CONTROL, ()))
    for partition in streams_known(control).partitions:
        for entry in entries.get(partition, ()):
            envelope = None if control.skips(entry) else link_of(entry).envelope
            if envelope is None:
                continue
            if partition == stream and entry.sequence > sequence and envelope.base >= sequence:
                return partition, entry.sequence
            if any(run.stream == stream and run.upto >= sequence for run in envelope.inputs):
                return partition, entry.sequence
    return None
