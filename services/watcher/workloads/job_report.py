"""What was reported of the job of a workload: how far it runs, and who let it."""

from functools import partial

import msgspec

from events.no_entries import no_entries


class JobReport(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a job stands by what was reported; of one that only waits nothing is said, and all of those hold the same value."""

    ready: bool | None = None
    gone: str = ""
    """The decision by which it was stopped, once its pods are gone."""
    reclaimed: dict[str, int] = msgspec.field(default_factory=partial(no_entries, int))
    finished: bool = False
    parent: str = ""
    """The kind of what serves with its pods, where that says how many there are to be."""
    unsuspended: int = 0
    """The generation of the job in which somebody else had let it run."""
    suspended_by: str = ""
    """The decision that its job bore when it was seen suspended; no fact holds it, so it is empty after a restart."""
    injected: bool = False
    """It was running when it was found: its template holds what somebody else injected at the start."""
