"""What becomes of single pods, where no job starts and stops them."""

from events.event import Event


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
