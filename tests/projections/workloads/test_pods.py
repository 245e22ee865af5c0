"""When pods of a workload are to be ended because nobody has let them in."""

import pytest

from events.workload import Condition, ConditionStatus, Member, MemberState, Owner, WorkloadSpec
from projections.workloads.lifecycle import Admission, Workload
from projections.workloads.pods import runs_without_admission

GATED = Member(name="a", uid="a", pod_set="main")
LIVE = Member(name="b", uid="b", pod_set="main", state=MemberState.LIVE)
LEAVING = Member(name="c", uid="c", pod_set="main", state=MemberState.LIVE, holds_until=1)
OVER = Member(name="d", uid="d", pod_set="main", state=MemberState.OVER)
POD = Owner(kind="Pod", api_version="v1", name="w", uid="u")
HELD = Admission(cluster_queue="cq", assignments=(), reservation=1, reserved_at=0)


def workload(*members: Member, true: tuple[str, ...] = (), held: bool = False, owner: Owner = POD) -> Workload:
    conditions = {one: Condition(type=one, status=ConditionStatus.TRUE, reason="x", message="") for one in true}
    return Workload(
        key="team/w",
        uid="u",
        owner=owner,
        created_at=0,
        generation=1,
        spec=WorkloadSpec(queue="lq", pod_sets=(), members=members),
        conditions=conditions,
        admission=HELD if held else None,
    )


@pytest.mark.parametrize(
    ("standing", "to_end"),
    [
        (workload(GATED), False),
        (workload(GATED, LIVE), True),
        (workload(LEAVING), False),
        (workload(OVER), False),
        (workload(LIVE, held=True), True),
        (workload(LIVE, held=True, true=("Admitted",)), False),
        (workload(LIVE, held=True, true=("Admitted", "Evicted")), False),
        (workload(LIVE, held=True, true=("Evicted",)), False),
        (workload(LIVE, true=("Evicted",)), True),
        (workload(LIVE, true=("Finished",)), False),
        (workload(LIVE, owner=Owner(kind="Job", api_version="batch/v1", name="j", uid="j")), False),
    ],
)
def test_a_pod_that_runs_is_to_end_where_it_was_not_let_in_or_not_yet_and_does_not_end_anyway(
    standing: Workload, *, to_end: bool
) -> None:
    assert runs_without_admission(standing) is to_end
