from hypothesis import given
from hypothesis import strategies as st

from projections.fair_sharing.decay import BITS, ONE, entry_part, faded, left

times = st.integers(min_value=0, max_value=10**12)
half_lives = st.integers(min_value=1, max_value=10**10)
usage = st.integers(min_value=0, max_value=10**15).map(lambda amount: amount << BITS)


@given(times, times, half_lives)
def test_more_time_never_leaves_more(one: int, two: int, half_life: int) -> None:
    assert left(max(one, two), half_life) <= left(min(one, two), half_life)


@given(st.integers(min_value=0, max_value=BITS), half_lives)
def test_each_half_life_leaves_exactly_one_half(count: int, half_life: int) -> None:
    assert left(count * half_life, half_life) == ONE >> count


@given(times, half_lives)
def test_a_half_life_later_there_is_half_as_much_and_nothing_is_lost_but_the_last_bit(
    elapsed: int, half_life: int
) -> None:
    assert left(elapsed + half_life, half_life) == left(elapsed, half_life) >> 1


@given(times, times, half_lives)
def test_fading_twice_is_fading_once_for_as_long(one: int, two: int, half_life: int) -> None:
    twice = left(one, half_life) * left(two, half_life) >> BITS
    assert abs(left(one + two, half_life) - twice) <= 2


@given(st.integers(min_value=1, max_value=200), half_lives)
def test_the_factor_is_at_most_one_step_below_the_true_value(parts: int, half_life: int) -> None:
    elapsed = half_life * parts
    step = left(elapsed, half_life * 200)
    assert step**200 <= ONE**200 >> parts
    assert (step + 1) ** 200 > ONE**200 >> parts


@given(usage, usage, times, half_lives)
def test_past_usage_is_drawn_towards_what_is_used_now_and_never_past_it(
    past: int, now: int, elapsed: int, half_life: int
) -> None:
    between = faded(past, now, elapsed, half_life)
    assert min(past, now) - 1 <= between <= max(past, now)


@given(usage, times)
def test_without_a_half_life_nothing_is_remembered(past: int, elapsed: int) -> None:
    assert faded(past, past, elapsed + 1, 0) == 0
    assert faded(past, past, 0, 0) == past
    assert entry_part(elapsed, 0) == 0
