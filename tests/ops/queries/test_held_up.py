"""Who would fit and is not let in is told what really holds it up, and not that its turn will come."""

from msgspec.structs import replace

from events.quota import ClusterQueueObserved, QueueingStrategy
from events.settings import PodsReadyRule, SettingsObserved
from events.workload import PodsReady, WorkloadFinished
from ops.queries.explaining import explain
from projections.explanation.words import Explanation, Tier
from tests.stories.small_world import Story, job, platform, queue


def told(story: Story, name: str) -> Explanation:
    return explain(story.world, story.world.workloads[f"team/{name}"], story.at)


def strict(*, nominal: int) -> Story:
    return Story().told(
        *(
            replace(fact, strategy=QueueingStrategy.STRICT_FIFO) if isinstance(fact, ClusterQueueObserved) else fact
            for fact in platform(nominal=nominal, cards=8)
        )
    )


def test_where_pods_have_to_be_ready_first_it_is_said_whose() -> None:
    story = Story().told(SettingsObserved(pods_ready=PodsReadyRule(timeout=600_000, block_admission=True)))
    story.told(*platform(nominal=8, cards=8), job("a"), job("b", at=1), job("c", at=2)).decided()
    for name in "bc":
        found = told(story, name)
        assert (found.tier, found.reason) == (Tier.CLUSTER, "WaitingForPodsReady")
        assert "blockAdmission" in found.message
        assert found.waits_for == ("the pods of team/a to be ready",)
        assert "team/a" not in found.fix and "pods" in found.fix
    story.told(PodsReady(workload="team/a", ready=True)).decided()
    assert told(story, "b").state == "admitted"


def test_who_is_behind_one_that_blocks_a_strict_queue_is_told_who_and_why_that_one_waits() -> None:
    story = strict(nominal=2).told(job("big", count=3), job("small", at=1), job("smaller", at=2))
    story.decided()
    for name in ("small", "smaller"):
        found = told(story, name)
        assert (found.tier, found.reason) == (Tier.QUEUE, "WaitingForItsTurn")
        assert found.message == (
            "it would fit as things stand, but its queue is StrictFIFO, and nobody is tried before its first gets in"
        )
        assert found.waits_for == ("team/big, the first of its queue, which waits itself: ExceedsMaxQuota",)
        assert "BestEffortFIFO" in found.fix


def test_who_does_not_fit_itself_in_a_strict_queue_is_told_of_the_first_of_it_as_well() -> None:
    story = strict(nominal=2).told(job("a"), job("big", count=2, at=1), job("b", count=2, at=2))
    story.decided()
    found = told(story, "b")
    assert found.reason == "WaitingForQuota"
    assert found.waits_for[-1] == "team/big, the first of its queue, which waits itself: WaitingForQuota"
    assert told(story, "big").waits_for[-1].endswith("of nvidia.com/gpumem in flavor v100")


def test_in_a_queue_that_is_not_strict_nobody_is_told_of_the_first() -> None:
    story = Story().told(*platform(nominal=2, cards=8), job("a"), job("big", count=2, at=1), job("b", count=2, at=2))
    story.decided()
    assert all("first of its queue" not in one for one in told(story, "b").waits_for)


def test_what_is_said_to_hold_it_up_does() -> None:
    story = strict(nominal=2).told(job("big", count=3), job("small", at=1))
    story.decided()
    assert told(story, "small").waits_for[0].startswith("team/big")
    story.told(WorkloadFinished(workload="team/big", reason="Succeeded")).decided()
    assert told(story, "small").state == "admitted"


def test_who_waits_for_a_queue_that_has_its_maximum_of_workloads_is_told_whose_end_helps() -> None:
    story = Story().told(*platform(nominal=8, cards=8), replace(queue("cq", nominal=8), max_concurrent=1))
    story.told(job("a"), job("b", at=1)).decided()
    found = told(story, "b")
    assert (found.reason, found.message) == (
        "WaitingForQuota",
        "ClusterQueue cq already has its maximum of 1 workloads",
    )
    assert found.ends == ("team/a",)
