"""Who has how much of whom, found when somebody asks."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.billing.entries.entry import Window
from projections.billing.quota import lending_column
from projections.billing.quota.lending_column import NOBODY, LendingColumn, LendingMember

MEMBERS = (LendingMember("a", 10), LendingMember("b", 6), LendingMember("c", 8, 3), LendingMember("cohort:x", 2))
ALWAYS = Window(0, 10**9)
Change = tuple[int, str, int]
CHANGES = st.lists(st.tuples(st.integers(0, 50), st.sampled_from("abc"), st.integers(-10, 14)), max_size=30)


def column(window: Window = ALWAYS) -> LendingColumn:
    found = LendingColumn(MEMBERS, {}, window, None)
    found.begin(0, 0)
    return found


def told(changes: list[Change], *, asking: bool) -> dict[tuple[str, str], int]:
    found, at = column(), 0
    for after, queue, amount in changes:
        at += after
        found.change(queue, amount, at)
        if asking:
            assert found.settled <= at
    found.settle(at + 100)
    return dict(found.sums)


@given(CHANGES)
def test_who_asks_in_between_changes_nothing(changes: list[Change]) -> None:
    assert told(changes, asking=True) == told(changes, asking=False)


@given(CHANGES)
def test_everybody_borrows_just_what_it_uses_beyond_its_own_and_nobody_lends_more_than_it_has_to_spare(
    changes: list[Change],
) -> None:
    used, at, borrowed, spare = Counter[str](), 0, Counter[str](), Counter[str]()
    for after, queue, amount in [*changes, (100, "a", 0)]:
        for one in MEMBERS:
            left = one.nominal - used[one.name]
            borrowed[one.name] += max(-left, 0) * after
            spare[one.name] += max(min(left, one.limit if one.limit is not None else left), 0) * after
        at += after
        used[queue] += amount
    found = told(changes, asking=False)
    for one in MEMBERS:
        assert sum(amount for (who, _), amount in found.items() if who == one.name) == borrowed[one.name]
        assert sum(amount for (_, of), amount in found.items() if of == one.name) <= spare[one.name]


def test_what_nobody_has_is_lent_by_nobody_and_only_within_the_window() -> None:
    found = column(Window(100, 200))
    found.change("a", 10 + 6 + 3 + 2 + 5, 50)
    found.change("a", -100, 150)
    assert found.sums == {("a", "b"): 300, ("a", "c"): 150, ("a", "cohort:x"): 100, ("a", NOBODY): 250}


def test_no_more_changes_wait_than_are_to_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending_column, "MOST_KEPT", 10)
    found = column()
    found.change("a", 15, 0)
    for at in range(1, 100):
        found.change("b", 1 if at % 2 else -1, at)
        assert len(found._changes) <= 10
