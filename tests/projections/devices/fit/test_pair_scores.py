"""Which of several linked cards are taken, against trying every choice."""

import random
from itertools import combinations

from projections.devices.fit.pair_scores import best_together


def test_the_best_linked_are_those_that_trying_every_choice_finds_first() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        cards = [f"c{index}" for index in range(chance.randint(1, 4))]
        scores = {one: {other: chance.choice((0, 10, 20)) for other in cards if other != one} for one in cards}
        uuids = [one for one in cards for _ in range(chance.randint(1, 3))]
        if len(uuids) < 2:
            continue
        count = chance.randint(2, len(uuids))
        linked = {
            choice: sum(scores[uuids[one]].get(uuids[other], 0) for one, other in combinations(choice, 2))
            for choice in combinations(range(len(uuids)), count)
        }
        best = max(linked.values())
        assert best_together(uuids, count, scores) == next(one for one, score in linked.items() if score == best), seed


def test_pieces_of_one_card_are_not_tried_one_for_another() -> None:
    """Of 56 pieces 8 can be taken in more than a thousand million ways."""
    pieces = [f"c{index}" for index in range(8) for _ in range(7)]
    scores = {"c2": {"c5": 100}}
    assert [pieces[place] for place in best_together(pieces, 8, scores)] == ["c2"] * 4 + ["c5"] * 4
