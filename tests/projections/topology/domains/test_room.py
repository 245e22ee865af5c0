from hypothesis import given
from hypothesis import strategies as st

from projections.topology.domains.room import MOST_PODS, LeafAmounts, LeafFits, LeafRoom, LeafUsage, capacity_of
from tests.projections.topology.makers import hosts, nodes, tree_with

HOSTS = {"a": 4, "b": 3}
TREE = tree_with(["host"], HOSTS)
CAPACITY = capacity_of(TREE, nodes(["host"], HOSTS))
CHARGES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(1, 3)))


def test_what_is_free_is_what_nodes_offer_less_what_is_held_and_taken() -> None:
    usage = LeafUsage()
    usage.add("a", {"cpu": 1}, 2)
    room = LeafRoom(
        tree=TREE, capacity=CAPACITY, usage=usage.on("f", TREE), taken={"b": {"cpu": 5}, "gone": {"cpu": 1}}
    )
    assert (room.free("cpu"), room.free("gpu")) == ([2, -2], [0, 0])


def test_an_empty_cluster_has_no_usage_and_victims_give_theirs_back() -> None:
    usage = LeafUsage()
    usage.add("a", {"cpu": 1}, 4)
    empty = LeafRoom(tree=TREE, capacity=CAPACITY)
    without = LeafRoom(tree=TREE, capacity=CAPACITY, usage=usage.on("f", TREE), taken={"a": {"cpu": -4}})
    assert empty.free("cpu") == without.free("cpu") == [4, 3]


def test_a_resource_that_no_node_offers_may_be_held_all_the_same() -> None:
    usage = LeafUsage()
    usage.add("a", {"gpu": 1}, 2)
    assert LeafRoom(tree=TREE, capacity=CAPACITY, usage=usage.on("f", TREE)).free("gpu") == [-2, 0]


def test_usage_on_a_leaf_that_is_gone_counts_again_when_it_is_back() -> None:
    usage, smaller = LeafUsage(), tree_with(["host"], {"b": 3})
    usage.add("a", {"cpu": 2}, 1)
    assert usage.on("f", smaller).column("cpu") is None
    usage.add("a", {"cpu": 2}, 1)
    assert usage.on("f", TREE).column("cpu") == [4, 0]


def test_flavors_that_share_hosts_see_the_same_usage() -> None:
    usage = LeafUsage()
    one, other = usage.on("one", TREE), usage.on("other", TREE)
    usage.add("b", {"cpu": 2}, 1)
    assert one.column("cpu") == other.column("cpu") == [0, 2]
    usage.forget("other")
    usage.add("b", {"cpu": 2}, 1)
    assert (one.column("cpu"), other.column("cpu")) == ([0, 4], [0, 2])


def test_as_many_changes_are_remembered_as_there_are_leaves_so_that_only_these_are_counted_again() -> None:
    amounts = LeafAmounts(2)
    amounts.add(0, {"cpu": 1})
    before = amounts.changes
    for _ in range(2):
        amounts.add(1, {"cpu": 1})
    assert amounts.changed_since(before) == [1, 1]
    amounts.add(0, {"cpu": 1})
    assert amounts.changed_since(before) is None, "that is forgotten by now"
    assert amounts.changed_since(before + 2) == [0]


@given(CHARGES, CHARGES)
def test_usage_that_is_taken_back_leaves_nothing_behind(
    first: list[tuple[str, int, int]], later: list[tuple[str, int, int]]
) -> None:
    usage, wanted = LeafUsage(), LeafUsage()
    view = usage.on("f", TREE)
    for leaf, cpu, times in first:
        usage.add(leaf, {"cpu": cpu}, times)
        wanted.add(leaf, {"cpu": cpu}, times)
    for leaf, cpu, times in later:
        usage.add(leaf, {"cpu": cpu}, times)
    for leaf, cpu, times in later:
        usage.add(leaf, {"cpu": cpu}, -times)
    assert usage.held() == wanted.held()
    held = wanted.held()
    assert (view.column("cpu") or [0, 0]) == [held.get(leaf, {}).get("cpu", 0) for leaf in "ab"]


def test_an_assignment_has_room_while_each_of_its_domains_has() -> None:
    room = LeafRoom(tree=TREE, capacity=CAPACITY)
    assert room.holds(hosts(a=4, b=3), {"cpu": 1})
    assert not room.holds(hosts(a=4, b=4), {"cpu": 1})
    assert not room.holds(hosts(a=1, gone=1), {"cpu": 1})


def test_a_domain_has_room_for_so_many_pods_as_what_is_free_holds_their_requests() -> None:
    room = LeafRoom(tree=TREE, capacity=CAPACITY)
    assert room.holds(hosts(a=2), {"cpu": 2})
    assert not room.holds(hosts(a=3), {"cpu": 2})
    assert room.holds(hosts(b=1), {"cpu": 2})
    assert not room.holds(hosts(b=2), {"cpu": 2})


STEPS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(-2, 3), st.sampled_from(["usage", "capacity", "look", "other"]))
)


@given(STEPS, st.dictionaries(st.sampled_from("ab"), st.integers(-3, 3)))
def test_fits_that_are_kept_are_those_that_are_counted_anew(
    steps: list[tuple[str, int, str]], taken: dict[str, int]
) -> None:
    usage, capacity, fits = LeafUsage(), capacity_of(TREE, nodes(["host"], HOSTS)), LeafFits()
    beside = {leaf: {"cpu": cpu} for leaf, cpu in taken.items()}
    for leaf, cpu, step in [*steps, ("a", 0, "look")]:
        match step:
            case "usage":
                usage.add(leaf, {"cpu": cpu, "pods": 1}, 1)
            case "capacity":
                capacity.add(TREE.leaf_by_key[leaf], {"cpu": cpu})
            case "other":
                usage.forget("f")
            case _:
                kept = LeafRoom(tree=TREE, capacity=capacity, usage=usage.on("f", TREE), taken=beside, fits=fits)
                anew = LeafRoom(tree=TREE, capacity=capacity, usage=usage.on("f", TREE), taken=beside)
                for pod in ({"cpu": 1}, {"cpu": 2, "memory": 1}, {}):
                    assert kept.fitting(pod) == anew.fitting(pod)
                    free = [anew.free(resource) for resource, amount in pod.items() if amount]
                    amounts = [amount for amount in pod.values() if amount]
                    by_hand = [
                        max(
                            0,
                            min(
                                [
                                    MOST_PODS,
                                    *(column[at] // amount for column, amount in zip(free, amounts, strict=True)),
                                ]
                            ),
                        )
                        for at in range(len(TREE.leaves))
                    ]
                    assert kept.fitting(pod) == by_hand


def test_what_is_kept_of_fits_is_the_callers_own_and_follows_what_a_trial_takes_back() -> None:
    usage, fits = LeafUsage(), LeafFits()
    room = LeafRoom(tree=TREE, capacity=CAPACITY, usage=usage.on("f", TREE), fits=fits)
    room.fitting({"cpu": 1})[0] = 99
    assert room.fitting({"cpu": 1}) == [4, 3]
    usage.add("a", {"cpu": 1}, 3)
    assert room.fitting({"cpu": 1}) == [1, 3]
    usage.add("a", {"cpu": 1}, -3)
    assert room.fitting({"cpu": 1}) == [4, 3]
    empty = LeafRoom(tree=TREE, capacity=CAPACITY, fits=fits)
    usage.add("b", {"cpu": 1}, 3)
    assert (empty.fitting({"cpu": 1}), room.fitting({"cpu": 1})) == ([4, 3], [4, 0])
