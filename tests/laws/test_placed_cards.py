from random import Random

import pytest

from tests.laws.placed_card_misses import sample, there_is_one, tried


@pytest.mark.parametrize("seed", range(150))
def test_pods_of_one_shape_find_hosts_and_cards_in_a_rack_exactly_where_there_are_some(seed: int) -> None:
    """Those that ask for one card each: nothing that one takes could have served another better."""
    nodes, sets = sample(Random(seed), several=False)
    (((want, *_), count),) = sets
    sets = [((want,), count)]
    if want.count == 1:
        assert tried(nodes, sets).placed == there_is_one(nodes, sets)


@pytest.mark.parametrize("seed", range(150))
def test_whatever_is_placed_lies_in_one_rack_with_cards_of_its_hosts_and_no_card_has_too_much(seed: int) -> None:
    nodes, sets = sample(Random(seed), several=True)
    found = tried(nodes, sets)
    if found.placed:
        assert not found.problems()
        assert there_is_one(nodes, sets)
