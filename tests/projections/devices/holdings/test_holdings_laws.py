"""Laws of the card ledger: no card over what it has, release undoes exactly, arrival order leaves no trace."""

from itertools import permutations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from events.card import Card, CardRequest, CardShare
from projections.devices.card_use import IDLE, CardUse, NodeCards, effective_use
from projections.devices.fit.node_summary import may_hold, summarized
from projections.devices.placement.gang import Gang, place
from tests.projections.devices.makers import Fleet, ask, card, container, fit_pod, gang

amounts = st.integers(0, 5).map(lambda fifth: fifth * 4000)
percents = st.sampled_from([0, 10, 25, 50, 100])
containers = st.builds(
    lambda gpu, mem, cores: container(gpu=gpu, mem=mem, cores=cores), st.integers(1, 3), amounts, percents
)
gangs = st.builds(lambda count, each: gang(count, each), st.integers(1, 4), containers)
requests = st.builds(ask, st.integers(1, 3), amounts, percents)


def fleet_of(slots: int) -> Fleet:
    return Fleet(
        n1=[card(f"a{i}", memory=16384, slots=slots) for i in range(3)],
        n2=[card(f"b{i}", memory=32768, slots=slots) for i in range(2)],
    )


def overfull(fleet: Fleet) -> list[str]:
    return [
        each.uuid
        for on in fleet.cards.all_cards()
        for each in on.cards
        for use in (on.used[each.uuid],)
        if use.memory > each.memory or use.cores > each.cores or use.slots > each.slots
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(gangs, max_size=8), st.integers(1, 4))
def test_no_card_ever_holds_more_than_it_has(story: list[Gang], slots: int) -> None:
    fleet = fleet_of(slots)
    for number, each in enumerate(story):
        placed = place(fleet.cards, fleet.nodes, [each], fleet.trail)
        fleet.cards.propose(f"w{number}", 1, placed.placements)
        assert overfull(fleet) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(gangs, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_giving_everything_back_in_any_order_leaves_every_card_idle(story: list[Gang], chance: Random) -> None:
    fleet = fleet_of(10)
    held = []
    for number, each in enumerate(story):
        placed = place(fleet.cards, fleet.nodes, [each], fleet.trail)
        fleet.cards.confirm(f"w{number}", 1, placed.placements)
        held.append(f"w{number}")
    chance.shuffle(held)
    for workload in held:
        fleet.cards.release(workload, 1)
    assert set(fleet.cards.used.values()) <= {IDLE}


@settings(max_examples=60, deadline=None)
@given(st.lists(gangs, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_in_which_holdings_arrive_leaves_no_trace(story: list[Gang], chance: Random) -> None:
    fleet = fleet_of(10)
    found = []
    for number, each in enumerate(story):
        placed = place(fleet.cards, fleet.nodes, [each], fleet.trail)
        fleet.cards.confirm(f"w{number}", 1, placed.placements)
        found.append((f"w{number}", placed.placements))
    chance.shuffle(found)
    other = fleet_of(10)
    for workload, placements in found:
        other.cards.confirm(workload, 1, placements)
    assert other.cards.used == fleet.cards.used
    assert [summarized(on) for on in other.cards.all_cards()] == [summarized(on) for on in fleet.cards.all_cards()]


@settings(max_examples=60, deadline=None)
@given(st.lists(gangs, min_size=1, max_size=6))
def test_a_trial_leaves_the_ledger_and_its_digests_as_they_were(story: list[Gang]) -> None:
    fleet = fleet_of(4)
    for number, each in enumerate(story):
        before = dict(fleet.cards.used)
        digests = {name: fleet.cards.summary_of(name) for name in fleet.nodes}
        placed = place(fleet.cards, fleet.nodes, [each], fleet.trail)
        assert fleet.cards.used == before
        assert {name: fleet.cards.summary_of(name) for name in fleet.nodes} == digests
        fleet.cards.propose(f"w{number}", 1, placed.placements)


def exhaustively_fits(cards: list[Card], used: dict[str, CardUse], asked: CardRequest) -> bool:
    """Whether some choice of different cards serves the request, by the definition of a free card."""

    def serves(each: Card) -> bool:
        use = used.get(each.uuid, IDLE)
        return (
            each.healthy
            and use.slots < each.slots
            and each.memory - use.memory >= asked.memory
            and each.cores - use.cores >= asked.cores
            and not (asked.cores == each.cores == 100 and use.slots)
            and not (asked.cores == 0 and use.cores == each.cores)
        )

    return any(all(serves(each) for each in choice) for choice in permutations(cards, asked.count))


policies = st.sampled_from(["", "binpack", "spread,numa", "numa,binpack"])
uses = st.builds(CardUse, st.integers(0, 3), amounts, percents)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(uses, min_size=1, max_size=4), requests, st.sampled_from(["", "binpack", "spread,numa", "numa,binpack"])
)
def test_a_single_pod_finds_cards_whenever_an_exhaustive_search_does(
    taken: list[CardUse], asked: CardRequest, policy: str
) -> None:
    cards = [card(f"c{i}", slots=3, memory=20000, numa=i % 2, healthy=i != 3) for i in range(len(taken))]
    used = {each.uuid: use for each, use in zip(cards, taken, strict=True)}
    fit = fit_pod(
        NodeCards(node="n", cards=tuple(cards), used=used), [asked], 0, {"hami.io/gpu-scheduler-policy": policy}
    )
    assert (fit.shares is not None) == exhaustively_fits(cards, used, asked)
    if fit.shares is not None:
        assert len({share.uuid for share in fit.shares[0]}) == asked.count


@given(st.lists(uses, max_size=5), uses)
def test_taking_and_giving_back_are_exact_inverses(taken: list[CardUse], more: CardUse) -> None:
    total = IDLE
    for use in taken:
        total = total.plus(use)
    assert total.plus(more).minus(more) == total


def test_init_containers_count_with_the_larger_of_their_peak_and_the_sum_of_the_others() -> None:
    def share(memory: int, cores: int) -> tuple[CardShare, ...]:
        return (CardShare(uuid="a", vendor="NVIDIA", memory=memory, cores=cores),)

    pod = [share(5000, 10), share(2000, 20), share(2000, 30)]
    assert effective_use(pod, 1) == {"a": CardUse(2, 5000, 50)}
    assert effective_use(pod, 1, init_done=True) == {"a": CardUse(2, 4000, 50)}


def test_a_sidecar_counts_beside_the_init_containers_after_it_and_beside_the_others() -> None:
    def share(memory: int, cores: int) -> tuple[CardShare, ...]:
        return (CardShare(uuid="a", vendor="NVIDIA", memory=memory, cores=cores),)

    pod = [share(9000, 5), share(3000, 10), share(5000, 20), share(2000, 30)]
    assert effective_use(pod, 3, sidecars=(1,)) == {"a": CardUse(2, 9000, 40)}
    assert effective_use(pod[1:], 2, sidecars=(0,)) == {"a": CardUse(2, 8000, 40)}
    assert effective_use(pod, 3, sidecars=(1,), init_done=True) == {"a": CardUse(2, 5000, 40)}
    other = (CardShare(uuid="b", vendor="NVIDIA", memory=7000, cores=1),)
    assert effective_use([share(3000, 10), other], 2, sidecars=(0,)) == {
        "a": CardUse(1, 3000, 10),
        "b": CardUse(1, 7000, 1),
    }


@settings(max_examples=150, deadline=None)
@given(st.lists(uses, min_size=1, max_size=4), requests)
def test_a_node_that_is_passed_over_unseen_would_not_have_fitted(taken: list[CardUse], asked: CardRequest) -> None:
    cards = [card(f"c{i}", slots=3, memory=20000, healthy=i != 3) for i in range(len(taken))]
    on = NodeCards(node="n", cards=tuple(cards), used={each.uuid: use for each, use in zip(cards, taken, strict=True)})
    assert may_hold(summarized(on), [(asked,)]) or fit_pod(on, [asked], 0, {}).shares is None
