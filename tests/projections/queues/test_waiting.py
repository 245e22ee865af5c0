"""What those who wait for a queue ask for together."""

from events.pod_set import ContainerShape, PodShape
from events.quota import RuntimeClassObserved
from events.workload import PodsReclaimed
from projections.queues.waiting import asked
from tests.projections.quota.test_adjusted_pods import asking, limits, platform


def test_what_a_queue_is_asked_for_is_what_it_would_be_charged_for_the_pods_that_are_left() -> None:
    bare = PodShape(containers=(ContainerShape(name="c", limits={"cpu": 1000}),), runtime_class="sandbox")
    story = platform("cpu", "memory", "pods", nominal=0)
    story.told(
        limits(default_request={"memory": 512}),
        RuntimeClassObserved(name="sandbox", overhead={"cpu": 250}),
        asking(bare, count=3),
        PodsReclaimed(workload="team/w", counts={"main": 1}),
    )
    queue = story.world.cluster_queues["cq"]
    assert asked(story.world, queue, ["team/w"]) == {"cpu": 2500, "memory": 1024, "pods": 2}
