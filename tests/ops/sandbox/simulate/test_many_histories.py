"""Short histories with every kind of fault keep every law."""

import os

import pytest

from ops.sandbox.simulate.batch import HistorySpec, command, played
from ops.sandbox.simulate.fault_plan import only, schedule_of
from ops.sandbox.simulate.history import play

SPAN = 20_000
SEEDS = range(1, 31)
"""More are played by `make simulate`."""


@pytest.mark.timeout(900)
def test_short_histories_keep_every_law() -> None:
    specs = [HistorySpec(seed=seed, span=SPAN) for seed in SEEDS]
    with played(specs, os.cpu_count() or 1) as outcomes:
        broken = [(one.broken[0], command(one, SPAN)) for one in outcomes if one.broken]
    assert not broken


def test_an_applier_that_reads_late_takes_nothing_back_that_another_has_shown() -> None:
    assert play(38, SPAN, only(schedule_of(38, SPAN), {5, 6, 7})).broken == ()
