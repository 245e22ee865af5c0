"""The messages of a preemption: who preempted whom, by which rule, and where both are in the quota tree."""

from projections.quota.node import Node
from projections.workloads.lifecycle import Workload

HUMAN_REASONS = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortFairSharing": "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
    "": "UNKNOWN",
}


def preemption_message(preemptor: Workload, reason: str, preemptor_path: str, victim_path: str) -> str:
    """The message of the condition Preempted, in Kueue's words: tools parse it (docs/rules/preemption.md#message)."""
    uid = preemptor.uid or "UNKNOWN"
    job = _job_uid(preemptor) or "UNKNOWN"
    return (
        f"Preempted to accommodate a workload (UID: {uid}, JobUID: {job}) due to "
        f"{HUMAN_REASONS.get(reason, reason)}; preemptor path: {preemptor_path or 'UNKNOWN'}; "
        f"preemptee path: {victim_path or 'UNKNOWN'}"
    )


def _job_uid(workload: Workload) -> str:
    """The UID of a workload's job; a group of pods has none."""
    if workload.owner is None:
        return workload.spec.job_uid
    return "" if workload.owner.kind == "PodGroup" else workload.owner.uid


def replacement_message(workload: Workload) -> str:
    """The message of Finished of a slice whose place the workload takes, in Kueue's words."""
    return f"Replaced to accommodate a workload (UID: {workload.uid}, JobUID: {_job_uid(workload)}) due to workload slice aggregation"


def making_room_message(preemptor: Workload, victim: Workload) -> str:
    """The message of the preemptor's Kubernetes Event for each of its victims, in Kueue's words."""
    queue = victim.admission.cluster_queue if victim.admission is not None else "UNKNOWN"
    return (
        f"Preempted workload {victim.key} (UID: {victim.uid}) in ClusterQueue {queue}; "
        f"{both_priorities(preemptor, victim)}"
    )


def both_priorities(preemptor: Workload, victim: Workload) -> str:
    """The priorities by which one preempted the other."""
    return f"preemptor {_priority(preemptor)}; preemptee {_priority(victim)}"


def _priority(workload: Workload) -> str:
    spec = workload.spec
    return f"effective priority: {workload.priority} (base: {spec.priority}, boost: {spec.priority_boost})"


def path_text(node: Node | None) -> str:
    """Where a node stands: `/root/…/queue`; empty when it stands nowhere."""
    if node is None:
        return ""
    return "/" + "/".join(reversed([one.name for one in node.path]))
