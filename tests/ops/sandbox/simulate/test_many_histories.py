"""Short histories with every kind of fault keep every law."""

import os

import pytest

from ops.sandbox.simulate.batch import HistorySpec, command, played

SPAN = 20_000
SEEDS = range(1, 201)


@pytest.mark.timeout(900)
def test_short_histories_keep_every_law() -> None:
    specs = [HistorySpec(seed=seed, span=SPAN) for seed in SEEDS]
    with played(specs, os.cpu_count() or 1) as outcomes:
        broken = [(one.broken[0], command(one, SPAN)) for one in outcomes if one.broken]
    assert not broken
