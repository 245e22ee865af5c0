"""What a cluster answers to the question what would happen to a workload: tried with all deciders, and taken back.

Rule: docs/rules/multikueue.md#estimates
"""

from msgspec.structs import replace

from events.start_estimate import ForeseenStart, StartEstimate
from ops.production.foresight import foresee, may_ask
from projections.state_hash import state_hash
from tests.stories.small_world import Story, job, platform

KEY = "team/asked"


def asked(story: Story, *, priority: int = 0, count: int = 1) -> Story:
    """A workload that nothing here has made, and that may not be admitted."""
    found = job("asked", priority=priority, count=count, at=10_000)
    story.told(replace(found, owner=None, spec=replace(found.spec, active=False, origin="m"))).decided()
    return story


def foreseen(story: Story) -> StartEstimate:
    before = state_hash(story.world)
    assert may_ask(story.world.workloads[KEY])
    found = foresee(story.world, KEY, story.at)
    assert state_hash(story.world) == before, "nothing is changed by asking"
    assert not story.decided(), "and nothing follows from it"
    return found


def test_what_has_room_would_start_now() -> None:
    assert foreseen(asked(Story().told(*platform()))) == StartEstimate(start=ForeseenStart.NOW)


def test_what_makes_room_would_start_by_preempting_so_many() -> None:
    story = Story().told(*platform(nominal=2), job("a"), job("b"))
    story.decided()
    found = foreseen(asked(story, priority=10, count=2))
    assert found == StartEstimate(start=ForeseenStart.PREEMPTING, others=2)


def test_what_finds_no_room_would_wait_behind_so_many() -> None:
    story = Story().told(*platform(nominal=2), job("a", count=2), job("b", count=2), job("c", count=2))
    story.decided()
    assert foreseen(asked(story, count=2)) == StartEstimate(start=ForeseenStart.LATER, others=2)


def test_what_finds_no_cards_would_not_start_now() -> None:
    story = Story().told(*platform(nominal=8, cards=1))
    assert foreseen(asked(story, count=4)).start is ForeseenStart.LATER


def test_only_what_a_manager_of_other_clusters_has_made_and_may_not_be_admitted_may_ask() -> None:
    story = asked(Story().told(*platform(), job("own")))
    workload = story.world.workloads[KEY]
    assert not may_ask(story.world.workloads["team/own"])
    assert not may_ask(replace(workload, spec=replace(workload.spec, active=True)))
    assert not may_ask(replace(workload, spec=replace(workload.spec, origin="")))
