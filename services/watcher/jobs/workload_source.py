"""The object that a workload is read from: its job, its group of pods, or its own Workload object."""

from events.object_version import object_place
from events.workload import Owner, WorkloadSubmitted
from services.jobs.kinds.managed_kinds import Kinds
from services.jobs.kinds.pods import leader_worker_group
from services.jobs.kinds.table import LEADER_WORKER_SET


def source_of(fact: WorkloadSubmitted, kinds: Kinds) -> str:
    """The place, `kind/namespace/name`, of the object that a workload was read from."""
    return workload_place(fact.workload) if fact.owner is None else place_of_owner(fact.workload, fact.owner, kinds)


def place_of_owner(workload: str, owner: Owner, kinds: Kinds) -> str:
    """The place of the job that owns a workload, or that of its pods where it is something that serves."""
    if (parent := kinds.parent_of(owner)) is not None:
        namespace, _, name = workload.partition("/")
        grouped = leader_worker_group(owner.name, owner.part)
        return f"PodGroup/{namespace}/{grouped if parent is LEADER_WORKER_SET else name}"
    return place_of_job(workload, owner, kinds)


def workload_place(workload: str) -> str:
    """The place of a workload's own object, in three parts whatever somebody calls the workload."""
    namespace, _, name = workload.partition("/")
    return object_place("Workload", namespace, name)


def place_of_job(workload: str, owner: Owner, kinds: Kinds) -> str:
    """The place of the job that owns a workload."""
    kind = kinds.of(owner.api_version, owner.kind)
    return object_place(owner.kind if kind is None else kind.place, workload.partition("/")[0], owner.name)
