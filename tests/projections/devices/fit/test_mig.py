"""Pieces of MIG cards: rounded up to a profile, never overlapping, given back exactly."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.card import Card, CardShare, MigInstance, MigProfile, Span
from events.device import PodPlacement
from projections.devices.card_use import IDLE, CardUse, NodeCards
from projections.devices.fit.mig import can_place, candidate, overlaps, spans_of
from projections.devices.placement.gang import place
from tests.projections.devices.makers import Fleet, ask, container, fit_pod, gang


def spans(size: int, *starts: int) -> tuple[Span, ...]:
    return tuple(Span(start=start, size=size) for start in starts)


PROFILES = (
    MigProfile(name="1g.10gb", memory=9728, cores=15, slices=1, placements=spans(1, 0, 1, 2, 3, 4, 5, 6)),
    MigProfile(name="2g.20gb", memory=19968, cores=29, slices=2, placements=spans(2, 0, 2, 4)),
    MigProfile(name="3g.40gb", memory=40192, cores=43, slices=3, placements=spans(4, 0, 4)),
    MigProfile(name="7g.79gb", memory=80896, cores=100, slices=7, placements=spans(8, 0)),
)


def mig_card(uuid: str) -> Card:
    return Card(uuid=uuid, slots=7, memory=81920, model="NVIDIA-A100-SXM4-80GB", mode="mig", profiles=PROFILES)


def test_a_request_is_charged_as_the_piece_that_it_gets() -> None:
    fleet = Fleet(n1=[mig_card("a")])
    placed = place(fleet.cards, fleet.nodes, [gang(1, container(gpu=1, mem=12000))], fleet.trail)
    piece = MigInstance(profile="2g.20gb", start=0, size=2)
    share = CardShare(uuid="a", vendor="NVIDIA", memory=19968, cores=29, instance=piece)
    assert placed.placements == (PodPlacement(pod_set="main", index=0, node="n1", containers=((share,),)),)


def test_a_request_gets_the_smallest_profile_that_holds_it_and_one_mib_more_the_next() -> None:
    for memory, profile in ((9728, "1g.10gb"), (9729, "2g.20gb"), (80896, "7g.79gb"), (80897, None)):
        found = candidate(PROFILES[::-1], memory, ())
        assert (found[0].name if found is not None else None) == profile


def test_one_container_may_get_several_pieces_of_one_card() -> None:
    on = NodeCards(node="n", cards=(mig_card("a"),))
    fit = fit_pod(on, [ask(3, memory=9000)], 0, {})
    assert fit.shares is not None
    assert [share.instance for share in fit.shares[0]] == [
        MigInstance(profile="1g.10gb", start=start, size=1) for start in (6, 5, 4)
    ]


def test_a_card_whose_slices_lie_wrong_is_refused_although_memory_is_free() -> None:
    pieces = tuple(MigInstance(profile="1g.10gb", start=start, size=1) for start in (1, 3, 5))
    taken = CardUse(3, 29184, 45, pieces)
    on = NodeCards(node="n", cards=(mig_card("a"),), used={"a": taken})
    assert fit_pod(on, [ask(1, memory=15000)], 0, {}).refusals == {"CardMigTopologyInfeasible": 1}


def test_a_card_that_is_shared_in_another_way_is_not_cut_although_it_could_be() -> None:
    for mode in ("hami-core", "mps"):
        on = NodeCards(node="n", cards=(replace(mig_card("a"), mode=mode),))
        fit = fit_pod(on, [ask(1, memory=12000)], 0, {})
        assert fit.shares == ((CardShare(uuid="a", vendor="NVIDIA", memory=12000, cores=0),),)


def test_a_card_that_holds_more_pieces_than_its_node_now_tells_slots_of_gives_none() -> None:
    for slots, gives in ((1, False), (2, False), (3, True)):
        pieces = tuple(MigInstance(profile="1g.10gb", start=start, size=1) for start in (0, 1))
        cards = (replace(mig_card("a"), slots=slots),)
        on = NodeCards(node="n", cards=cards, used={"a": CardUse(0, 19456, 30, instances=pieces)})
        assert (fit_pod(on, [ask(1, memory=9000)], 0, {}).shares is not None) is gives


def test_a_card_gives_no_more_pieces_than_it_has_slots() -> None:
    on = NodeCards(node="n", cards=(replace(mig_card("a"), slots=2),))
    assert fit_pod(on, [ask(2, memory=9000)], 0, {}).shares is not None
    fit = fit_pod(on, [ask(3, memory=9000)], 0, {})
    assert (fit.shares, fit.refusals) == (
        None,
        {"CardMigTopologyInfeasible": 1, "AllocatedCardsInsufficientRequest": 2},
    )


def test_pieces_find_places_together_in_any_arrangement() -> None:
    assert can_place(PROFILES, ["3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"], [])
    assert not can_place(PROFILES, ["3g.40gb", "3g.40gb", "1g.10gb"], [])


@given(st.lists(st.integers(1000, 50000), max_size=9))
def test_pieces_never_overlap(asked: list[int]) -> None:
    occupied: list[Span] = []
    for memory in asked:
        found = candidate(PROFILES, memory, occupied)
        if found is None:
            continue
        profile, piece = found
        assert profile.memory >= memory
        (span,) = spans_of([piece])
        assert not any(overlaps(span, other) for other in occupied)
        occupied.append(span)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1000, 50000), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_giving_pieces_back_leaves_the_cards_idle(asked: list[int], chance: Random) -> None:
    fleet = Fleet(n1=[mig_card("a"), mig_card("b")])
    held = []
    for number, memory in enumerate(asked):
        placed = place(fleet.cards, fleet.nodes, [gang(1, container(gpu=1, mem=memory))], fleet.trail)
        fleet.cards.confirm(f"w{number}", 1, placed.placements)
        held.append(f"w{number}")
        for use in fleet.cards.used.values():
            taken = spans_of(use.instances)
            assert not any(overlaps(x, y) for i, x in enumerate(taken) for y in taken[i + 1 :])
    chance.shuffle(held)
    for workload in held:
        fleet.cards.release(workload, 1)
    assert set(fleet.cards.used.values()) <= {IDLE}
