"""The quota tree against the definitions, whatever happened to queues, cohorts and usage, and in whatever order."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from events.amount import UNLIMITED
from events.quota import (
    ClusterQueueObserved,
    CohortObserved,
    FlavorQuotas,
    PreemptionRules,
    Quota,
    ResourceGroup,
    Weight,
)
from projections.flavors.mode import lowest_that_fits
from projections.quota.node import Node
from projections.quota.tree import QuotaTree
from projections.trail import Trail
from tests.projections.quota.by_definition import ByDefinition, Item, Place, finite

QUEUES, COHORTS = ("a", "b", "c"), ("left", "low", "right", "top")
ITEMS: tuple[Item, ...] = (("spot", "cpu"), ("spot", "gpu"), ("fixed", "cpu"))
AMOUNTS = st.integers(0, 12)


class Gone(NamedTuple):
    """A queue or a cohort is removed."""

    kind: str
    name: str


class Used(NamedTuple):
    """A queue's workloads hold so much more, or less for negative amounts."""

    queue: str
    item: Item
    amount: int


class Asked(NamedTuple):
    """Nothing happens, but somebody asks how the trees stand: what changes later is laid into these."""


Fact = ClusterQueueObserved | CohortObserved | Gone | Used | Asked


@st.composite
def groups(draw: st.DrawFn) -> tuple[ResourceGroup, ...]:
    flavors: dict[str, list[Quota]] = {}
    for flavor, resource in ITEMS[: draw(st.integers(0, 3))]:
        quota = Quota(
            resource=resource,
            nominal=draw(AMOUNTS | st.just(UNLIMITED)),
            borrowing_limit=draw(st.none() | AMOUNTS | st.just(UNLIMITED)),
            lending_limit=draw(st.none() | AMOUNTS),
        )
        flavors.setdefault(flavor, []).append(quota)
    found = tuple(FlavorQuotas(flavor=name, quotas=tuple(quotas)) for name, quotas in flavors.items())
    return (ResourceGroup(resources=("cpu", "gpu"), flavors=found),)


weights = st.builds(Weight, numerator=st.integers(0, 3))
rules = st.builds(PreemptionRules, minimum_runtime=st.sampled_from((0, 0, 5)), cooldown=st.sampled_from((0, 0, 5)))
queues = st.builds(
    ClusterQueueObserved,
    name=st.sampled_from(QUEUES),
    cohort=st.sampled_from(("", *COHORTS)),
    groups=groups(),
    preemption=rules,
    weight=weights,
)
cohorts = st.builds(
    CohortObserved,
    name=st.sampled_from(COHORTS),
    parent=st.sampled_from(("", "top", *COHORTS)),
    groups=groups(),
    weight=weights,
)
gone = st.builds(Gone, st.just("queue"), st.sampled_from(QUEUES)) | st.builds(
    Gone, st.just("cohort"), st.sampled_from(COHORTS)
)
used = st.builds(Used, st.sampled_from(QUEUES), st.sampled_from(ITEMS), st.integers(-6, 12))
PARENTS = (CohortObserved(name="low", parent="left"), CohortObserved(name="left", parent="top"))
facts: st.SearchStrategy[list[Fact]] = st.builds(
    lambda first, rest: [*first, *rest],
    st.sampled_from(((), PARENTS)),
    st.lists(queues | queues | cohorts | used | used | gone | st.just(Asked()), max_size=12),
)


class Both:
    """The tree and the definitions, which are told the same."""

    def __init__(self) -> None:
        self.trail = Trail()
        self.tree = QuotaTree(self.trail)
        self.queues: dict[str, ClusterQueueObserved] = {}
        self.cohorts: dict[str, CohortObserved] = {}
        self.held: dict[tuple[str, Item], int] = {}

    def tell(self, fact: Fact) -> None:
        match fact:
            case ClusterQueueObserved():
                self.tree.set_cluster_queue(fact)
                self.queues[fact.name] = fact
            case CohortObserved():
                self.tree.set_cohort(fact)
                self.cohorts[fact.name] = fact
            case Gone("queue", name):
                self.tree.remove_cluster_queue(name)
                self.queues.pop(name, None)
            case Gone(_, name):
                self.tree.remove_cohort(name)
                self.cohorts.pop(name, None)
            case Asked():
                self.tree.trees()
            case Used(queue, item, amount):
                held = self.held.get((queue, item), 0)
                amount = max(amount, -held)
                self.held[queue, item] = held + amount
                change = self.tree.remove_usage if amount < 0 else self.tree.add_usage
                change(queue, {self.tree.columns.of(*item): abs(amount)})

    def defined(self) -> ByDefinition:
        return ByDefinition(dict(self.queues), dict(self.cohorts), self.held)

    def nodes(self) -> Iterator[tuple[Place, Node]]:
        yield from ((("queue", name), node) for name, node in self.tree.queues.items())
        yield from ((("cohort", name), node) for name, node in self.tree.cohorts.items())


