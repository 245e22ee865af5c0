"""Advice on who should make room for a request: the least harm that is enough, and no trace of having asked."""

from events.card import CardShare
from events.device import PodObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from projections.devices.capacity.fragmentation import Way, make_room, stranded
from projections.devices.fit.pod_fit import asking
from projections.devices.placement.gang import Gang
from projections.state_hash import state_hash
from tests.projections.devices.makers import ask, container
from tests.stories.small_world import Story, job, platform


def want(told: Story, *containers: ContainerShape, count: int = 1) -> Gang:
    shape = PodShape(containers=containers)
    return Gang(pod_set=PodSet(name="main", count=count, shape=shape), count=count, flavor=told.world.flavors["v100"])


def ways(told: Story, gang: Gang) -> list[tuple[Way, str]] | None:
    before = state_hash(told.world)
    advice = make_room(told.world, [gang])
    assert state_hash(told.world) == before
    return None if advice is None else [(step.way, step.holder) for step in advice.steps]


def test_what_fits_as_it_is_needs_nobody_to_move() -> None:
    told = Story().told(*platform(cards=2), job("a"))
    told.decided()
    assert ways(told, want(told, container(gpu=1))) == []


def test_of_two_cards_that_are_each_half_taken_one_is_cleared_by_moving_its_job_beside_the_other() -> None:
    told = Story().told(
        *platform(cards=1), job("a", memory=12000, cores=30), job("z", priority=5, memory=12000, cores=30)
    )
    told.decided()
    two_cards = platform(cards=2)[-1]
    told.told(two_cards, job("c", memory=30000, cores=90))
    told.decided()
    # GPU-0 holds a and z, GPU-1 holds c: a card of its own is free for nobody, and c may not share.
    assert ways(told, want(told, container(gpu=1, mem=8000, cores=20))) == []
    assert ways(told, want(told, container(gpu=1, mem=20000, cores=20))) == [(Way.PREEMPT, "team/a")]


def test_a_job_that_finds_room_elsewhere_is_moved_and_not_stopped() -> None:
    told = Story().told(*platform(cards=1), job("small", memory=4000, cores=10))
    told.decided()
    told.told(platform(cards=2)[-1], job("half", memory=20000, cores=50)).decided()
    assert {uuid: list(row) for uuid, row in told.world.cards.stakes.items()} == {
        "GPU-0": ["team/small"],
        "GPU-1": ["team/half"],
    }
    assert ways(told, want(told, container(gpu=1))) == [(Way.MOVE, "team/small")]


def test_a_pod_that_no_queue_manages_is_named_last_and_to_be_stopped_by_hand() -> None:
    told = Story().told(*platform(cards=1))
    share = CardShare(uuid="GPU-0", vendor="NVIDIA", memory=1000, cores=1)
    told.told(PodObserved(namespace="x", name="thief", uid="u", node="n1", phase="Running", shares=((share,),)))
    assert ways(told, want(told, container(gpu=1))) == [(Way.STOP, "pod:x/thief")]


def test_one_that_can_move_goes_before_one_of_lower_priority_that_would_have_to_wait() -> None:
    told = Story().told(
        *platform(cards=3, nominal=8),
        job("large", memory=30000, cores=90),
        job("half", memory=20000, cores=50, priority=9),
        job("small", memory=4000, cores=10, priority=5),
    )
    told.decided()
    assert len(told.world.cards.stakes) == 3
    assert ways(told, want(told, container(gpu=1))) == [(Way.MOVE, "team/small")]


def test_of_those_who_have_to_wait_the_one_of_lowest_priority_is_named_and_any_before_a_pod_of_nobody() -> None:
    thief = CardShare(uuid="GPU-0", vendor="NVIDIA", memory=30000, cores=90)
    told = Story().told(*platform(cards=1))
    told.told(PodObserved(namespace="x", name="thief", uid="u", node="n1", phase="Running", shares=((thief,),)))
    told.told(*platform(cards=3), job("urgent", memory=20000, cores=50, priority=9)).decided()
    told.told(job("large", memory=30000, cores=90, priority=5)).decided()
    assert ways(told, want(told, container(gpu=1))) == [(Way.PREEMPT, "team/large")]


def test_several_make_room_where_one_is_not_enough_and_nobody_who_need_not() -> None:
    told = Story().told(*platform(cards=4), *(job(name, memory=30000, cores=90) for name in ("a", "b", "c", "d")))
    told.decided()
    said = ways(told, want(told, container(gpu=2)))
    assert said == [(Way.PREEMPT, "team/a"), (Way.PREEMPT, "team/b")]


def test_a_request_beyond_any_card_is_helped_by_nobody() -> None:
    told = Story().told(*platform(cards=1), job("a"))
    told.decided()
    assert ways(told, want(told, container(gpu=1, mem=40000))) is None


def test_stranded_is_what_none_of_the_waiting_requests_could_get() -> None:
    told = Story().told(*platform(cards=2), job("a", memory=17000, cores=40), job("b", memory=30000, cores=40))
    told.decided()
    asked = [ask(memory=16000, cores=10)]
    pod = asking({}, asked)
    found = stranded(told.world.cards.all_cards(), asked, pod)
    free = {uuid: 32768 - use.memory for uuid, use in told.world.cards.used.items()}
    assert found.memory == sum(memory for memory in free.values() if memory < 16000)
    assert found.cards == sum(1 for memory in free.values() if memory < 16000)
