"""Capacity tells what one request can get beside what is free in sum."""

from projections.devices.capacity.model_capacity import ModelCapacity, ModelRoom, capacity
from projections.devices.card_use import CardUse, NodeCards
from tests.projections.devices.makers import MODEL, card


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
