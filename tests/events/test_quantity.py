from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from events.amount import UNLIMITED, add, multiply, subtract
from events.quantity import BadQuantity, from_units, parse_quantity, to_units
from events.timestamp import BadTimestamp, format_timestamp, parse_timestamp

amounts = st.integers(min_value=0, max_value=UNLIMITED)


@pytest.mark.parametrize(
    ("text", "value"),
    [("16Gi", 16 << 30), ("1500m", Fraction(3, 2)), ("4k", 4000), ("1e3", 1000), (5, 5), ("0.5", Fraction(1, 2))],
)
def test_quantities_are_read_exactly(text: str | int, value: Fraction | int) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "12Q", "1..2", "Gi", "1 Gi", "--1"])
def test_what_is_no_quantity_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadQuantity, match="is not a quantity"):
        parse_quantity(text)


def test_cpu_counts_in_thousandths_and_everything_else_rounds_up_to_whole_units() -> None:
    assert to_units("cpu", "0.0001") == 1
    assert to_units("cpu", "2") == 2000
    assert to_units("memory", "1.5") == 2
    assert to_units("memory", "9999999999Ei") == UNLIMITED


@given(st.sampled_from(["cpu", "memory", "nvidia.com/gpumem"]), st.integers(min_value=0, max_value=1 << 50))
def test_an_amount_written_out_is_the_same_amount_again(resource: str, amount: int) -> None:
    assert to_units(resource, from_units(resource, amount)) == amount


@given(amounts, amounts)
@example(UNLIMITED - 1, 2)
@example(1, UNLIMITED)
def test_arithmetic_saturates_and_unlimited_stays_unlimited(left: int, right: int) -> None:
    assert add(left, right) == add(right, left) == min(left + right, UNLIMITED)
    assert add(UNLIMITED, right) == add(UNLIMITED, -right) == add(-right, UNLIMITED) == UNLIMITED
    assert subtract(UNLIMITED, right) == UNLIMITED
    assert multiply(left, 3) == min(left * 3, UNLIMITED)


@given(st.integers(min_value=0, max_value=4_102_444_800))
def test_a_time_written_out_is_the_same_time_again(seconds: int) -> None:
    assert parse_timestamp(format_timestamp(seconds * 1000)) == seconds * 1000


def test_times_with_an_offset_or_a_fraction_are_read_and_nonsense_is_refused() -> None:
    assert parse_timestamp("1970-01-01T01:00:00.250+01:00") == 250
    assert parse_timestamp("2024-02-29T23:59:59Z") == 1_709_251_199_000
    no_times = (
        "yesterday",
        "2026-99-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z",
    )
    for text in (*no_times, "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z"):
        with pytest.raises(BadTimestamp):
            parse_timestamp(text)
