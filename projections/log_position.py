"""Where on the log an event stands: the time and the sequence that folding may use."""

import msgspec

from events.event import Millis


class LogPosition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`at` is the time of the commit or sighting, `sequence` its number on the stream `partition`."""

    partition: str
    sequence: int
    at: Millis
    most_admissions: int = 0
    """What is decided here may let in so many workloads at most; 0 where nothing bounds that. Folding does not use it."""
