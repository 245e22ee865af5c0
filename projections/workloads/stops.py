"""How often and by what a workload was stopped, and what that leaves behind: counts, back-off, time that it has run."""

import msgspec

from events.event import Millis
from events.workload import EvictionCount


class Requeue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Back-off after evictions: how often, and until when (status.requeueState)."""

    count: int = 0
    at: Millis | None = None


class Stops(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The stops of a workload; all who were never stopped hold the same value."""

    requeue: Requeue = Requeue()
    past_execution: Millis = 0
    """How long it has run in attempts that are over."""
    evictions: tuple[EvictionCount, ...] = ()
    preempted_count: int = 0
    preempted_at: Millis | None = None
    preempted_by: tuple[tuple[str, int], ...] = ()
    """The workloads that have preempted it and how often, the latest at the end; only a few are kept."""
    deactivated_by: int = 0
    """Sequence of the decision that set it inactive last."""
    stopped_by: int = 0
    """Sequence of the decision that evicted it last."""
    pods_gone: str = ""
    """The decision after which its pods were seen to be gone, as `partition/sequence`."""