def told(facts: Sequence[Fact]) -> Both:
    both = Both()
    for fact in facts:
        both.tell(fact)
    return both


def by_definition(defined: ByDefinition, place: Place, item: Item, asked: int) -> dict[str, object]:
    amounts = (
        ("nominal", defined.nominal),
        ("subtree", defined.subtree),
        ("local", defined.local),
        ("usage", defined.usage),
        ("local_available", defined.local_available),
        ("available", defined.available),
        ("potential", defined.potential),
        ("borrowed", defined.borrowed),
    )
    return {
        **{name: finite(ask(place, item)) for name, ask in amounts},
        "borrowing": defined.borrows_with(place, item, asked),
        "lowest": defined.lowest_that_fits(place, item, asked) if place[0] == "queue" else None,
    }


def by_tree(both: Both, node: Node, item: Item, asked: int) -> dict[str, object]:
    column = both.tree.column(*item)
    return {
        "nominal": node.nominal[column],
        "subtree": node.subtree[column],
        "local": node.local[column],
        "usage": node.usage[column],
        "local_available": node.local_available(column),
        "available": node.available(column),
        "potential": node.potential(column),
        "borrowed": node.borrowed(column),
        "borrowing": node.borrowing_with(column, asked),
        "lowest": astuple(lowest_that_fits(node, column, asked)) if node.is_queue else None,
    }


@given(facts, AMOUNTS)
def test_every_amount_is_what_the_definitions_say(facts: list[Fact], asked: int) -> None:
    both = told(facts)
    defined = both.defined()
    assert sorted(place for place, _ in both.nodes()) == sorted(defined.places)
    for place, node in both.nodes():
        for item in ITEMS:
            assert by_tree(both, node, item, asked) == by_definition(defined, place, item, asked), (place, item)


def test_every_amount_on_a_way_up_is_what_the_definitions_say_whatever_the_limits() -> None:
    """As above, in one small tree and over and over: limits that bind, usage below and above what is kept, and debt."""
    item = ITEMS[0]
    for seed in range(1000):
        both = up_and_down(random.Random(seed))
        defined = both.defined()
        for place, node in both.nodes():
            for asked in (0, 2, 5):
                assert by_tree(both, node, item, asked) == by_definition(defined, place, item, asked), (seed, place)


def up_and_down(chance: random.Random) -> Both:
    """Two queues in a cohort in a cohort, and what they use: more and less of it."""

    def owned() -> tuple[ResourceGroup, ...]:
        quota = Quota(
            resource=ITEMS[0][1],
            nominal=chance.choice((0, 3, 6, 6, UNLIMITED)),
            borrowing_limit=chance.choice((None, 0, 2, 4)),
            lending_limit=chance.choice((None, 0, 2, 4)),
        )
        return (ResourceGroup(resources=("cpu",), flavors=(FlavorQuotas(flavor=ITEMS[0][0], quotas=(quota,)),)),)

    both = Both()
    both.tell(CohortObserved(name="top", groups=owned()))
    both.tell(CohortObserved(name="low", parent="top", groups=owned()))
    for name in "ab":
        both.tell(ClusterQueueObserved(name=name, cohort="low", groups=owned()))
    for _ in range(4):
        both.tell(Used(chance.choice("ab"), ITEMS[0], chance.choice((1, 2, 4, 6))))
        both.tell(Used(chance.choice("ab"), ITEMS[0], -chance.choice((0, 1, 2, 5))))
    return both


def test_what_a_queue_gives_back_while_it_is_gone_does_not_count_when_it_comes_back() -> None:
    queue, item = ClusterQueueObserved(name="a"), ITEMS[0]
    both = told([queue, Used("a", item, 5), Gone("queue", "a"), Used("a", item, -2), Used("a", item, 1), queue])
    assert both.tree.queues["a"].usage[both.tree.column(*item)] == 4


def test_what_changed_while_a_queue_was_gone_counts_when_it_comes_back_whatever_it_held() -> None:
    for seed in range(200):
        chance = random.Random(seed)
        queue, both = ClusterQueueObserved(name="a"), Both()
        for _ in range(8):
            both.tell(chance.choice((queue, queue, Gone("queue", "a"))))
            both.tell(Used("a", chance.choice(ITEMS), chance.choice((-5, -2, 1, 3))))
        both.tell(queue)
        for item in ITEMS:
            used = both.tree.queues["a"].usage[both.tree.column(*item)]
            assert used == both.held.get(("a", item), 0), (seed, item)


