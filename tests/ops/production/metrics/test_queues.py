"""Kueue's gauges of queues, read from small worlds."""

from msgspec.structs import replace

from events.quota import ClusterQueueObserved, CohortObserved, LocalQueueObserved
from events.workload import WorkloadFinished
from ops.production.metrics.queues import QueueMetrics
from tests.stories.small_world import GPU, Story, job, platform, queue
from tests.stories.test_variants import job as tried_on_several_flavors
from tests.stories.test_variants import world_with


def told(story: Story, gauge: str, /, **labels: str) -> float:
    """The sum of a gauge over the series that bear these labels."""
    found = QueueMetrics(lambda: story.world, lambda: story.at).collect()
    return sum(
        sample.value
        for metric in found
        if metric.name == gauge
        for sample in metric.samples
        if labels.items() <= sample.labels.items()
    )


def test_a_job_that_has_ended_counts_once_however_many_flavors_it_was_tried_on() -> None:
    story = world_with(tried_on_several_flavors("a"))
    story.told(WorkloadFinished(workload="team/a", reason="Succeeded")).decided()
    assert len(story.world.workloads) > 1
    assert told(story, "kueue_finished_workloads", cluster_queue="cq") == 1
    assert told(story, "kueue_local_queue_finished_workloads", name="lq", namespace="team") == 1


def test_who_waits_for_a_queue_that_is_not_there_is_told_of_under_its_name() -> None:
    story = Story().told(*platform(), LocalQueueObserved(namespace="team", name="nowhere", cluster_queue="missing"))
    story.told(job("a", queue="nowhere")).decided()
    why = {"cluster_queue": "missing", "reason": "NoReservation", "underlying_cause": "Misconfigured"}
    assert told(story, "kueue_unadmitted_workloads", **why) == 1
    assert told(story, "kueue_local_queue_unadmitted_workloads", name="nowhere", **why) == 1


def keeping(one: ClusterQueueObserved, lending: int) -> ClusterQueueObserved:
    """A queue that lends no more of its cards than so many."""
    [group] = one.groups
    [flavor] = group.flavors
    quotas = tuple(replace(quota, lending_limit=lending) if quota.resource == GPU else quota for quota in flavor.quotas)
    return replace(one, groups=(replace(group, flavors=(replace(flavor, quotas=quotas),)),))


def test_a_cohort_is_overbooked_when_more_is_held_than_all_in_it_own_and_not_when_it_borrows_or_lends_little() -> None:
    story = Story().told(*platform(nominal=4, cohort="pool"), queue("other", nominal=1, cohort="pool"))
    story.told(keeping(queue("cq", nominal=4, cohort="pool"), lending=0), job("a", count=4)).decided()
    card = {"flavor": "v100", "resource": GPU}
    assert told(story, "kueue_cohort_subtree_resource_reservations", cohort="pool", **card) == 4
    assert told(story, "kueue_cohort_subtree_quota", cohort="pool", **card) == 1, "the rest is lent to nobody"
    assert told(story, "kuelog_cohort_overbooked", cohort="pool", **card) == 0
    story.told(CohortObserved(name="pool", parent="all"), queue("cq", nominal=0, cohort="pool"))
    story.told(queue("lender", nominal=3, cohort="all"))
    assert told(story, "kueue_cohort_subtree_quota", cohort="pool", **card) == 1, "it borrows three"
    assert told(story, "kuelog_cohort_overbooked", **card) == 0
    story.told(queue("lender", nominal=1, cohort="all"))
    assert told(story, "kuelog_cohort_overbooked", cohort="all", **card) == 2
    assert told(story, "kuelog_cohort_overbooked", cohort="pool", **card) == 0, "told of the whole tree"
