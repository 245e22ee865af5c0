"""Which kinds of jobs run on other clusters, and whether a job says that it may.

Rule: docs/rules/multikueue.md#kinds
"""

from projections.workloads.lifecycle import Workload
from services.jobs.kinds.managed_by import MULTIKUEUE_MANAGER, managed_by_path


def why_not_delegable(workload: Workload) -> str:
    """Why a workload can't run on another cluster, in Kueue's words; empty when it can."""
    owner = workload.owner
    if owner is None:
        return "No multikueue adapter found"
    group, _, version = owner.api_version.rpartition("/")
    if not managed_by_path(group, owner.kind):
        return f'No multikueue adapter found for owner kind "{group}/{version}, Kind={owner.kind}"'
    found = workload.spec.managed_by
    if found != MULTIKUEUE_MANAGER:
        return f'The owner is not managed by Kueue: Expecting spec.managedBy to be "{MULTIKUEUE_MANAGER}" not "{found}"'
    return ""
