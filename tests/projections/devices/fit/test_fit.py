"""What pods get of ordinary cards against the definitions."""

import random
from collections.abc import Sequence

from events.card import Card, CardRequest, CardShare
from projections.devices.annotations.terms import QUALITY
from projections.devices.card_use import CardState, CardUse, NodeCards
from projections.devices.fit.pod_fit import asking, charge, fit_asking, reason_text
from projections.devices.namespace_quota import Limit
from tests.projections.devices.fit.fit_by_definition import FitByDefinition, Outcome, Taken, Wanted
from tests.projections.devices.makers import MODEL, one_kind


def card(chance: random.Random, index: int) -> Card:
    return Card(
        uuid=f"c{index}",
        index=index,
        slots=chance.choice((1, 3, 3)),
        memory=chance.choice((8, 16)),
        model=MODEL,
        numa=chance.randrange(2),
        healthy=bool(chance.randrange(8)),
    )


def use_of(chance: random.Random, of: Card) -> Taken:
    """Idle, or shared by some."""
    slots = chance.choice((0, 0, 1, of.slots))
    return Taken(slots, chance.randint(0, of.memory), chance.choice((0, 40, 60, 100))) if slots else Taken()


def request(chance: random.Random) -> CardRequest | None:
    if not chance.randrange(6):
        return None
    memory = chance.choice((0, 4, 8))
    return CardRequest(
        vendor="NVIDIA",
        count=chance.choice((1, 1, 2, 3)),
        memory=memory,
        percent=None if memory else chance.choice((25, 100)),
        cores=chance.choice((0, 30, 60, 100)),
    )


def wanted(chance: random.Random) -> Wanted:
    return Wanted(
        policy=chance.choice(("", "spread", "binpack", "mutex")),
        numa_bind=not chance.randrange(3),
        memory_left=chance.choice((None, None, 8, 20)),
        cores_left=chance.choice((None, None, 60, 100)),
        weights=chance.choice((Taken(1, 1, 1), Taken(0, 3, 1), Taken(5, 0, 2))),
    )


def test_a_pod_gets_the_cards_that_the_definitions_say_or_hears_the_same_reasons_as_often() -> None:
    placed = 0
    for seed in range(1500):
        chance = random.Random(seed)
        cards = [card(chance, index) for index in range(chance.randint(1, 5))]
        used = {one.uuid: use_of(chance, one) for one in cards}
        asked, init, terms = (
            [request(chance) for _ in range(chance.randint(1, 4))],
            chance.choice((0, 0, 1, 2)),
            wanted(chance),
        )
        sidecars = [place for place in range(init) if chance.randrange(2)]
        outcome = FitByDefinition(cards, used, terms).fit(asked, init, sidecars)
        assert as_decided(cards, used, terms, asked, init, sidecars) == outcome, seed
        placed += outcome.cards is not None
    assert 300 < placed < 1200


def test_the_weights_that_a_pod_names_decide_which_of_its_cards_is_the_fullest() -> None:
    matters = 0
    for seed in range(300):
        chance = random.Random(seed)
        cards = [Card(uuid=f"c{index}", index=index, slots=9, memory=90, model=MODEL) for index in range(4)]
        used = {one.uuid: Taken(chance.randint(1, 6), chance.randint(0, 60), chance.randint(0, 60)) for one in cards}
        asked: list[CardRequest | None] = [CardRequest(vendor="NVIDIA", count=1, memory=4, cores=5)]
        terms = Wanted(chance.choice(("spread", "binpack")), False, None, None, wanted(chance).weights)
        outcome = FitByDefinition(cards, used, terms).fit(asked, 0)
        assert as_decided(cards, used, terms, asked, 0) == outcome, seed
        matters += outcome != FitByDefinition(cards, used, terms._replace(weights=Taken(1, 1, 1))).fit(asked, 0)
    assert matters > 50


def as_decided(
    cards: list[Card],
    used: dict[str, Taken],
    terms: Wanted,
    asked: list[CardRequest | None],
    init: int,
    sidecars: Sequence[int] = (),
) -> Outcome:
    on = NodeCards(node="n", cards=tuple(cards), used={uuid: CardUse(*taken) for uuid, taken in used.items()})
    annotations = {"hami.io/gpu-scheduler-policy": terms.policy, "nvidia.com/numa-bind": str(terms.numa_bind).lower()}
    slots, memory, cores = terms.weights
    annotations["hami.io/device-scoring-weights"] = f"slot={slots},core={cores},memory={memory}"
    limits = {
        "nvidia.com/gpumem": Limit(used=1, limit=None if terms.memory_left is None else terms.memory_left + 1),
        "nvidia.com/gpucores": Limit(used=2, limit=None if terms.cores_left is None else terms.cores_left + 2),
    }
    fit = fit_asking(on, one_kind(asked), init, asking(annotations, asked, limits=limits), sidecars)
    found = None if fit.shares is None else [[share.uuid for share in shares] for shares in fit.shares]
    return Outcome(found, fit.refusals, fit.cards)


def test_a_pod_whose_scoring_weights_cannot_be_read_is_told_so_once_on_every_node() -> None:
    asked = [CardRequest(vendor="NVIDIA", count=1, memory=1)]
    on = NodeCards(node="n", cards=(card(random.Random(0), 0),))
    fit = fit_asking(on, one_kind(asked), 0, asking({"hami.io/device-scoring-weights": "much"}, asked))
    assert (fit.shares, fit.refusals) == (None, {"ScoringWeightsNotRead": 1})


def test_a_pod_that_asks_for_cards_of_nobody_is_told_so_once_on_every_node() -> None:
    asked = [CardRequest(vendor="Nobody", count=1)]
    on = NodeCards(node="n", cards=(card(random.Random(0), 0),))
    fit = fit_asking(on, one_kind(asked), 0, asking({}, asked))
    assert (fit.shares, fit.refusals) == (None, {"device-type-not-found": 1})


def test_why_a_node_gives_nothing_says_for_how_many_of_its_cards_and_names_codes_alone_where_none_counted() -> None:
    refusals = {"CardInsufficientMemory": 3, "CardInsufficientCore": 1}
    assert reason_text(refusals, 4) == "1/4 CardInsufficientCore, 3/4 CardInsufficientMemory"
    assert reason_text(refusals, 0) == "CardInsufficientCore, CardInsufficientMemory"
    assert reason_text({}, 0) == reason_text({}, 4) == ""


def test_each_card_is_charged_with_its_own_shares_and_takes_the_quality_that_they_ask_for() -> None:
    cards = [
        CardState(Card(uuid=uuid, index=place, slots=4, memory=16, model=MODEL)) for place, uuid in enumerate("abc")
    ]
    shares = [
        CardShare(uuid="a", vendor="Metax-SGPU", memory=2, cores=10, custom={QUALITY: "fixed-share"}),
        CardShare(uuid="b", vendor="Metax-SGPU", memory=3, cores=20, custom={QUALITY: "best-effort"}),
        CardShare(uuid="a", vendor="Metax-SGPU", memory=4, cores=30),
    ]
    after = charge(cards, shares)
    assert [(one.use.slots, one.use.memory, one.use.cores, one.quality) for one in after] == [
        (2, 6, 40, "fixed-share"),
        (1, 3, 20, "best-effort"),
        (0, 0, 0, None),
    ]
    assert after[2] is cards[2]
