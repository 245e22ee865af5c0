"""Annotations are written as HAMi reads them, and what cannot be read is named."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.card import Card, CardShare, MigInstance, MigProfile, Span
from projections.devices.annotations.allocated_cards import (
    by_vendor,
    decode_allocation,
    decode_mig_allocations,
    encode_allocation,
    pod_shares,
)
from projections.devices.annotations.bad_annotation import BadAnnotation
from projections.devices.card_use import charged_of
from projections.devices.registration.node_cards import cards_on
from projections.devices.registration.node_lock import NodeLock, parse_node_lock
from projections.devices.registration.register_annotation import decode_json, decode_legacy, encode_json, encode_legacy

words = st.text(st.characters(categories=["L", "N"], include_characters="-. "), min_size=1, max_size=12)
numbers = st.integers(0, 2**31 - 1)
shares = st.builds(CardShare, uuid=words, vendor=st.sampled_from(["NVIDIA", "DCU"]), memory=numbers, cores=numbers)
profiles = st.builds(
    MigProfile, name=words, memory=numbers, cores=numbers, placements=st.tuples(st.builds(Span, start=numbers))
)
cards = st.builds(
    Card,
    uuid=words,
    index=numbers,
    slots=numbers,
    memory=numbers,
    cores=numbers,
    model=words,
    numa=numbers,
    mode=words,
    healthy=st.booleans(),
    vendor=st.just(""),
)


@given(st.lists(st.lists(shares, max_size=3).map(tuple), min_size=1, max_size=4).map(tuple))
def test_an_allocation_comes_back_with_every_container_in_its_place(pod: tuple[tuple[CardShare, ...], ...]) -> None:
    assert decode_allocation(encode_allocation(pod)) == pod


@given(st.lists(cards, min_size=1, max_size=3).map(tuple))
def test_registered_cards_come_back_from_the_older_text(found: tuple[Card, ...]) -> None:
    assert decode_legacy(encode_legacy(found)) == found


@given(
    st.lists(
        st.builds(lambda card, profile: Card(**{**_fields(card), "profiles": profile}), cards, st.tuples(profiles)),
        max_size=3,
    ).map(tuple)
)
def test_registered_cards_come_back_from_json(found: tuple[Card, ...]) -> None:
    assert decode_json(encode_json(found)) == found


def _fields(card: Card) -> dict[str, object]:
    return {name: getattr(card, name) for name in card.__struct_fields__}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("GPU-1,10,x,100,T4,0,true:", "'GPU-1,10,x,100,T4,0,true' has 'x' where a number belongs"),
        ("GPU-1,10,100:", "'GPU-1,10,100' must have 7 or 9 fields"),
        ("GPU-1", "'GPU-1' has no ':' at the end of a card"),
        ("GPU-1,10,1,100,T4,0,maybe:", "must say true or false in its seventh field"),
        ("GPU-1,10,1,100,T4,0,true,-1,hami-core:", "has a negative index"),
        ("GPU-1,10," + "9" * 5000 + ",100,T4,0,true:", "99' where a number belongs"),
    ],
)
def test_a_bad_registration_is_named_with_its_bad_part(text: str, message: str) -> None:
    with pytest.raises(BadAnnotation, match="annotation hami.io/node-nvidia-register: ") as bad:
        decode_legacy(text)
    assert message in str(bad.value)


@pytest.mark.parametrize("zeros", [0, 1, 5000])
def test_zeros_before_a_number_change_nothing(zeros: int) -> None:
    text = f"GPU-1,{'0' * zeros}10,{'0' * zeros}5,100,T4,0,true:"
    assert [(card.slots, card.memory) for card in decode_legacy(text)] == [(10, 5)]


def test_an_entry_with_too_few_fields_is_named() -> None:
    with pytest.raises(BadAnnotation) as bad:
        decode_allocation("GPU-1,NVIDIA,100:;")
    assert (bad.value.part, bad.value.problem) == (
        "GPU-1,NVIDIA,100",
        "must have 4 fields: uuid, type, memory, cores",
    )


@pytest.mark.parametrize(
    ("written", "slots"), [("", 1), (",3", 3), (",0", 1), (",-2", 1), (",many", 1), (",3,more", 3)]
)
def test_a_share_of_several_slots_says_so_behind_its_cores_and_what_is_no_number_there_is_one(
    written: str, slots: int
) -> None:
    ((share,),) = decode_allocation(f"n1-enflame-drs-0,Enflame,20480,50{written}:;", vendor="Enflame")
    assert share == CardShare(uuid="n1-enflame-drs-0", vendor="Enflame", memory=20480, cores=50, slots=slots)
    assert charged_of(share).slots == slots


@pytest.mark.parametrize("amounts", ["-100,0", "100,-5"])
def test_an_entry_by_which_a_card_would_have_more_than_nobody_leaves_of_it_is_named(amounts: str) -> None:
    with pytest.raises(BadAnnotation, match="has a negative amount"):
        decode_allocation(f"GPU-1,NVIDIA,{amounts}:;")


def test_shares_of_several_vendors_keep_the_places_of_their_containers() -> None:
    nvidia = CardShare(uuid="a", vendor="NVIDIA", memory=1, cores=0)
    amd = CardShare(uuid="b", vendor="AMD-Instinct-MI300X", memory=1, cores=0)
    assert by_vendor(((), (nvidia,), (amd, nvidia))) == {
        "AMD": ((), (), (amd,)),
        "NVIDIA": ((), (nvidia,), (nvidia,)),
    }


def test_a_lock_is_stale_five_minutes_after_it_was_taken() -> None:
    lock = parse_node_lock("1970-01-01T00:00:10Z,team-a,pod-1")
    assert lock == NodeLock(since=10_000, namespace="team-a", name="pod-1")
    assert (lock.stale(310_000), lock.stale(310_001)) == (False, True)


def test_a_pod_s_shares_of_all_vendors_and_their_pieces_are_read_together() -> None:
    found = pod_shares(
        {
            "hami.io/vgpu-devices-allocated": ";GPU-a,NVIDIA,5120,14:;",
            "hami.io/dcu-devices-allocated": "DCU-b,DCU,1000,5:;;",
            "hami.io/vgpu-mig-allocations": '[{"containerIndex":1,"deviceIndex":0,"gpuUUID":"GPU-a",'
            '"profile":"1g.5gb","placement":{"start":6,"size":1}}]',
        }
    )
    piece = MigInstance(profile="1g.5gb", start=6, size=1)
    assert found == (
        (CardShare(uuid="DCU-b", vendor="DCU", memory=1000, cores=5),),
        (CardShare(uuid="GPU-a", vendor="NVIDIA", memory=5120, cores=14, instance=piece),),
    )


def test_the_cards_of_all_vendors_on_a_node_are_read_together() -> None:
    found = cards_on(
        "n1",
        {"hami.io/node-nvidia-register": "GPU-a,10,32768,100,NVIDIA-T4,0,true:"},
        {"cambricon.com/mlu.smlu.vcore": 200, "cambricon.com/mlu.smlu.vmemory": 384},
    )
    assert [(card.uuid, card.vendor, card.memory) for card in found.cards] == [
        ("GPU-a", "NVIDIA", 32768),
        ("n1-cambricon-mlu-0", "MLU", 49152),
        ("n1-cambricon-mlu-1", "MLU", 49152),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"containerIndex": -1},
        {"deviceIndex": -1},
        {"gpuUUID": ""},
        {"profile": ""},
        {"placement": {"start": 0, "size": 0}},
        {"containerIndex": 0, "deviceIndex": 0},
    ],
)
def test_pieces_of_mig_cards_that_nobody_can_mean_are_refused(change: dict[str, object]) -> None:
    good = {"gpuUUID": "GPU-a", "profile": "1g.5gb", "placement": {"start": 0, "size": 1}}
    pieces = [good, {**good, "containerIndex": 1, **change}]
    assert len(decode_mig_allocations(json.dumps([good, {**good, "containerIndex": 1}]))) == 2
    with pytest.raises(BadAnnotation, match="must say once"):
        decode_mig_allocations(json.dumps(pieces))
