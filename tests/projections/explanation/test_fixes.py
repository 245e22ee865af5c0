"""What somebody is told to do is what helps."""

import pytest
from msgspec.structs import replace

from events.control import ObjectProblem, ObjectRefused, ObjectRemoved
from events.device import NodeObserved
from events.quota import LimitRangeItem, LimitRangeObserved, LocalQueueObserved, StopPolicy
from events.selector import Effect, LabelSelector, Taint
from projections.explanation.words import Tier
from tests.ops.queries.test_held_up import told
from tests.stories.small_world import Story, job, platform, queue


def test_whose_namespace_is_not_admitted_is_told_of_its_labels_and_not_to_create_a_queue() -> None:
    closed = LabelSelector(labels={"team": "a"})
    story = Story().told(*platform(), replace(queue("cq", nominal=8), namespaces=closed), job("a"))
    story.decided()
    found = told(story, "a")
    assert (found.tier, found.reason) == (Tier.SPEC, "Misconfigured")
    assert found.fix.startswith("have namespace team labelled as spec.namespaceSelector of ClusterQueue cq wants it")


def test_what_a_limit_range_forbids_is_not_mended_by_a_queue() -> None:
    most = LimitRangeItem(kind="Container", maximum={"nvidia.com/gpumem": 8000})
    story = Story().told(*platform(), LimitRangeObserved(namespace="team", name="l", items=(most,)), job("a"))
    story.decided()
    found = told(story, "a")
    assert found.reason == "Misconfigured" and "LimitRange" in found.message
    assert found.fix == "change what the message names, or have it changed"


def test_who_asks_a_queue_that_was_refused_is_told_to_have_it_mended() -> None:
    story = Story().told(*platform(), ObjectRemoved(kind="LocalQueue", namespace="team", name="lq"))
    problem = ObjectProblem(field="spec.clusterQueue", message="is required")
    story.told(ObjectRefused(kind="LocalQueue", namespace="team", name="lq", problems=(problem,)), job("a")).decided()
    assert told(story, "a").fix.startswith("have the queue mended as its refusal says")


@pytest.mark.parametrize(
    "node",
    [NodeObserved(name="n1", labels={"card": "v1000"}), NodeObserved(name="n1", labels={"card": "v100"}, ready=False)],
)
def test_whose_flavor_has_no_node_is_not_told_to_ask_for_less(node: NodeObserved) -> None:
    story = Story().told(*platform(), node, job("a"))
    story.decided()
    found = told(story, "a")
    assert (found.tier, found.reason) == (Tier.DEVICE, "ExceedsCardCapacity")
    assert found.waits_for == ("a node of the flavor that is ready and has cards",)
    assert found.fix.startswith("compare spec.nodeLabels of the flavor with the labels of the nodes")


def test_whose_pods_no_node_of_the_flavor_takes_is_told_why_and_not_to_compare_labels() -> None:
    tainted = NodeObserved(name="n1", labels={"card": "v100"}, taints=(Taint(key="gpu", effect=Effect.NO_SCHEDULE),))
    story = Story().told(*platform(), tainted, job("a"))
    story.decided()
    found = told(story, "a")
    assert (found.tier, found.reason) == (Tier.DEVICE, "ExceedsCardCapacity")
    assert found.message.endswith("1 node(s) with cards take no such pod: 1 taint gpu is not tolerated")
    assert found.waits_for == ("a node of the flavor that takes its pods",)
    assert "spec.tolerations of the flavor" in found.fix


def test_who_waits_for_a_stopped_queue_is_told_that_it_goes_on_once_that_is_resumed() -> None:
    door = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq", stop=StopPolicy.HOLD)
    for stopped, name in (
        (door, "LocalQueue lq"),
        (replace(queue("cq", nominal=8), stop=StopPolicy.HOLD), "ClusterQueue cq"),
    ):
        story = Story().told(*platform(), stopped, job("a"))
        story.decided()
        found = told(story, "a")
        assert (found.tier, found.reason) == (Tier.QUEUE, "Suspended")
        assert found.fix.startswith(f"wait until {name}, which somebody has stopped")
    story = Story().told(*platform(), ObjectRemoved(kind="ResourceFlavor", name="v100"), job("a"))
    story.decided()
    assert told(story, "a").fix.startswith("have what is named put right: it goes on by itself then")
