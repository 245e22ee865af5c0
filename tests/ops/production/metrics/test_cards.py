"""Cards as metrics, read from small worlds: what is free, and where log and cluster differ."""

from events.card import CardShare
from events.device import NodeObserved, PodObserved
from ops.production.metrics.cards import CardMetrics
from tests.stories.small_world import Story, job, platform

MIB = 1 << 20


def told(story: Story, gauge: str) -> dict[tuple[str, ...], float]:
    """The values of a gauge by those of its labels."""
    found = CardMetrics(lambda: story.world).collect()
    return {
        tuple(sample.labels.values()): sample.value
        for metric in found
        if metric.name == gauge
        for sample in metric.samples
    }


def pod(name: str, workload: str, card: str = "") -> PodObserved:
    shares = ((CardShare(uuid=card, vendor="NVIDIA", memory=16000, cores=50),),) if card else ()
    return PodObserved(
        namespace="team", name=name, uid=name, workload=workload, node="n1", phase="Running", shares=shares
    )


def test_a_card_that_pods_are_about_to_take_is_no_difference_and_one_that_was_not_given_is() -> None:
    """Some job starts at any moment: an alert that counted these would fire for ever where much is done."""
    story = Story().told(*platform(cards=2), job("a", count=2))
    story.decided()
    cards = [
        share.uuid
        for one in story.world.cards.attempts_of("team/a")
        for each in one.placements
        for shares in each.containers
        for share in shares
    ]
    story.told(pod("a-0", "team/a", cards[0]))
    assert told(story, "kuelog_drift") == {}
    story.told(pod("thief", "", cards[0]))
    assert set(told(story, "kuelog_drift")) == {("Unmanaged",)}


def test_cards_of_a_node_that_takes_no_pods_are_not_free() -> None:
    story = Story().told(*platform(cards=1))
    assert told(story, "kuelog_model_free_bytes") == {("NVIDIA-V100",): 32768 * MIB}
    story.told(NodeObserved(name="n1", labels={"card": "v100"}, unschedulable=True))
    assert told(story, "kuelog_card_state") == {("n1", "GPU-0", "cordoned"): 1}
    assert told(story, "kuelog_model_free_bytes") == {("NVIDIA-V100",): 0}
    assert told(story, "kuelog_model_largest_bytes") == {("NVIDIA-V100",): 0}
