"""Capacity tells what one request can get beside what is free in sum."""

from events.card import Card, CardShare
from events.device import DriftKind, PodObserved
from projections.devices.capacity.model_capacity import ModelCapacity, ModelRoom, capacity
from projections.devices.capacity.offer import unmanaged_use
from projections.devices.card_use import CardUse, NodeCards
from projections.devices.holdings.drift import card_findings
from tests.projections.devices.makers import MODEL, Fleet, card


def test_capacity_tells_unhealthy_cordoned_and_stranded_cards_apart() -> None:
    on = NodeCards(
        node="n",
        cards=(card("idle"), card("part"), card("full"), card("ill", healthy=False), card("kept")),
        cordoned=frozenset({"kept"}),
        used={"part": CardUse(1, 20000, 30), "full": CardUse(2, 10000, 100)},
    )
    assert capacity([on]) == {
        MODEL: ModelCapacity(
            model=MODEL,
            registered=ModelRoom(cards=5, slots=50, memory=163840, cores=500),
            unhealthy=ModelRoom(cards=1, slots=10, memory=32768, cores=100),
            cordoned=ModelRoom(cards=1, slots=10, memory=32768, cores=100),
            free=ModelRoom(cards=1, slots=27, memory=68304, cores=170),
            stranded=ModelRoom(cards=0, slots=8, memory=22768, cores=0),
            largest_memory=32768,
            largest_cores=100,
            idle_together=1,
        )
    }


def test_free_memory_beyond_the_largest_piece_is_scattered() -> None:
    on = NodeCards(
        node="n", cards=(card("a"), card("b")), used={"a": CardUse(1, 17000, 10), "b": CardUse(1, 17000, 10)}
    )
    assert capacity([on])[MODEL].scattered_memory == 15768


def test_pods_leave_slots_of_a_chip_that_is_split_by_software_until_all_percent_of_it_are_theirs() -> None:
    chip = Card(uuid="a", slots=4, memory=65536, cores=20, model="Ascend910B3", vendor="Ascend910B3")
    fleet = Fleet(n1=[chip])
    for place, left in ((1, CardUse(1, 8000, 50)), (2, CardUse(4, 16000, 100))):
        share = CardShare(uuid="a", vendor="Ascend910B3", memory=8000, cores=50)
        fleet.cards.observe_pod(
            PodObserved(
                namespace="team", name=f"p{place}", uid=f"u{place}", node="n1", phase="Running", shares=((share,),)
            )
        )
        assert unmanaged_use(fleet.cards, chip) == left
        assert {one.kind for one in card_findings(fleet.cards, fleet.nodes, "a")} == {DriftKind.UNMANAGED}
    half = NodeCards(node="n1", cards=(chip,), used={"a": CardUse(1, 8000, 50)})
    (known,) = capacity([half]).values()
    assert (known.largest_cores, known.stranded) == (50, ModelRoom())
