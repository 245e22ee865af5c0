"""Which pod is told which cards: by completion index, else in the order in which pods were made; a place is had by one."""

from msgspec.structs import replace

from events.control import ObjectRemoved
from events.device import DevicesReserved, PodCardsAssigned, PodObserved
from events.setting_aside import SetAside
from events.topology import PodTopology
from events.workload import WorkloadDeleted
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.workloads.lifecycle import SECOND
from tests.services.admitter.test_topology_with_cards import asking, host, racked
from tests.stories.small_world import Story, job, platform


def waiting(name: str, at: int = 0, index: int | None = None) -> PodObserved:
    return PodObserved(
        namespace="team",
        name=name,
        uid=f"u-{name}",
        workload="team/a",
        pod_set="main",
        gated=True,
        created_at=at,
        completion_index=index,
    )


def gang(*, forgetful: bool = False) -> Story:
    """Three pods that get a card each."""
    told = Story(forgetful=forgetful).told(*platform(cards=4), job("a", count=3, memory=30000, cores=90))
    told.decided()
    assert told.world.workloads["team/a"].admitted
    return told


def told_to(story: Story) -> list[tuple[str, int]]:
    return [(one.pod, one.index) for one in story.decided() if isinstance(one, PodCardsAssigned)]


def test_pods_get_the_places_in_the_order_in_which_they_were_made() -> None:
    story = gang().told(waiting("late", at=9), waiting("early", at=1))
    assert told_to(story) == [("early", 0), ("late", 1)]
    assert told_to(story.told(waiting("last", at=12))) == [("last", 2)]
    assert told_to(story) == []


def test_a_pod_of_an_indexed_job_gets_the_place_of_its_index() -> None:
    assert told_to(gang().told(waiting("a-2", 1, 2), waiting("a-0", 2, 0))) == [("a-2", 2), ("a-0", 0)]


def test_a_place_is_told_anew_only_when_the_pod_that_had_it_has_ended_or_is_gone() -> None:
    story = gang().told(*(waiting(name, at) for at, name in enumerate("xyz")))
    assert told_to(story) == [("x", 0), ("y", 1), ("z", 2)]
    leaving = replace(waiting("y"), gated=False, terminating=True, phase="Running")
    assert told_to(story.told(leaving, waiting("more", 9))) == [], "it still holds them"
    assert told_to(story.told(ObjectRemoved(kind="Pod", namespace="team", name="y"))) == [("more", 1)]
    failed = replace(waiting("x"), gated=False, phase="Failed")
    assert told_to(story.told(failed, waiting("other", 10))) == [("other", 0)]


def test_a_pod_that_waits_when_its_workload_gets_cards_of_another_host_is_told_them_at_once() -> None:
    story = racked(host("a", "r1"), host("b", "r1"), host("c", "r1"))
    story.unchecked = True  # As on a partition: who is passed over is not looked at by chance.
    story.told(asking("a", count=2)).decided()
    x, y, again = (
        replace(waiting(name, at), topology=PodTopology(gated=True)) for at, name in enumerate(("x", "y", "again"))
    )
    assert told_to(story.told(x, y)) == [("x", 0), ("y", 1)]
    lost = (ObjectRemoved(kind="Node", namespace="", name="a"), ObjectRemoved(kind="Pod", namespace="team", name="x"))
    story.told(*lost, again).decided()
    said = story.later(SECOND)
    assert [one.placements[0].node for one in said if isinstance(one, DevicesReserved)] == ["c"]
    assert [(one.pod, one.index) for one in said if isinstance(one, PodCardsAssigned)][-1] == ("again", 0)


def test_pods_beyond_those_that_were_let_in_wait() -> None:
    story = gang().told(*(waiting(name, at) for at, name in enumerate("wxyz")))
    assert [name for name, _ in told_to(story)] == ["w", "x", "y"]


def test_nothing_is_told_where_all_pods_have_the_same_cards() -> None:
    story = Story().told(*platform(cards=1), job("a", count=2, memory=10000, cores=40))
    story.decided()
    assert told_to(story.told(waiting("x"), waiting("y"))) == []


def test_who_looks_at_everybody_each_time_says_the_same_and_a_saved_world_goes_on_where_it_was() -> None:
    facts = (waiting("x", 1), waiting("y", 2), ObjectRemoved(kind="Pod", namespace="team", name="x"), waiting("z", 3))
    stories = [gang(forgetful=forgetful) for forgetful in (False, True)]
    for fact in facts:
        said = [told_to(story.told(fact)) for story in stories]
        assert said[0] == said[1]
    known = stories[0].world
    copy = world_of(tables_of(known))
    assert state_hash(copy) == state_hash(known)
    assert copy.cards.care.gated == {key: pods for key, pods in known.cards.care.gated.items() if pods}


def test_a_pod_that_is_another_workloads_by_now_waits_for_the_cards_of_that_one_alone() -> None:
    story = gang().told(job("b", memory=1000, cores=5)).told(waiting("x"))
    assert told_to(story) == [("x", 0)]
    story.told(replace(waiting("x"), uid="u-again", workload="team/b")).decided()
    story.told(ObjectRemoved(kind="Pod", namespace="team", name="x"), waiting("y"))
    assert not any(isinstance(one, SetAside) for one in story.decided())
    assert [one.pod for one in story.decisions if isinstance(one, PodCardsAssigned)][-1] == "y"


def test_a_pod_that_outlives_its_workload_waits_no_more_when_it_goes() -> None:
    story = gang().told(waiting("x"), WorkloadDeleted(workload="team/a"))
    story.decided()
    story.told(ObjectRemoved(kind="Pod", namespace="team", name="x")).decided()
    story.told(job("a", count=3, memory=30000, cores=90)).decided()
    assert not any(isinstance(one, SetAside) for one in story.told(waiting("y")).decided())
    assert [one.pod for one in story.decisions if isinstance(one, PodCardsAssigned)][-1] == "y"
