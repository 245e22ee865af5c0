"""Keys in order are what a set of them would be, and every change of them can be taken back."""

from hypothesis import given
from hypothesis import strategies as st

from projections.sorted_keys import MOST, SortedKeys
from projections.trail import Trail

numbers = st.lists(st.integers(0, 3 * MOST), max_size=200)


def key_of(number: int) -> str:
    return f"team/{number}"


@given(st.booleans(), numbers, numbers, numbers)
def test_they_are_what_a_set_of_them_is_in_order_and_can_be_taken_back(
    many: bool, added: list[int], removed: list[int], then: list[int]
) -> None:
    trail, keys = Trail(), SortedKeys()
    alike: set[str] = set()
    for number in [*(range(0, 3 * MOST, 2) if many else ()), *added]:
        keys.add(trail, key_of(number))
        alike.add(key_of(number))
    for number in removed:
        keys.remove(trail, key_of(number))
        alike.discard(key_of(number))
    assert list(keys) == sorted(alike) and len(keys) == len(alike)
    mark = trail.mark()
    for number in then:
        keys.add(trail, key_of(number))
        keys.remove(trail, key_of(number + 1))
    for number in range(0, 3 * MOST, 2):
        keys.remove(trail, key_of(number))
    trail.undo(mark)
    assert list(keys) == sorted(alike)
    trail.undo(0)
    assert list(keys) == []
