"""What the laws of a partition say of quota that is given again: to a slice of an elastic job, in a queue that is above its limit by now, and
to a workload that was made anew under the same name."""

import pytest
from msgspec.structs import replace

from events.admission import QuotaReserved, WorkloadAdmitted
from events.catalogue import Decision
from events.slices import WorkloadSliceReplaced, WorkloadSliceResized, WorkloadSliceSubmitted
from events.workload import PodSetAssignment, WorkloadDeleted
from ops.sandbox.simulate.partition_laws import PartitionLaws
from projections.evolve import evolve
from projections.log_position import LogPosition
from tests.stories.small_world import GPU, Story, job, platform, queue


def reserved(workload: str, pods: int) -> QuotaReserved:
    given = PodSetAssignment(name="main", count=pods, flavors={GPU: "v100"}, usage={GPU: pods})
    return QuotaReserved(workload=workload, cluster_queue="cq", assignments=(given,))


def broken_by(pods: int, *, shrunk_to: int = 0) -> list[str]:
    """What is said when a slice of so many pods takes the place of one of three, whose queue has room for two by then."""
    submitted = job("w", count=3)
    (pod_set,) = submitted.spec.pod_sets
    story = Story().told(*platform(nominal=4), submitted)
    laws, sequence = PartitionLaws(story.world), 0

    def decided(*events: Decision) -> None:
        nonlocal sequence
        sequence += 1
        position = LogPosition(partition="LOG_0", sequence=sequence, at=10_000)
        for event in events:
            evolve(story.world, event, position)
        for event in events:
            laws.hear(event, position)

    decided(reserved("team/w", 3))
    story.told(queue("cq", nominal=2))
    if shrunk_to:
        decided(WorkloadSliceResized(workload="team/w", pod_sets=(replace(pod_set, count=shrunk_to),)))
    spec = replace(submitted.spec, pod_sets=(replace(pod_set, count=pods),))
    decided(WorkloadSliceSubmitted(workload="team/w2", replaces="team/w", uid="u", created_at=1, spec=spec))
    decided(WorkloadSliceReplaced(workload="team/w", by="team/w2", message=""), reserved("team/w2", pods))
    return laws.broken


def test_a_slice_may_go_on_with_what_the_one_before_it_had() -> None:
    assert broken_by(3) == []


@pytest.mark.parametrize(("pods", "shrunk_to"), [(4, 0), (3, 1)])
def test_a_slice_may_take_no_more_than_that(pods: int, shrunk_to: int) -> None:
    (said,) = broken_by(pods, shrunk_to=shrunk_to)
    assert f"lets queue/cq use {pods} of {GPU} in flavor v100, and 2 is its limit" in said


def said_of_another_reservation(*, anew: bool) -> list[str]:
    """What is said when a workload is given quota twice, the second time made anew or not."""
    story = Story().told(*platform(nominal=4), job("w"))
    laws = PartitionLaws(story.world)
    for sequence in (1, 2):
        position = LogPosition(partition="LOG_0", sequence=sequence, at=10_000)
        decided: list[Decision] = [reserved("team/w", 1), WorkloadAdmitted(workload="team/w", cluster_queue="cq")]
        for event in decided:
            evolve(story.world, event, position)
        for event in decided:
            laws.hear(event, position)
        if anew:
            story.told(WorkloadDeleted(workload="team/w"), replace(job("w"), uid="another"))
    return laws.broken


def test_a_workload_that_is_made_anew_under_the_same_name_may_be_given_quota_again() -> None:
    assert said_of_another_reservation(anew=True) == []


def test_the_same_workload_may_not() -> None:
    reserves, admits = said_of_another_reservation(anew=False)
    assert "reserves quota for team/w again, which has held it since 1" in reserves
    assert "admits team/w again, which has been admitted since 1" in admits


@pytest.mark.parametrize("lends", [0, None])
def test_a_queue_that_lends_nothing_may_give_its_own_though_its_cohort_has_given_too_much_before(
    lends: int | None,
) -> None:
    story = Story().told(*platform(nominal=4, cohort="pool"), queue("b", nominal=0, cohort="pool"), job("w"), job("x"))
    laws = PartitionLaws(story.world)
    borrowed = replace(reserved("team/x", 3), cluster_queue="b")
    evolve(story.world, borrowed, LogPosition(partition="LOG_0", sequence=1, at=10_000))
    smaller = queue("cq", nominal=2, cohort="pool")
    (group,) = smaller.groups
    (flavor,) = group.flavors
    own = replace(flavor, quotas=tuple(replace(one, lending_limit=lends) for one in flavor.quotas))
    story.told(replace(smaller, groups=(replace(group, flavors=(own,)),)))
    second = LogPosition(partition="LOG_0", sequence=2, at=10_000)
    evolve(story.world, reserved("team/w", 1), second)
    laws.hear(reserved("team/w", 1), second)
    assert bool(laws.broken) == (lends is None)
