"""Whoever takes a guard of the log away makes some history break a law."""

import pytest

from ops.sandbox.simulate.history import play
from tests.ops.sandbox.simulate.guards import MISSED, SPAN, Missed, broken_without


@pytest.mark.parametrize("missed", MISSED, ids=lambda missed: missed.guard.__name__)
def test_a_history_breaks_a_law_without_the_guard_and_none_with_it(missed: Missed) -> None:
    seed = next((seed for seed in missed.seeds if _falls(missed, seed)), None)
    assert seed is not None, (
        f"{missed.law!r} is broken in no seed: `python -m tests.ops.sandbox.simulate.guards` finds others"
    )
    assert play(seed, SPAN, missed.strikes(seed)).broken == ()


def _falls(missed: Missed, seed: int) -> bool:
    return any(missed.law in told for told in broken_without(missed, seed))
