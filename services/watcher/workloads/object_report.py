"""What was reported of the Workload object itself: what others have written on it, and whose it is."""

from functools import partial

import msgspec

from events.no_entries import no_entries
from events.workload import CheckReported, GateState


class ObjectReport(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How an object stands by what was reported; those on which nobody else has written all hold the same value."""

    checks: dict[str, CheckReported] = msgspec.field(default_factory=partial(no_entries, CheckReported))
    active: bool = True
    target: str = ""
    """Why it is to be set inactive by the manager of other clusters, which has not done so itself; empty where it is not."""
    owner_uid: str = ""
    """The UID of the job that owns it, where its object was made before the job."""
    opened: dict[str, GateState] = msgspec.field(default_factory=partial(no_entries, GateState))
    """By name, the preemption gates that somebody else has opened, as they were turned last."""
    named: tuple[str, ...] = ()
    """The clusters that somebody else's dispatcher has named."""
