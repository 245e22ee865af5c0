"""Who lent quota to whom, as cohorts of the tree allow it."""

from events.quota import ClusterQueueObserved, CohortObserved, FlavorQuotas, Quota, ResourceGroup
from projections.billing.entries.entry import Window
from projections.billing.quota.lending_column import NOBODY
from projections.billing.quota.quota_book import Lent, QuotaBook


def groups(nominal: int, lending_limit: int | None = None) -> tuple[ResourceGroup, ...]:
    quota = Quota(resource="cpu", nominal=nominal, lending_limit=lending_limit)
    return (ResourceGroup(resources=("cpu",), flavors=(FlavorQuotas(flavor="f", quotas=(quota,)),)),)


def tree(limit: int | None) -> QuotaBook:
    """Queue a is in the cohort left, b in right, which lends at most so much; both are in the cohort all, from time 0."""
    found = QuotaBook(Window(0, 100))
    found.set_cohort(CohortObserved(name="left", parent="all"), 0)
    found.set_cohort(CohortObserved(name="right", parent="all", groups=groups(3, limit)), 0)
    found.set_queue(ClusterQueueObserved(name="a", cohort="left", groups=groups(0)), 0)
    found.set_queue(ClusterQueueObserved(name="b", cohort="right", groups=groups(6)), 0)
    return found


def lent(book: QuotaBook) -> dict[tuple[str, str], int]:
    return {(key.borrower, key.lender): amount for key, amount in book.borrowed.items()}


def test_a_cohort_s_lending_limit_holds_for_all_that_is_in_it() -> None:
    book = tree(limit=3)
    book.hold("t/w", "a", {("f", "cpu"): 8}, 0)
    book.settle(10)
    assert lent(book) == {("a", "b"): 20, ("a", "cohort:right"): 10, ("a", NOBODY): 50}


def test_a_cohort_without_a_limit_lends_as_its_queues_do() -> None:
    book = tree(limit=None)
    book.hold("t/w", "a", {("f", "cpu"): 9}, 0)
    book.settle(10)
    assert lent(book) == {("a", "b"): 60, ("a", "cohort:right"): 30}


def test_a_limit_that_is_set_later_counts_from_then_on() -> None:
    book = tree(limit=None)
    book.hold("t/w", "a", {("f", "cpu"): 9}, 0)
    book.set_cohort(CohortObserved(name="right", parent="all", groups=groups(3, 0)), 10)
    book.settle(20)
    assert book.borrowed == {
        Lent("a", "b", "f", "cpu"): 60,
        Lent("a", "cohort:right", "f", "cpu"): 30,
        Lent("a", NOBODY, "f", "cpu"): 90,
    }


def test_members_of_a_cohort_have_of_what_it_has_itself_without_its_limit() -> None:
    book = tree(limit=1)
    book.hold("t/w", "b", {("f", "cpu"): 9}, 0)
    book.settle(10)
    assert lent(book) == {("b", "cohort:right"): 30}


def test_of_cohorts_within_cohorts_the_innermost_is_looked_at_first() -> None:
    """Of the 4 that the innermost lends at most, the one around it lends 3, after its own member has had 2 of them."""
    book = QuotaBook(Window(0, 100))
    for name, parent, limit in (("z-inner", "a-outer", 4), ("a-outer", "root", 3), ("root", "", None)):
        own = groups(0, limit) if limit is not None else ()
        book.set_cohort(CohortObserved(name=name, parent=parent, groups=own), 0)
    for name, cohort, nominal in (("lends", "z-inner", 9), ("beside", "a-outer", 0), ("far", "root", 0)):
        book.set_queue(ClusterQueueObserved(name=name, cohort=cohort, groups=groups(nominal)), 0)
    book.hold("t/beside", "beside", {("f", "cpu"): 2}, 0)
    book.hold("t/far", "far", {("f", "cpu"): 9}, 0)
    book.settle(10)
    assert lent(book) == {("beside", "lends"): 20, ("far", "lends"): 20, ("far", NOBODY): 70}


def test_of_several_who_have_some_unused_each_lends_in_proportion() -> None:
    book = tree(limit=None)
    book.hold("t/w", "a", {("f", "cpu"): 6}, 0)
    book.settle(10)
    assert lent(book) == {("a", "b"): 40, ("a", "cohort:right"): 20}


def test_a_queue_lends_no_more_than_its_limit() -> None:
    book = tree(limit=None)
    book.set_queue(ClusterQueueObserved(name="b", cohort="right", groups=groups(6, 2)), 0)
    book.hold("t/w", "a", {("f", "cpu"): 9}, 0)
    book.settle(10)
    assert lent(book) == {("a", "b"): 20, ("a", "cohort:right"): 30, ("a", NOBODY): 40}
