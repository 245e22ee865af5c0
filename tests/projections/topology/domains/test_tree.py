from hypothesis import given
from hypothesis import strategies as st

from events.device import NodeObserved
from events.selector import Effect, Taint
from projections.topology.domains.room import capacity_of
from projections.topology.domains.tree import HOSTNAME, same_place, tree_of
from tests.projections.topology.makers import node, nodes, tree_with

RACKS = {"r2/h3": 5, "r1/h1": 3, "r2/h4": 1, "r1/h2": 3}


def test_domains_stand_in_the_order_of_their_values_and_children_side_by_side() -> None:
    tree = tree_with(["rack", "host"], RACKS)
    assert tree.values == ((("r1",), ("r2",)), (("r1", "h1"), ("r1", "h2"), ("r2", "h3"), ("r2", "h4")))
    assert tree.children == ((range(2), range(2, 4)),)
    assert tree.below([1, 0], 0) == [0, 1, 2, 3]
    assert tree.descendants(1, 0, 1) == range(2, 4)
    assert tree.descendants(1, 0, 0) == range(1, 2)
    assert [tree.ancestor(leaf, 0) for leaf in range(4)] == [0, 0, 1, 1]


def test_a_host_is_named_by_itself_and_any_other_leaf_by_all_its_values() -> None:
    hosts, racks = tree_with(["rack", "host"], RACKS), tree_with(["block", "rack"], {"b/r1": 1})
    assert hosts.leaf_at(("h3",)) == 2
    assert (hosts.assigned_levels(), hosts.assigned_values(2)) == ((HOSTNAME,), ("h3",))
    assert racks.leaf_at(("b", "r1")) == 0
    assert (racks.assigned_levels(), racks.assigned_values(0)) == (("block", "rack"), ("b", "r1"))
    assert hosts.leaf_at(("r9",)) is None


def test_a_flavor_has_the_nodes_that_are_ready_schedulable_and_labelled_for_it_and_for_every_level() -> None:
    levels = ["rack", "host"]
    found = [
        node("r1/a", levels, {"labels": {"tier": "gpu"}}),
        node("r1/b", levels, {"labels": {"tier": "cpu"}}),
        node("r1/c", levels, {"labels": {"tier": "gpu"}, "ready": False}),
        node("r1/d", levels, {"labels": {"tier": "gpu"}, "unschedulable": True}),
        NodeObserved(name="e", labels={HOSTNAME: "e", "tier": "gpu"}),
        NodeObserved(name="f", labels={HOSTNAME: "f", "rack": "", "tier": "gpu"}),
    ]
    tree = tree_of("t", ("rack", HOSTNAME), {"tier": "gpu"}, found)
    assert [leaf.key for leaf in tree.leaves] == ["f", "a"]


def test_nodes_of_one_domain_add_up_and_the_first_by_name_says_its_labels_and_taints() -> None:
    one = NodeObserved(name="n1", labels={"rack": "r", "card": "a"}, allocatable={"cpu": 3})
    two = NodeObserved(
        name="n2",
        labels={"rack": "r", "card": "b"},
        taints=(Taint(key="spot", effect=Effect.NO_SCHEDULE),),
        allocatable={"cpu": 4, "memory": 5},
    )
    tree = tree_of("t", ("rack",), {}, [two, one])
    capacity = capacity_of(tree, [two, one, NodeObserved(name="elsewhere", allocatable={"cpu": 9})])
    assert (tree.leaf_by_node, tree.leaves[0].labels["card"], tree.tainted) == ({"n1": 0, "n2": 0}, "a", ())
    assert (capacity.column("cpu"), capacity.column("memory"), capacity.column("gpu")) == ([7], [5], None)


def test_a_taint_that_only_advises_against_a_node_is_none() -> None:
    advised = NodeObserved(
        name="n", labels={HOSTNAME: "n"}, taints=(Taint(key="spot", effect=Effect.PREFER_NO_SCHEDULE),)
    )
    assert tree_of("t", (HOSTNAME,), {}, [advised]).tainted == ()


def test_a_tree_stays_as_it_is_while_only_amounts_change() -> None:
    before, more = node("a", ["host"], 1), node("a", ["host"], 2)
    assert same_place(before, more)
    for changed in ({"labels": {"card": "a"}}, {"taint": "spot"}, {"ready": False}, {"unschedulable": True}):
        assert not same_place(before, node("a", ["host"], changed))


@given(st.permutations(sorted(RACKS)))
def test_the_order_of_nodes_does_not_matter(order: list[str]) -> None:
    tree = tree_of("t", ("rack", HOSTNAME), {}, nodes(["rack", "host"], {place: RACKS[place] for place in order}))
    assert tree.values == tree_with(["rack", "host"], RACKS).values
