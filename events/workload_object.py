"""The Workload object of a job: what becomes of it in the cluster."""

from events.event import Event


class WorkloadTerminating(Event, frozen=True, kw_only=True, tag="WorkloadTerminating.v1"):
    """Somebody has deleted the Workload object of a job: it stays by `kueue.x-k8s.io/resource-in-use` while it is needed."""

    namespace: str
    name: str
    uid: str
