"""Durations are Go's."""

import pytest

from ops.production.configuration.durations import duration


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        ("500ms", 500),
        ("1.5h", 5_400_000),
        (".5h", 1_800_000),
        ("1.h", 3_600_000),
        ("+5m", 300_000),
        ("1h5m10us", 3_900_000),
        ("2000us", 2),
        ("2000µs", 2),
        ("2000μs", 2),
        ("3000000ns", 3),
        ("0", 0),
        ("+0", 0),
        ("-0", 0),
        ("0s", 0),
        ("0.0h", 0),
    ],
)
def test_durations_are_gos(text: str, millis: int) -> None:
    assert duration(text) == millis


@pytest.mark.parametrize("text", ["10us", "1ns", "0.4ms"])
def test_what_is_shorter_than_a_millisecond_is_not_nothing(text: str) -> None:
    assert duration(text) == 1


@pytest.mark.parametrize("text", ["", "5", ".", ".h", "5 minutes", "5d", "m", "1h-5m", "5m+", "++5m", "٥m"])
def test_what_go_can_not_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 90s, 5m or 1h30m"):
        duration(text)


def test_a_duration_before_now_is_refused() -> None:
    with pytest.raises(ValueError, match="'-5m' is negative: write a duration of at least 0"):
        duration("-5m")


def test_a_duration_that_never_ends_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        duration("9" * 400 + "h")
