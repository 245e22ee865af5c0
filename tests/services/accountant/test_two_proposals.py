"""Two partitions that propose the same cards in the same moment: no part of a card is given twice.

Rule: docs/rules/devices.md#two-proposals
"""

import pytest
from msgspec.structs import replace

from events.card import Card, MigProfile, Span
from events.catalogue import AnyEvent
from events.device import DevicesRefused, DevicesRegistered, DevicesReserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import LocalQueueObserved
from events.workload import WorkloadDeleted, WorkloadSubmitted
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.queue_manager.decide import QueueManager
from tests.stories.small_world import CORES, GPU, MEMORY, Story, job, platform, queue


def asking(name: str, local_queue: str, memory: int, cores: int) -> WorkloadSubmitted:
    made = job(name, queue=local_queue)
    shape = PodShape(containers=(ContainerShape(name="main", limits={GPU: 1, MEMORY: memory, CORES: cores}),))
    return replace(made, spec=replace(made.spec, pod_sets=(PodSet(name="main", count=1, shape=shape),)))


def proposed_at_once(one: tuple[int, int], other: tuple[int, int], *more: AnyEvent, cards: int = 1) -> Story:
    """Two trees, each of whose admitters has read nothing of what the other decides; then the accountant reads both."""
    told = Story().told(*platform(cards=cards), *more)
    return at_once(told, asking("a", "lq", *one), asking("b", "lq2", *other))


def at_once(told: Story, *asked: WorkloadSubmitted) -> Story:
    """The jobs `a` and `b` are let in by two admitters who do not know of each other, `b` by way of another queue."""
    told.told(queue("cq2", nominal=8), LocalQueueObserved(namespace="team", name="lq2", cluster_queue="cq2"), *asked)
    for event in QueueManager().decide(told.world, at(told, 1)):
        evolve(told.world, event, at(told, 1))
    before = tables_of(told.world)
    for number, away in enumerate(("b", "a"), start=2):
        alone = world_of(before)
        evolve(alone, WorkloadDeleted(workload=f"team/{away}"), LogPosition(partition="FACTS", sequence=99, at=told.at))
        for event in Admitter().decide(alone, at(told, number)):
            evolve(told.world, event, at(told, number))
    for event in Accountant().decide(told.world, at(told, 9)):
        evolve(told.world, event, at(told, 9))
        told.decisions.append(event)
    return told


def at(told: Story, sequence: int) -> LogPosition:
    return LogPosition(partition="LOG_0", sequence=sequence, at=told.at)


def given(told: Story) -> dict[str, list[str]]:
    return {
        one.workload: [share.uuid for each in one.placements for shares in each.containers for share in shares]
        for one in told.decisions
        if isinstance(one, DevicesReserved)
    }


def refused(told: Story) -> dict[str, str]:
    return {one.workload: one.reason for one in told.decisions if isinstance(one, DevicesRefused)}


def test_no_memory_is_given_twice() -> None:
    told = proposed_at_once((20000, 10), (20000, 10))
    assert len(given(told)) == 1 and list(refused(told).values()) == ["WaitingForDevices"]


def test_who_finds_another_card_gets_that() -> None:
    told = proposed_at_once((20000, 10), (20000, 10), cards=2)
    assert sorted(given(told).values()) == [["GPU-0"], ["GPU-1"]]


@pytest.mark.parametrize(("one", "other"), [((16000, 100), (1000, 0)), ((1000, 0), (16000, 100))])
def test_a_card_for_one_alone_is_given_to_one(one: tuple[int, int], other: tuple[int, int]) -> None:
    told = proposed_at_once(one, other)
    assert len(given(told)) == 1 and list(refused(told).values()) == ["WaitingForDevices"]
    apart = proposed_at_once(one, other, cards=2)
    assert sorted(given(apart).values()) == [["GPU-0"], ["GPU-1"]]


def test_no_piece_of_a_card_is_given_twice() -> None:
    spans = tuple(Span(start=start, size=1) for start in range(7))
    small = MigProfile(name="1g.10gb", memory=9728, cores=15, slices=1, placements=spans)
    card = Card(uuid="GPU-0", slots=7, memory=81920, model="NVIDIA-A100", mode="mig", profiles=(small,))
    told = proposed_at_once((9000, 0), (9000, 0), DevicesRegistered(node="n1", cards=(card,)))
    assert given(told) == {"team/a": ["GPU-0"], "team/b": ["GPU-0"]}
    pieces = told.world.cards.used["GPU-0"].instances
    assert len({piece.start for piece in pieces}) == 2


def test_proposals_that_go_together_are_both_given_as_they_are() -> None:
    told = proposed_at_once((16000, 50), (16000, 50))
    assert given(told) == {"team/a": ["GPU-0"], "team/b": ["GPU-0"]}
    told = proposed_at_once((16000, 0), (1000, 0))
    assert given(told) == {"team/a": ["GPU-0"], "team/b": ["GPU-0"]}
