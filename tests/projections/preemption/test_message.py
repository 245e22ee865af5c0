"""What a victim is told (docs/rules/preemption.md#message)."""

import pytest
from msgspec.structs import replace

from events.workload import Owner, WorkloadSpec
from projections.preemption.message import preemption_message
from projections.workloads.lifecycle import Workload

SPEC = WorkloadSpec(queue="lq", pod_sets=(), job_uid="of-the-job")
WHO = Workload(key="team/w", uid="u", owner=None, created_at=0, generation=1, spec=SPEC)


def told(who: Workload, reason: str = "InClusterQueue") -> str:
    return preemption_message(who, reason, "/all/a", "/all/b")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("InClusterQueue", "prioritization in the ClusterQueue"),
        ("InCohortReclamation", "reclamation within the cohort"),
        ("InCohortFairSharing", "Fair Sharing within the cohort"),
        ("InCohortReclaimWhileBorrowing", "reclamation within the cohort while borrowing"),
    ],
)
def test_every_reason_is_told_in_the_words_of_kueue(reason: str, words: str) -> None:
    assert told(WHO, reason) == (
        "Preempted to accommodate a workload (UID: u, JobUID: of-the-job) due to "
        f"{words}; preemptor path: /all/a; preemptee path: /all/b"
    )


@pytest.mark.parametrize(("kind", "uid"), [("Job", "j"), ("PodGroup", "UNKNOWN")])
def test_the_job_is_named_by_its_uid_and_a_group_of_pods_by_none(kind: str, uid: str) -> None:
    made = replace(WHO, owner=Owner(kind=kind, name="w", uid="j"))
    assert f"(UID: u, JobUID: {uid})" in told(made)
