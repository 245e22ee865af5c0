"""Whoever takes a guard of the log away makes some history break a law."""

import pytest

from ops.simulate.fault_plan import schedule_of
from ops.simulate.history import play
from tests.ops.simulate.guards import MISSED, SPAN, Missed, broken_without


@pytest.mark.parametrize("missed", MISSED, ids=lambda missed: missed.guard.__name__)
def test_a_history_breaks_a_law_without_the_guard_and_none_with_it(missed: Missed) -> None:
    found = [law for seed in missed.seeds for law in broken_without(missed.guard, seed)]
    assert any(missed.law in law for law in found), found
    assert play(missed.seeds[0], SPAN, schedule_of(missed.seeds[0], SPAN)).broken == ()
