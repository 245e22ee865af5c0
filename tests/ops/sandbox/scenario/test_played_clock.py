"""The time of a scenario: fast at rest, slow while somebody has something to do, and never ahead of what this process could see."""

import pytest

from ops.sandbox.scenario.played_clock import PlayedClock


@pytest.mark.parametrize(("at_rest", "passed"), [(True, 100), (False, 10)])
def test_it_runs_at_its_rate_at_rest_and_at_the_walls_while_somebody_has_something_to_do(
    at_rest: bool, passed: int
) -> None:
    clock = PlayedClock(10)
    before = clock.now()
    clock.advance(0.01, at_rest=at_rest)
    assert clock.now() - before == passed


def test_what_this_process_was_kept_from_seeing_does_not_count() -> None:
    clock = PlayedClock(10)
    before = clock.now()
    clock.advance(30, at_rest=True)
    assert clock.now() - before <= 200
