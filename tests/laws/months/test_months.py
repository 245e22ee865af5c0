"""Bills against an auditor's own calculation: every row equal, and the time of every card to the unit."""

from collections import Counter
from functools import cache

import pytest

from tests.laws.months.comparing import differences, seen_in
from tests.laws.months.integrator import true_times
from tests.laws.months.random_months import lived_months

SEEDS = (*range(1, 12), 37)
lived = cache(lived_months)


@pytest.mark.parametrize("seed", [*SEEDS, 33, 54, 1142])
def test_every_row_of_every_month_is_what_the_auditor_calculates(seed: int) -> None:
    assert differences(lived(seed)) == []


def test_the_months_have_what_they_should() -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        seen.update(seen_in(lived(seed)))
    wanted = {
        *(
            "closed months",
            "credits",
            "corrections of entries",
            "corrections of amounts",
            "late lines",
            "price changes",
        ),
        *(
            "skewed messages",
            "lost nodes",
            "unreserved",
            "elsewhere",
            "reservation",
            "usage",
            "rounding",
            "unpriced",
            "quota lines",
            "windows of prices",
            "lists with tags",
        ),
        *("idle", "stranded", "discount", "commitment", "covered", "minimum"),
        *(
            "accounts",
            "rates of exchange",
            "whole nodes",
            "cost centres",
            "bills in another currency",
            "jobs that moved",
        ),
        *("OVER", "STRANDED", "IDLE", "CORDONED", "UNHEALTHY", "LOST", "USED"),
    }
    assert {what for what in wanted if not seen[what]} == set()


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([1, 9, 3, 4], [1, 3, 3, 4]),
        ([5, 1, 6, 7], [5, 5, 6, 7]),
        ([5, 1], [5, 5]),
        ([1, 5, 5, 3], [1, 5, 5, 5]),
    ],
)
def test_the_auditor_moves_a_wrong_time_between_its_neighbours(told: list[int], counts: list[int]) -> None:
    assert true_times(told) == counts
