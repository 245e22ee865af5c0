"""What is out of the ordinary about a workload's object and job in the cluster, and what the applier owes them."""

import msgspec

from events.event import Millis


class News(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Kubernetes Event that is to be written about the Workload object."""

    sequence: int
    """The decision that it is about."""
    at: Millis
    reason: str
    message: str
    warning: bool = False


class InCluster(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The object and the job of a workload; all of which there is nothing to say hold the same value."""

    job_turned: int = 0
    """Sequence of the last fact that somebody other than kuelog suspended or unsuspended its job."""
    start_failed: str = ""
    """Why the job can't be started as it was admitted; empty when no reason is known."""
    released: bool = False
    """kuelog keeps its object no longer: the finalizer may be removed."""
    earlier: tuple[int, ...] = ()
    """Seconds in which it was decided about, that its conditions show no more and its object may still."""
    written: int = 0
    """The resourceVersion with which its object showed all that was decided when `earlier` was forgotten; what it was before says nothing."""
    news: tuple[News, ...] = ()
    """Kubernetes Events that the applier has not written yet."""
    discarded: str = ""
    """Why its object is to go from the cluster; empty while it may stay."""
    marks: tuple[str, ...] = ()
    """Decisions of another log that its job and object were marked with when first seen: they mean nothing on this log."""
    prebuilt: bool = False
    """Its object was made before the job that owns it."""
