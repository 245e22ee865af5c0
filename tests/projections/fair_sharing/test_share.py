from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from events.amount import UNLIMITED
from events.quota import ClusterQueueObserved, CohortObserved, FlavorQuotas, Quota, ResourceGroup, Weight
from projections.fair_sharing.share import PER_MILLE, Share, share_of, weighted
from projections.quota.tree import QuotaTree
from projections.trail import Trail

small = st.integers(min_value=0, max_value=50)
weights = st.builds(Weight, numerator=small, denominator=st.integers(min_value=1, max_value=50))
shares = st.builds(
    lambda numerator, denominator, weight: weighted(numerator, denominator, weight),
    small,
    st.integers(min_value=1, max_value=50),
    weights,
)
amounts = st.lists(st.integers(min_value=0, max_value=40), min_size=3, max_size=3)


def cohort(nominal: list[int], used: list[int], weight: Weight, scale: int = 1) -> tuple[QuotaTree, Share]:
    quota = QuotaTree(Trail())
    for name, amount in zip("abc", nominal, strict=True):
        mine = Quota(resource="cpu", nominal=amount * scale)
        group = ResourceGroup(resources=("cpu",), flavors=(FlavorQuotas(flavor="default", quotas=(mine,)),))
        quota.set_cluster_queue(ClusterQueueObserved(name=name, cohort="all", groups=(group,), weight=weight))
    column = quota.column("default", "cpu")
    for name, amount in zip("abc", used, strict=True):
        quota.add_usage(name, {column: amount * scale})
    return quota, share_of(quota.queues["a"], quota.columns.names)


@given(shares, shares, shares)
def test_the_order_of_shares_is_total(one: Share, two: Share, three: Share) -> None:
    assert [one < two, one == two, one > two].count(True) == 1
    assert (one <= two) is not (one > two)
    if one <= two <= three:
        assert one <= three


@example([0, 0, 0], [3, 0, 0], Weight())
@example([0, 0, 0], [3, 0, 0], Weight(numerator=0))
@given(amounts, amounts, weights)
def test_a_share_is_exactly_what_is_borrowed_of_what_can_be_lent_by_weight(
    nominal: list[int], used: list[int], weight: Weight
) -> None:
    _, share = cohort(nominal, used, weight)
    borrowed, lendable = max(used[0] - nominal[0], 0), sum(nominal)
    assert share.borrowing is (borrowed > 0)
    if not borrowed or not lendable:
        assert (share, share.infinite) == (Share(), False)
    elif weight.numerator == 0:
        assert share.infinite
        assert share.rounded() == UNLIMITED
    else:
        exact = Fraction(borrowed * PER_MILLE, lendable) / Fraction(weight.numerator, weight.denominator)
        assert Fraction(share.numerator, share.denominator) == exact
        assert share.rounded() - 1 < exact <= share.rounded()


@given(amounts, amounts, weights, st.integers(min_value=1, max_value=10**15))
def test_a_share_does_not_depend_on_the_unit_of_the_resource(
    nominal: list[int], used: list[int], weight: Weight, scale: int
) -> None:
    assert cohort(nominal, used, weight)[1] == cohort(nominal, used, weight, scale)[1]


@given(shares, st.integers(min_value=1, max_value=1000))
def test_equal_fractions_are_equal_shares(share: Share, times: int) -> None:
    again = Share(numerator=share.numerator * times, denominator=share.denominator * times, infinite=share.infinite)
    assert again == share


@given(amounts, amounts, weights)
def test_the_whole_tree_borrows_from_nobody(nominal: list[int], used: list[int], weight: Weight) -> None:
    quota, _ = cohort(nominal, used, weight)
    assert share_of(quota.cohorts["all"], quota.columns.names) == Share()


