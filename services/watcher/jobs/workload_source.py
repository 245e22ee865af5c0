"""The object that a workload is read from: its job, its group of pods, or its own Workload object."""

from events.workload import Owner, WorkloadSubmitted
from services.jobs.kinds.managed_kinds import Kinds
from services.jobs.kinds.pods import leader_worker_group
from services.jobs.kinds.table import LEADER_WORKER_SET


def source_of(fact: WorkloadSubmitted, kinds: Kinds) -> str:
    """The place, `kind/namespace/name`, of the object that a workload was read from."""
    if fact.owner is None:
        return workload_place(fact.workload)
    if (parent := kinds.parent_of(fact.owner)) is not None:
        namespace, _, name = fact.workload.partition("/")
        grouped = leader_worker_group(fact.owner.name, fact.owner.part)
        return f"PodGroup/{namespace}/{grouped if parent is LEADER_WORKER_SET else name}"
    return place_of_job(fact.workload, fact.owner, kinds)


def workload_place(workload: str) -> str:
    """The place of a workload's own object, in three parts whatever somebody calls the workload."""
    namespace, _, name = workload.partition("/")
    return f"Workload/{namespace}/{name}"


def place_of_job(workload: str, owner: Owner, kinds: Kinds) -> str:
    """The place of the job that owns a workload."""
    kind = kinds.of(owner.api_version, owner.kind)
    return f"{owner.kind if kind is None else kind.place}/{workload.partition('/')[0]}/{owner.name}"
