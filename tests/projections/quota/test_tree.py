from hypothesis import given
from hypothesis import strategies as st

from events.quota import ClusterQueueObserved, CohortObserved, FlavorQuotas, Quota, ResourceGroup
from projections.quota.tree import QuotaTree
from projections.trail import Trail

CPU = 0
steps = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(min_value=0, max_value=30)), max_size=30)


def queue(name: str, nominal: int, cohort: str, borrowing: int | None, lending: int | None) -> ClusterQueueObserved:
    quota = Quota(resource="cpu", nominal=nominal, borrowing_limit=borrowing, lending_limit=lending)
    group = ResourceGroup(resources=("cpu",), flavors=(FlavorQuotas(flavor="default", quotas=(quota,)),))
    return ClusterQueueObserved(name=name, cohort=cohort, groups=(group,))


limits = st.one_of(st.none(), st.integers(min_value=0, max_value=20))
trees = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from(["left", "right"]), limits, limits), min_size=4, max_size=4
)


def grown(tree: list[tuple[int, str, int | None, int | None]]) -> QuotaTree:
    trail = Trail()
    quota = QuotaTree(trail)
    assert quota.column("default", "cpu") == CPU
    quota.set_cohort(CohortObserved(name="left", parent="root"))
    quota.set_cohort(CohortObserved(name="right", parent="root"))
    for name, (nominal, cohort, borrowing, lending) in zip("abcd", tree, strict=True):
        quota.set_cluster_queue(
            queue(name, nominal, cohort, borrowing, None if lending is None else min(lending, nominal))
        )
    return quota


def picture(quota: QuotaTree) -> dict[str, int]:
    nodes = {**quota.queues, **{f"cohort {name}": node for name, node in quota.cohorts.items()}}
    return {name: node.usage[CPU] for name, node in nodes.items()}


@given(trees, steps)
def test_adding_and_removing_usage_are_exact_inverses_on_any_tree(tree: list, told: list) -> None:
    quota = grown(tree)
    for name, amount in told:
        quota.add_usage(name, {CPU: amount})
    for name, amount in reversed(told):
        quota.remove_usage(name, {CPU: amount})
    assert set(picture(quota).values()) <= {0}


@given(trees, steps)
def test_a_cohort_uses_what_spills_over_from_its_children(tree: list, told: list) -> None:
    quota = grown(tree)
    for name, amount in told:
        quota.add_usage(name, {CPU: amount})
    for node in quota.cohorts.values():
        spilled = sum(max(0, child.usage[CPU] - child.local[CPU]) for child in node.children.values())
        assert node.usage[CPU] == spilled


@given(trees, steps)
def test_what_is_available_really_fits_and_one_more_does_not(tree: list, told: list) -> None:
    quota = grown(tree)
    for name, amount in told:
        node = quota.queues[name]
        quota.add_usage(name, {CPU: min(amount, node.available(CPU))})
    root = quota.cohorts["root"]
    assert root.usage[CPU] <= root.subtree[CPU]
    for node in quota.queues.values():
        assert 0 <= node.available(CPU) <= node.potential(CPU)


@given(trees, steps, steps)
def test_going_back_to_a_mark_restores_everything(tree: list, before: list, after: list) -> None:
    quota = grown(tree)
    trail = quota._trail
    for name, amount in before:
        quota.add_usage(name, {CPU: amount})
    kept = picture(quota)
    mark = trail.mark()
    for name, amount in after:
        quota.add_usage(name, {CPU: amount})
    quota.set_cluster_queue(queue("e", 3, "left", None, None))
    trail.undo(mark)
    assert picture(quota) == kept
    assert "e" not in quota.queues


def test_a_cohort_that_is_its_own_ancestor_is_found_and_isolated() -> None:
    quota = QuotaTree(Trail())
    quota.set_cohort(CohortObserved(name="x", parent="y"))
    quota.set_cohort(CohortObserved(name="y", parent="x"))
    quota.set_cluster_queue(queue("a", 1, "x", None, None))
    quota.set_cluster_queue(queue("b", 1, "", None, None))
    assert quota.cyclic("a") and not quota.cyclic("b")


def test_a_circle_of_cohorts_is_one_tree_again_once_it_is_broken_and_others_stay_circles() -> None:
    quota = QuotaTree(Trail())
    for name, parent in (("x", "y"), ("y", "x"), ("u", "v"), ("v", "u")):
        quota.set_cohort(CohortObserved(name=name, parent=parent))
    for name, cohort in (("a", "x"), ("b", "y"), ("c", "u")):
        quota.set_cluster_queue(queue(name, 1, cohort, None, None))
    assert quota.cyclic("a") and quota.cyclic("b") and quota.cyclic("c")
    quota.set_cohort(CohortObserved(name="x"))
    assert quota.root_of("a") == quota.root_of("b") == "cohort/x"
    assert not quota.cyclic("a") and not quota.cyclic("b") and quota.cyclic("c")


def test_asking_what_was_touched_while_a_cohort_is_new_changes_nothing_under_way() -> None:
    quota = QuotaTree(Trail())
    quota.set_cluster_queue(queue("a", 1, "x", None, None))
    assert quota.touched()
    for number in range(20):
        quota.set_cohort(CohortObserved(name=f"new-{number}"))
        assert f"cohort/{number}" not in quota.touched()
        assert len(quota.touched()) == number + 2


def test_a_cohort_without_a_name_is_nobodys_parent() -> None:
    quota = QuotaTree(Trail())
    quota.set_cohort(CohortObserved(name=""))
    quota.set_cluster_queue(queue("a", 1, "", None, None))
    assert [quota.root_of("a")] == quota.trees()
