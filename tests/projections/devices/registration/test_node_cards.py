"""Cards as their vendors' plugins register them, each in its own form."""

import json

import pytest

from events.card import Card
from events.codec import decode_event, encode
from events.device import DevicesRegistered
from projections.devices.annotations.bad_annotation import BadAnnotation
from projections.devices.registration.node_cards import CardsOn, cards_on, node_cards
from projections.devices.vendors.table import AMD, BY_WORD, NVIDIA

CAPACITY = "enflame.com/gcu-drs-capacity"


def told(devices: list[dict[str, object]], *profiles: str) -> dict[str, str]:
    numbers = {name: str(place) for place, name in enumerate(profiles)}
    return {CAPACITY: json.dumps({"devices": devices, "profiles": numbers})}


@pytest.mark.parametrize("capacity", [6, 6.0, "6", " 6 "])
def test_the_slices_of_a_card_of_enflame_may_be_written_as_a_number_or_as_text(capacity: object) -> None:
    annotations = told([{"index": "1", "minor": "7", "capacity": capacity}], "1g.6gb", "3g.20gb", "6g.40gb")
    (card,) = node_cards(BY_WORD["Enflame"], "n", annotations, {})
    assert (card.uuid, card.index, card.slots, card.memory, card.cores) == ("n-enflame-drs-1", 1, 6, 40960, 100)
    assert (card.custom["index"], card.custom["minor"], card.custom["maxSlice"]) == ("1", "7", 6)


def test_a_card_of_enflame_without_a_number_has_its_place_and_without_a_minor_its_number() -> None:
    annotations = told([{"capacity": 3}, {"index": "x", "capacity": 3}], " 1G.6GB ", "3g.20gb")
    cards = node_cards(BY_WORD["Enflame"], "n", annotations, {})
    assert [(card.uuid, card.index, card.custom["minor"]) for card in cards] == [
        ("n-enflame-drs-0", 0, "0"),
        ("n-enflame-drs-1", 1, "1"),
    ]


@pytest.mark.parametrize(
    ("devices", "profiles"),
    [
        ([{"index": "0", "capacity": 0}], ["1g.6gb"]),
        ([{"index": "0", "capacity": "many"}], ["1g.6gb"]),
        ([{"index": "0", "capacity": 6}], []),
        ([{"index": "0", "capacity": 6}], ["whole"]),
    ],
)
def test_a_node_of_enflame_that_cannot_cut_its_cards_is_refused(
    devices: list[dict[str, object]], profiles: list[str]
) -> None:
    with pytest.raises(BadAnnotation):
        node_cards(BY_WORD["Enflame"], "n", told(devices, *profiles), {})


@pytest.mark.parametrize("word", [AMD, NVIDIA])
def test_a_registration_that_hami_has_marked_as_deleted_is_none(word: str) -> None:
    vendor = BY_WORD[word]
    known = Card(uuid="c", slots=1, memory=1000, model="x", vendor=word)
    marked, capacity = {vendor.register: "Deleted_2026-11-28 10:00:00"}, {vendor.resources.count: 1}
    assert cards_on("n", marked, capacity, before=(known,)) == CardsOn(cards=())


REGISTER = "hami.io/node-nvidia-register"
PLAIN = {"id": "GPU-0", "count": 10, "devmem": 32768, "devcore": 100, "type": "NVIDIA-V100", "health": True}


@pytest.mark.parametrize(
    "rows",
    [
        [PLAIN, PLAIN],
        [{**PLAIN, "devmem": 2**31}],
        [{**PLAIN, "count": -(2**40)}],
        [{**PLAIN, "index": -1}],
    ],
)
def test_a_card_that_is_told_of_twice_or_with_numbers_that_hami_cannot_read_is_refused(
    rows: list[dict[str, object]],
) -> None:
    found = cards_on("n", {REGISTER: json.dumps(rows)}, {})
    assert found.cards == () and [one.key for one in found.unread] == [REGISTER]


def test_what_a_vendor_adds_to_a_card_is_told_only_where_a_log_can_hold_it() -> None:
    text = json.dumps([{**PLAIN, "custominfo": {"AIC": 3, "Board": 2.0, "word": "die", "flag": True, "far": 1e300}}])
    (card,) = cards_on("n", {REGISTER: text}, {}).cards
    assert card.custom == {"AIC": 3, "Board": 2, "word": "die"}
    told = DevicesRegistered(node="n", cards=(card,))
    assert decode_event(encode(told)) == told
    odd = text.replace("1e+300", "1e999")
    assert cards_on("n", {REGISTER: odd}, {}).unread
