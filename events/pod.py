"""What becomes of single pods, where no job starts and stops them."""

from events.event import Event, Millis


class PodAccounted(Event, frozen=True, kw_only=True, tag="PodAccounted.v1"):
    """Everything about a pod is on the log: its finalizer may be removed.

    `doomed` says why it has to go besides, in the word of an Event (ExcessPodDeleted, WorkloadDeleted); `workload` is
    what it was part of.
    """

    workload: str = ""
    namespace: str
    name: str
    uid: str
    doomed: str = ""


class PodEndForced(Event, frozen=True, kw_only=True, tag="PodEndForced.v1"):
    """A pod that hangs while it is being deleted, on a node out of reach, is ended by force, so that its quota comes back.

    It says itself that this is safe. Rule: docs/rules/eviction.md#failure-recovery
    """

    workload: str
    namespace: str
    pod: str
    uid: str
    node: str
    due: Millis
    """When it should have been gone, its grace period included."""