def test_a_share_is_of_all_flavors_and_of_what_the_cohort_could_have_from_above() -> None:
    quota = QuotaTree(Trail())

    def group(first: int, second: int) -> tuple[ResourceGroup, ...]:
        found = (
            FlavorQuotas(flavor=name, quotas=(Quota(resource="cpu", nominal=amount),))
            for name, amount in (("one", first), ("two", second))
        )
        return (ResourceGroup(resources=("cpu",), flavors=tuple(found)),)

    quota.set_cohort(CohortObserved(name="top", groups=group(4, 0)))
    quota.set_cohort(CohortObserved(name="low", parent="top"))
    quota.set_cluster_queue(ClusterQueueObserved(name="a", cohort="low", groups=group(2, 1)))
    quota.set_cluster_queue(ClusterQueueObserved(name="b", cohort="low", groups=group(0, 1)))
    quota.add_usage("a", {quota.column("one", "cpu"): 4, quota.column("two", "cpu"): 2})
    share = share_of(quota.queues["a"], quota.columns.names)
    assert Fraction(share.numerator, share.denominator) == Fraction(3 * PER_MILLE, 8), "2 + 1 of 6 + 2"
    assert share.rounded() == 375


def test_a_borrower_of_weight_zero_has_more_than_every_finite_share_and_they_compare_by_what_they_borrow() -> None:
    nothing = Weight(numerator=0)
    little, much = weighted(1, 10, nothing), weighted(9, 10, nothing)
    assert weighted(10**30, 1, Weight()) < little < much


def test_a_share_is_told_in_digits() -> None:
    assert weighted(0, 1, Weight()).as_text() == "0"
    assert weighted(100, 1, Weight(numerator=8)).as_text() == "12.5"
    assert weighted(100, 1, Weight(numerator=3)).as_text() == "33.333333333333333333"
    assert weighted(1, 1, Weight(numerator=0)).as_text() == "+Inf"


def test_a_queue_that_borrows_all_that_can_be_lent_has_the_share_1000() -> None:
    assert cohort([0, 3, 0], [3, 0, 0], Weight())[1].rounded() == 1000


def test_the_resource_of_which_the_largest_part_is_borrowed_is_named_and_of_equal_ones_the_first() -> None:
    for borrowed, named in (((2, 2), "cpu"), ((1, 2), "gpu"), ((2, 1), "cpu"), ((0, 1), "gpu"), ((0, 0), "")):
        quota = QuotaTree(Trail())
        for name, nominal in (("a", 0), ("b", 4)):
            quotas = tuple(Quota(resource=resource, nominal=nominal) for resource in ("gpu", "cpu"))
            group = ResourceGroup(resources=("gpu", "cpu"), flavors=(FlavorQuotas(flavor="default", quotas=quotas),))
            quota.set_cluster_queue(ClusterQueueObserved(name=name, cohort="all", groups=(group,)))
        for resource, amount in zip(("cpu", "gpu"), borrowed, strict=True):
            quota.add_usage("a", {quota.column("default", resource): amount})
        share = share_of(quota.queues["a"], quota.columns.names)
        assert (share.resource, share.rounded()) == (named, max(borrowed) * PER_MILLE // 4)


def test_a_cohort_borrows_nothing_of_a_flavor_for_which_nobody_below_it_has_a_quota_any_more() -> None:
    quota = QuotaTree(Trail())
    quotas = [FlavorQuotas(flavor=name, quotas=(Quota(resource="cpu", nominal=1),)) for name in ("kept", "gone")]
    both = ClusterQueueObserved(name="a", cohort="low", groups=(ResourceGroup(resources=("cpu",), flavors=(*quotas,)),))
    quota.set_cluster_queue(both)
    quota.set_cohort(CohortObserved(name="low", parent="all"))
    other = ResourceGroup(
        resources=("cpu",), flavors=(FlavorQuotas(flavor="kept", quotas=(Quota(resource="cpu", nominal=4),)),)
    )
    quota.set_cluster_queue(ClusterQueueObserved(name="b", cohort="all", groups=(other,)))
    quota.add_usage("a", {quota.column("gone", "cpu"): 1})
    one = ResourceGroup(resources=("cpu",), flavors=(quotas[0],))
    quota.set_cluster_queue(replace(both, groups=(one,)))
    low = quota.queues["a"].parent
    assert low is not None and not share_of(low, quota.columns.names).borrowed