@given(facts, st.sets(st.sampled_from(("spot", "fixed", "other"))), st.sampled_from((*QUEUES, "nobody")), st.booleans())
def test_who_shares_more_than_quota_hears_of_room_in_trees_that_have_its_flavors(
    facts: list[Fact], flavors: set[str], by: str, more: bool
) -> None:
    both = told(facts)
    tree = both.tree
    for key in tree.touched():
        tree.looked_at(key)
    before, room = stamps_of(both), {name: tree.lessened(name) for name in QUEUES}
    tree.shared_room_changed(sorted(flavors), by=by, more=more)
    having = {tree.root_of(name) for name, queue in both.queues.items() if flavors & set(queue.flavors)}
    assert tree.touched() == having - {tree.root_of(by)}
    for name in QUEUES:
        less = not more and tree.root_of(name) in tree.touched()
        assert (tree.lessened(name) > room[name]) is less, "who was refused may be so for another reason"
    for name, (released, changed) in stamps_of(both).items():
        told_of = more and tree.root_of(name) in tree.touched()
        assert (released > before[name][0]) is (changed > before[name][1]) is told_of


@given(facts)
def test_every_place_stands_where_the_definitions_put_it(facts: list[Fact]) -> None:
    both = told(facts)
    tree, defined = both.tree, both.defined()
    roots = {f"{kind}/{name}" for kind, name in defined.places if defined.parent((kind, name)) is None}
    assert tree.trees() == sorted(roots)
    for place, node in both.nodes():
        root = "/".join(defined.path(place)[-1])
        assert [one.key for one in node.path] == ["/".join(one) for one in defined.path(place)]
        assert (node.root.key, node.height) == (root, defined.height(place))
        assert sorted(leaf.name for leaf in node.leaves()) == sorted(defined.leaves(place))
        assert list(node.children) == ["/".join(one) for one in sorted(defined.children[place])]
        observed = (defined.queues if node.is_queue else defined.cohorts).get(node.name)
        assert node.weight == (Weight() if observed is None else observed.weight)
        if node.parent is None:
            assert tree.members(root) == tuple(sorted(defined.leaves(place)))
            rules = [defined.queues[name].preemption for name in tree.members(root)]
            assert tree.timed(root) is any(one.minimum_runtime or one.cooldown for one in rules)
    for name, queue in defined.queues.items():
        assert tree.cyclic(name) is defined.cyclic(queue.cohort)
        assert tree.root_of(name) == tree.queues[name].root.key


@given(facts)
def test_a_place_is_within_its_nominal_quota_when_it_borrows_nothing_of_what_is_asked_about(facts: list[Fact]) -> None:
    both = told(facts)
    defined = both.defined()
    for place, node in both.nodes():
        for items in (ITEMS, ITEMS[:1], ITEMS[1:]):
            borrows = any(defined.borrows_with(place, item, 0) for item in items)
            assert node.within_nominal([both.tree.column(*item) for item in items]) is not borrows


def test_who_borrows_beside_a_queue_is_named_most_first_and_of_equals_by_name() -> None:
    item = ITEMS[0]
    for seed in range(200):
        both = sharing(random.Random(seed))
        defined = both.defined()
        over = {name: defined.borrowed(("queue", name), item) for name in both.queues}
        for name, node in both.tree.queues.items():
            tree = defined.leaves(defined.path(("queue", name))[-1])
            others = [other for other in tree if other != name and over[other]]
            wanted = sorted(others, key=lambda other: (-over[other], other))
            assert [one.name for one in node.borrowers(both.tree.column(*item))] == wanted, (seed, name)


def sharing(chance: random.Random) -> Both:
    """Queues of two trees, of which some use more than their own, several of them equally much."""
    both = Both()
    both.tell(CohortObserved(name="low", parent="top"))
    for name in "edcba":
        quota = Quota(resource=ITEMS[0][1], nominal=chance.choice((0, 2)))
        group = ResourceGroup(resources=("cpu",), flavors=(FlavorQuotas(flavor=ITEMS[0][0], quotas=(quota,)),))
        both.tell(ClusterQueueObserved(name=name, cohort=chance.choice(("low", "top", "right")), groups=(group,)))
        both.tell(Used(name, ITEMS[0], chance.choice((0, 2, 3, 4))))
    return both


