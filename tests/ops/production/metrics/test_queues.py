"""Kueue's gauges of queues, read from small worlds."""

from events.quota import LocalQueueObserved
from events.workload import WorkloadFinished
from ops.production.metrics.queues import QueueMetrics
from tests.stories.small_world import Story, job, platform
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
