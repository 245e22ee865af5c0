"""Who borrows from whom, by situation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.quota import ClusterQueueObserved, CohortObserved, FlavorQuotas, Quota, ResourceGroup
from projections.quota.borrowing_flows import lending
from projections.quota.tree import QuotaTree
from projections.trail import Trail

Members = dict[str, tuple[str, int, int | None, int]]
"""By queue: its cohort, its nominal quota, what it lends at most, and what it uses."""


def grown(members: Members, owned: dict[str, tuple[str, int]]) -> QuotaTree:
    trail = Trail()
    quota = QuotaTree(trail)
    column = quota.column("f", "gpu")
    for name, (parent, nominal) in owned.items():
        quota.set_cohort(CohortObserved(name=name, parent=parent, groups=_groups(nominal, None)))
    for name, (cohort, nominal, lends, _) in members.items():
        quota.set_cluster_queue(ClusterQueueObserved(name=name, cohort=cohort, groups=_groups(nominal, lends)))
    for name, (_, _, _, used) in members.items():
        node = quota.node(name)
        assert node is not None
        node.charge(trail, column, used)
    return quota


def _groups(nominal: int, lends: int | None) -> tuple[ResourceGroup, ...]:
    quota = Quota(resource="gpu", nominal=nominal, lending_limit=lends)
    return (ResourceGroup(resources=("gpu",), flavors=(FlavorQuotas(flavor="f", quotas=(quota,)),)),)


@pytest.mark.parametrize(
    ("members", "owned", "expected"),
    [
        ({"a": ("team", 4, None, 4), "b": ("team", 4, None, 0)}, {}, {}),
        (
            {"a": ("team", 4, None, 7), "b": ("team", 4, None, 0)},
            {},
            {"team": ({"queue/a": 3}, {"queue/b": 3})},
        ),
        (
            {"a": ("team", 4, None, 7), "b": ("team", 4, 1, 0), "c": ("team", 9, None, 4)},
            {},
            {"team": ({"queue/a": 3}, {"queue/b": 1, "queue/c": 2})},
        ),
        (
            {"a": ("team", 0, None, 5), "b": ("team", 8, None, 0)},
            {"team": ("", 3)},
            {"team": ({"queue/a": 5}, {"cohort/team": 3, "queue/b": 2})},
        ),
        (
            {"a": ("left", 2, None, 6), "b": ("right", 9, None, 1)},
            {"left": ("root", 1), "right": ("root", 0), "root": ("", 0)},
            {
                "left": ({"queue/a": 4}, {"cohort/left": 1, "cohort/root": 3}),
                "root": ({"cohort/left": 3}, {"cohort/right": 3}),
            },
        ),
    ],
    ids=["nobody borrows", "from the other", "in proportion to what is lent", "of the cohort first", "through cohorts"],
)
def test_what_is_borrowed_comes_from_those_who_leave_it_unused(
    members: Members,
    owned: dict[str, tuple[str, int]],
    expected: dict[str, tuple[dict[str, int], dict[str, int]]],
) -> None:
    found = {
        one.cohort: ({part.node: part.amount for part in one.takes}, {part.node: part.amount for part in one.gives})
        for one in lending(grown(members, owned))
    }
    assert found == expected


used = st.tuples(
    st.sampled_from(["left", "right"]), st.integers(0, 9), st.none() | st.integers(0, 9), st.integers(0, 9)
)


@given(st.lists(used, min_size=1, max_size=5), st.integers(0, 5))
def test_what_is_given_is_what_is_taken_where_no_more_is_used_than_there_is(
    queues: list[tuple[str, int, int | None, int]], own: int
) -> None:
    members = {
        f"q{place}": (cohort, nominal, None if lends is None else min(lends, nominal), amount)
        for place, (cohort, nominal, lends, amount) in enumerate(queues)
    }
    quota = grown(members, {"left": ("root", own), "right": ("root", 0), "root": ("", 9)})
    over = any(node.usage[0] > node.subtree[0] for node in quota.cohorts.values() if node.parent is None)
    for one in lending(quota):
        given_ = sum(part.amount for part in one.gives)
        assert sum(part.amount for part in one.takes) == one.borrowed
        assert given_ == one.borrowed or (over and one.cohort == "root" and given_ < one.borrowed)
        assert {part.node for part in one.gives}.isdisjoint({part.node for part in one.takes})
