"""Who has how much of whom, found when somebody asks."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.billing.entries.entry import Window
from projections.billing.quota import lending_column
from projections.billing.quota.lending_column import NOBODY, LendingBound, LendingColumn, LendingMember

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


def limited(members: tuple[LendingMember, ...], *bounds: LendingBound) -> dict[tuple[str, str], int]:
    """Who has how much of whom in one millisecond, after `a` has come to use 10."""
    found = LendingColumn(members, {}, ALWAYS, None, bounds)
    found.begin(0, 0)
    found.change("a", 10, 0)
    found.settle(1)
    return dict(found.sums)


def test_a_cohort_lends_no_more_to_the_rest_of_the_tree_than_its_limit_whoever_of_it_has_something_to_spare() -> None:
    members = (LendingMember("a"), LendingMember("b", 6, None, "x"), LendingMember("c", 6, None, "x"))
    assert limited(members, LendingBound("x", 4)) == {("a", "b"): 2, ("a", "c"): 2, ("a", NOBODY): 6}
    assert limited(members, LendingBound("x", 0)) == {("a", NOBODY): 10}


def test_what_a_cohort_has_itself_is_lent_to_its_own_members_without_a_limit() -> None:
    members = (LendingMember("a", 0, None, "x"), LendingMember("cohort:x", 10, None, "x"))
    assert limited(members, LendingBound("x", 3)) == {("a", "cohort:x"): 10}


def test_members_of_a_limited_cohort_have_of_each_other_first_and_then_of_the_rest_of_the_tree() -> None:
    members = (LendingMember("a", 0, None, "x"), LendingMember("b", 4, None, "x"), LendingMember("c", 40))
    assert limited(members, LendingBound("x", 1)) == {("a", "b"): 4, ("a", "c"): 6}


NESTED = (
    LendingMember("a", 10, None, "y"),
    LendingMember("b", 6, None, "y"),
    LendingMember("c", 8, 3, "x"),
    LendingMember("d", 5),
    LendingMember("cohort:x", 2, None, "x"),
)
BOUNDS = (LendingBound("y", 4, "x"), LendingBound("x", 5))


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 30)), max_size=8))
def test_nothing_that_crosses_the_border_of_a_cohort_is_more_than_it_lends(uses: list[tuple[str, int]]) -> None:
    found, used = LendingColumn(NESTED, {}, ALWAYS, None, BOUNDS), Counter[str]()
    found.begin(0, 0)
    for queue, amount in uses:
        found.change(queue, amount, 0)
        used[queue] += amount
    found.settle(1)
    sums = found.sums
    inside = {"y": {"a", "b"}, "x": {"a", "b", "c", "cohort:x"}}
    for bound in BOUNDS:
        within = inside[bound.name]
        assert sum(much for (who, of), much in sums.items() if of in within and who not in within) <= bound.limit
    for one in NESTED:
        over = max(used[one.name] - one.nominal, 0)
        assert sum(much for (who, _), much in sums.items() if who == one.name) == over
        assert sum(much for (_, of), much in sums.items() if of == one.name) <= max(one.nominal - used[one.name], 0)
