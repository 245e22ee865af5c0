from math import isclose, log

from hypothesis import given
from hypothesis import strategies as st

from projections.topology.search.evenness import evenest_first

CHILDREN = st.lists(st.integers(0, 9), min_size=1, max_size=6)


def entropy(children: list[int]) -> float:
    return -sum(one * log(one) for one in children if one)


@given(st.lists(CHILDREN, min_size=1, max_size=5))
def test_domains_are_in_the_order_of_their_entropy_and_equal_ones_stay(domains: list[list[int]]) -> None:
    found = evenest_first(dict(enumerate(domains)))
    assert sorted(found) == list(range(len(domains)))
    for one, other in zip(found, found[1:], strict=False):
        left, right = entropy(domains[one]), entropy(domains[other])
        assert left > right or isclose(left, right)
        assert sorted(filter(None, domains[one])) != sorted(filter(None, domains[other])) or one < other


def test_what_several_domains_have_more_than_once_counts_as_often() -> None:
    assert evenest_first({0: [7, 7, 2, 2], 1: [6, 5, 4, 3]}) == [1, 0]
    assert evenest_first({0: [9, 7, 7, 2, 2], 1: [9, 6, 5, 4, 3]}) == [1, 0]
