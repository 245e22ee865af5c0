"""Which slice a fact about an elastic job concerns, for those who follow events without a world."""

from events.workload import Owner, WorkloadDeleted, WorkloadFinished, WorkloadOwned, WorkloadSpec, WorkloadSubmitted
from projections.trail import Trail
from projections.workloads.slice_chains import SliceChains

FIRST, NEXT, LAST = "team/e", "team/next", "team/last"
JOB = Owner(kind="Job", name="e", uid="j")
SPEC = WorkloadSpec(queue="lq", pod_sets=(), elastic=True)


def made_by_others(key: str) -> WorkloadSubmitted:
    """A slice whose object is there before anybody knows of its job."""
    return WorkloadSubmitted(workload=key, uid=key, created_at=0, spec=SPEC)


def chains(*, ours: bool) -> SliceChains:
    """The first slice was replaced, and so was the next."""
    found = SliceChains(Trail())
    for key in () if ours else (FIRST, NEXT, LAST):
        found.hear(made_by_others(key))
    found.replace(FIRST, NEXT)
    found.replace(NEXT, LAST)
    return found


def test_a_job_that_is_over_or_deleted_takes_the_slice_with_it_that_goes_on() -> None:
    found = chains(ours=True)
    assert found.concerned(WorkloadFinished(workload=FIRST, reason="Succeeded")) == LAST
    assert found.concerned(WorkloadDeleted(workload=FIRST)) == LAST
    found.hear(WorkloadDeleted(workload=FIRST))
    assert not found.next


def test_a_slice_that_others_have_made_goes_alone() -> None:
    found = chains(ours=False)
    assert found.concerned(WorkloadDeleted(workload=FIRST)) == FIRST
    assert found.concerned(WorkloadFinished(workload=FIRST, reason="Succeeded")) == FIRST
    found.hear(WorkloadDeleted(workload=FIRST))
    assert found.last(FIRST) == FIRST and found.last(NEXT) == LAST


def test_what_is_seen_of_the_job_of_such_slices_concerns_the_one_that_goes_on_but_each_is_deleted_by_itself() -> None:
    found = chains(ours=False)
    found.hear(WorkloadOwned(workload=FIRST, owner=JOB))
    assert found.concerned(WorkloadFinished(workload=FIRST, reason="Succeeded")) == LAST
    assert found.concerned(WorkloadDeleted(workload=FIRST)) == FIRST
