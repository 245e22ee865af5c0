"""Who asks about a queue is told whether it takes anything in and why not, what stands in it and who comes first."""

from io import StringIO
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from events.catalogue import AnyEvent
from events.codec import encode
from events.commit import Sighting
from events.quota import LocalQueueObserved, NamespaceObserved, StopPolicy
from events.selector import LabelSelector
from events.subjects import FACTS, fact_subject
from ops.cli.questions.explain_queue import show_queue
from ops.queries.answers import explained, life_of
from ops.queries.explaining import find_workload
from ops.queries.point import NotOnTheLog, Point
from services.runtime.log_port import Entry
from tests.stories.small_world import Story, job, platform, queue

DOOR = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq")
BESIDE = replace(DOOR, name="beside")


def asked(story: Story, wanted: str, namespace: str = "") -> Any:
    point = Point(entries={}, at=story.at)
    return explained(story.world, point, wanted, lambda key: not namespace or key.startswith(f"{namespace}/"))


def text(plain: Any) -> str:
    told = StringIO()
    show_queue(plain, Console(file=told, width=300))
    return told.getvalue()


def crowded() -> Story:
    story = Story().told(*platform(nominal=2, cards=8), BESIDE, job("a"), job("b"))
    story.decided()
    story.told(job("before", priority=-1, queue="beside", count=2), job("c"), job("late", priority=-2)).decided()
    return story


def test_a_local_queue_says_what_stands_in_it_and_who_of_it_comes_first() -> None:
    told = asked(crowded(), "localqueue/team/lq")
    assert (told["queue"], told["cluster_queue"], told["inactive"]) == ("team/lq", "cq", [])
    assert {state: count for state, count in told["states"].items() if count} == {"admitted": 2, "pending": 2}
    assert [(one["workload"], one["position"]) for one in told["first"]] == [("team/c", 1), ("team/late", 3)]
    assert (told["waiting"], told["waiting_in_cluster_queue"]) == (2, 3)
    words = text(told)
    assert "local queue team/lq → cluster queue cq, cohort none" in words
    assert "2 of 3 who wait for cq are of this queue" in words
    assert "3. team/late, priority -2: WaitingForQuota" in words
    assert "v100 nvidia.com/gpu: owns 2, uses 2, may still use 0" in words


def test_its_name_alone_does_where_only_one_namespace_has_it() -> None:
    story = crowded()
    assert asked(story, "localqueue/lq")["queue"] == "team/lq"
    story.told(replace(DOOR, namespace="other"))
    with pytest.raises(NotOnTheLog, match="write localqueue/other/lq or localqueue/team/lq"):
        asked(story, "localqueue/lq")
    assert asked(story, "localqueue/lq", "other")["queue"] == "other/lq"


@pytest.mark.parametrize(
    ("change", "reason", "words"),
    [
        (replace(DOOR, stop=StopPolicy.HOLD), "Stopped", "spec.stopPolicy: Hold"),
        (replace(DOOR, terminating=True), "Terminating", "being deleted"),
        (replace(DOOR, cluster_queue="nowhere"), "ClusterQueueDoesNotExist", "there is no ClusterQueue nowhere"),
        (replace(queue("cq", nominal=2), stop=StopPolicy.HOLD_AND_DRAIN), "Stopped", "is stopped"),
        (replace(queue("cq", nominal=2), terminating=True), "Terminating", "being deleted"),
        (
            replace(queue("cq", nominal=2), namespaces=LabelSelector(labels={"a": "b"})),
            "NamespaceMismatch",
            "does not select namespace team",
        ),
    ],
)
def test_a_local_queue_that_takes_nothing_in_says_why(change: AnyEvent, reason: str, words: str) -> None:
    story = crowded().told(NamespaceObserved(name="team"), change)
    story.decided()
    told = asked(story, "localqueue/team/lq")
    assert [one["reason"] for one in told["inactive"]] == [reason]
    assert words in text(told)


def test_a_cluster_queue_that_is_being_deleted_says_so() -> None:
    story = crowded().told(replace(queue("cq", nominal=2), terminating=True))
    assert [one["reason"] for one in asked(story, "clusterqueue/cq")["inactive"]] == ["Terminating"]


def test_one_that_is_not_there_or_another_namespaces_is_not_known() -> None:
    with pytest.raises(NotOnTheLog, match="knows no localqueue team/nowhere; it knows team/beside, team/lq"):
        asked(crowded(), "localqueue/team/nowhere")
    with pytest.raises(NotOnTheLog, match="it knows none"):
        asked(crowded(), "localqueue/team/lq", "other")


def test_a_job_that_is_named_as_a_local_queue_is_not_taken_for_it() -> None:
    story = crowded().told(job("lq"))
    assert find_workload(story.world, "job/team/lq") is not None
    assert find_workload(story.world, "localqueue/team/lq") is None


def test_a_cohort_without_an_object_is_said_to_be_there_by_its_queues() -> None:
    facts = [replace(queue(name, nominal=1), cohort="pool") for name in ("b", "a")]
    told = [
        Sighting(id=f"{number}:f", at=1000, author="watcher", fact=fact) for number, fact in enumerate(facts, start=1)
    ]
    entries = {
        FACTS: [
            Entry(
                stream=FACTS,
                sequence=number,
                subject=fact_subject("", "ClusterQueueObserved"),
                message_id=one.id,
                data=encode(one),
            )
            for number, one in enumerate(told, start=1)
        ]
    }
    point = Point(entries=entries, at=1000)
    with pytest.raises(
        NotOnTheLog, match="because clusterqueue/a, clusterqueue/b named it; .*kuelog history clusterqueue/a"
    ):
        life_of("cohort/pool", point)
    with pytest.raises(NotOnTheLog, match="knows no cohort other; it knows none"):
        life_of("cohort/other", point)
