"""Nobody passes the first of a StrictFIFO queue (docs/rules/queues.md#strict), also of one that has only become strict."""

from msgspec.structs import replace

from events.admission import QuotaReserved
from events.quota import FlavorObserved, LocalQueueObserved, NamespaceObserved, QueueingStrategy
from events.workload import WorkloadFinished
from tests.services.admitter.test_room_was_made import asking, queue
from tests.stories.small_world import Story

BEST_EFFORT = queue("q", 3)
STRICT = replace(BEST_EFFORT, strategy=QueueingStrategy.STRICT_FIFO)


def one_runs_and_one_was_refused() -> Story:
    story = Story().told(NamespaceObserved(name="team"), FlavorObserved(name="f"), BEST_EFFORT)
    story.told(LocalQueueObserved(namespace="team", name="q", cluster_queue="q"), asking("runs", "q", 1)).decided()
    assert not reserved(story.told(asking("big", "q", 3)))
    return story


def reserved(story: Story) -> list[str]:
    return [one.workload for one in story.decided() if isinstance(one, QuotaReserved)]


def test_who_was_refused_while_the_queue_was_best_effort_is_passed_by_nobody_once_it_is_strict() -> None:
    story = one_runs_and_one_was_refused().told(STRICT)
    assert not reserved(story)
    assert not reserved(story.told(replace(asking("small", "q", 1), created_at=1))), "it fits, and comes later"
    assert reserved(story.told(WorkloadFinished(workload="team/runs", reason="Succeeded"))) == ["team/big"]


def test_who_comes_later_passes_it_again_once_the_queue_is_best_effort() -> None:
    story = one_runs_and_one_was_refused().told(STRICT, replace(asking("small", "q", 1), created_at=1))
    assert not reserved(story)
    assert reserved(story.told(BEST_EFFORT)) == ["team/small"]