@given(facts, facts)
def test_what_is_taken_back_is_as_if_it_had_never_been(before: list[Fact], after: list[Fact]) -> None:
    both = told(before)
    touched, seen, stamps = both.tree.touched(), all_of(both), stamps_of(both)
    mark = both.trail.mark()
    for key in touched:
        both.tree.looked_at(key)
    for fact in after:
        both.tell(fact)
    all_of(both)
    both.trail.undo(mark)
    assert (all_of(both), stamps_of(both)) == (seen, stamps)
    assert both.tree.touched() >= touched, "a tree is looked at once too often, never once too seldom"


@given(facts)
def test_to_look_and_to_take_that_back_loses_nothing_that_was_told_before(facts: list[Fact]) -> None:
    both = told(facts)
    mark = both.trail.mark()
    seen = all_of(both)
    both.trail.undo(mark)
    assert all_of(both) == seen


def all_of(both: Both) -> dict[Place, list[dict[str, object]]]:
    return {place: [by_tree(both, node, item, 1) for item in ITEMS] for place, node in both.nodes()}


def stamps_of(both: Both) -> dict[str, tuple[int, int]]:
    return {name: (both.tree.released(name), both.tree.changed(name)) for name in both.tree.queues}


@given(facts, queues | cohorts | used | gone)
def test_who_waits_hears_of_every_change_in_his_tree_and_of_no_other(facts: list[Fact], last: Fact) -> None:
    both = told(facts)
    tree = both.tree
    for key in tree.touched():
        tree.looked_at(key)
    before, defined = stamps_of(both), both.defined()
    held = both.held.get((last.queue, last.item), 0) if isinstance(last, Used) else 0
    both.tell(last)
    after = stamps_of(both)
    if isinstance(last, Used):
        at = tree.root_of(last.queue)
        assert tree.touched() == ({at} if at else set())
        for name, (released, changed) in after.items():
            told_of = tree.root_of(name) == at
            assert (changed > before[name][1]) is told_of
            given_back = told_of and last.amount < 0 and held > 0
            assert (released > before[name][0]) is given_back
    else:
        concerned = roots_concerned(defined, both.defined(), last)
        assert tree.touched() == concerned
        for name in before.keys() & after.keys():
            told_of = tree.root_of(name) in concerned
            assert (after[name][0] > before[name][0]) is (after[name][1] > before[name][1]) is told_of


def roots_concerned(
    before: ByDefinition, after: ByDefinition, last: ClusterQueueObserved | CohortObserved | Gone
) -> set[str]:
    """Where all are now that were in one tree with what has changed, or with what that names above itself."""
    if any(kind == "cohort" and before.cyclic(name) for kind, name in before.places):
        return {root_by_definition(after, place) for place in after.places}
    match last:
        case ClusterQueueObserved():
            changed, above = ("queue", last.name), last.cohort
        case CohortObserved():
            changed, above = ("cohort", last.name), last.parent
        case Gone(kind, name):
            changed, above = (kind, name), ""
    named = {root_by_definition(before, one) for one in (changed, ("cohort", above)) if one in before.places}
    places = {place for place in before.places if root_by_definition(before, place) in named} | {changed}
    return {root_by_definition(after, place) for place in places if place in after.places}


def root_by_definition(defined: ByDefinition, place: Place) -> str:
    return "/".join(defined.path(place)[-1])


@given(st.sampled_from(QUEUES), facts)
def test_of_a_queue_that_comes_back_no_stamp_is_one_that_it_has_had(name: str, facts: list[Fact]) -> None:
    both = told(facts)
    had = (both.tree.released(name), both.tree.changed(name))
    for fact in (Gone("queue", name), Asked(), ClusterQueueObserved(name=name)):
        both.tell(fact)
    assert both.tree.released(name) > had[0] and both.tree.changed(name) > had[1]


@given(facts)
def test_what_else_changed_for_a_queue_has_its_tree_looked_at(facts: list[Fact]) -> None:
    both = told(facts)
    tree = both.tree
    for name in (*QUEUES, "nobody"):
        for touch, changed, fits in ((tree.touch, 0, 0), (tree.note_change, 1, 0), (tree.note_easier_victim, 1, 1)):
            for key in tree.touched():
                tree.looked_at(key)
            before, released = tree.changed(name), tree.released(name)
            touch(name)
            root = tree.root_of(name)
            assert tree.touched() == ({root} if root else set())
            assert (tree.changed(name) > before) is bool(changed and root)
            assert (tree.released(name) > released) is bool(fits and root)
            assert (tree.changed(name) > 0) is (tree.released(name) > 0) is bool(root)
