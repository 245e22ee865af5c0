"""How long a card that has failed is out of service (docs/rules/devices.md#health)."""

import pytest

from projections.devices.registration.card_health import CardHealth, due, reported, returned

MINUTE = 60_000
HOUR = 60 * MINUTE


def failed(*times: int) -> CardHealth:
    """A card that has failed at these times, and was well again right after each."""
    known: CardHealth | None = None
    for at in times:
        known = reported(known, "n", at, healthy=False)
        known = reported(known, "n", at + 1, healthy=True)
    assert known is not None
    return known


@pytest.mark.parametrize(
    ("failures", "minutes"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60), (40, 60)]
)
def test_it_is_watched_for_twice_as_long_after_each_failure_and_for_an_hour_at_most(
    failures: int, minutes: int
) -> None:
    last = 10 * (failures - 1)
    assert due(failed(*range(0, last + 1, 10))) == last + 1 + minutes * MINUTE


@pytest.mark.parametrize(("apart", "minutes"), [(HOUR - 1, 2), (HOUR, 1), (HOUR + 1, 1)])
def test_a_failure_counts_for_an_hour(apart: int, minutes: int) -> None:
    assert due(failed(1000, 1000 + apart)) == 1000 + apart + 1 + minutes * MINUTE


def test_it_is_well_since_the_first_good_report_and_fails_with_the_first_bad_one() -> None:
    known = failed(0)
    assert reported(known, "n", 500, healthy=True) == known
    bad = reported(known, "n", 1000, healthy=False)
    assert bad is not None and (due(bad), bad.failures) == (None, (0, 1000))
    assert reported(bad, "n", 2000, healthy=False) == bad, "told again, it is no further failure"


def test_one_that_has_come_back_is_out_with_the_next_bad_report() -> None:
    back = returned(failed(0))
    assert due(back) is None and not back.out
    again = reported(back, "n", 2 * MINUTE, healthy=False)
    assert again is not None and again.out
    assert reported(None, "n", 0, healthy=True) is None, "of one that has never failed nothing is kept"
