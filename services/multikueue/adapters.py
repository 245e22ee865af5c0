"""Which kinds of jobs run on other clusters, and whether a job says that it may.

Rule: docs/rules/multikueue.md#kinds
"""

from events.settings import SettingsObserved
from projections.feature_gates import enabled
from projections.workloads.lifecycle import Workload
from projections.workloads.pods import made_of_pods
from services.jobs.kinds.managed_by import CUSTOM_JOBS, MULTIKUEUE_MANAGER, is_external, managed_by_path


def why_not_delegable(settings: SettingsObserved, workload: Workload) -> str:
    """Why a workload can't run on another cluster, in Kueue's words; empty when it can."""
    owner = workload.owner
    if owner is None:
        return "No multikueue adapter found"
    if made_of_pods(workload):
        return ""  # Pods, and what serves with them, have no such field: their gates keep them from running here.
    group, _, version = owner.api_version.rpartition("/")
    if is_external(settings, group, owner.kind) and not enabled(settings, CUSTOM_JOBS):
        return f"The owner is not managed by Kueue: {CUSTOM_JOBS} feature gate is disabled"
    if not managed_by_path(settings, group, owner.kind):
        return f'No multikueue adapter found for owner kind "{group}/{version}, Kind={owner.kind}"'
    found = workload.spec.managed_by
    if found != MULTIKUEUE_MANAGER:
        field = ".spec.managedBy" if is_external(settings, group, owner.kind) else "spec.managedBy"
        return f'The owner is not managed by Kueue: Expecting {field} to be "{MULTIKUEUE_MANAGER}" not "{found}"'
    return ""
