"""Rows as people look at them: a number in them is never taken for a word."""

import pytest

from events.settings import SettingsObserved
from projections.explanation.read_models import usage_rows
from tests.projections.fair_sharing.cohort_world import CohortWorld


@pytest.mark.parametrize("less", [1, 2])
def test_a_cohort_that_uses_more_than_it_has_may_use_nothing_more_and_is_not_without_a_bound(less: int) -> None:
    at = CohortWorld(SettingsObserved())
    at.queue("a", 4)
    at.running("job", "a", 4)
    at.queue("a", 4 - less)
    assert {one.node: (one.used, one.available) for one in usage_rows(at.world)} == {
        "cohort/all": (4, 0),
        "queue/a": (4, 0),
    }
