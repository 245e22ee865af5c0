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
