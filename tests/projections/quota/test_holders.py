"""Who holds quota stands in the order in which he got it, also after it was only tried what would be without him."""

import pytest
from msgspec.structs import replace

from projections.quota.holders import QuotaHolders
from projections.trail import Trail
from tests.projections.workloads.test_terminating import RUNS

KEYS = ("team/a", "team/b", "team/c")


@pytest.mark.parametrize("gone", [("team/a",), ("team/b",), ("team/c",), ("team/b", "team/a"), KEYS])
def test_who_is_taken_away_on_trial_stands_where_he_stood(gone: tuple[str, ...]) -> None:
    holders, trail = QuotaHolders(), Trail()
    for number, key in enumerate(KEYS):
        holders.add(trail, replace(RUNS, key=key), {0: number})
    usage, staying = dict(holders.usage), list(holders.staying)
    with trail.trial():
        for key in gone:
            holders.remove(trail, key)
        assert [*holders] == [key for key in KEYS if key not in gone]
    assert [*holders] == list(KEYS)
    assert (holders.usage, holders.staying) == (usage, staying)
