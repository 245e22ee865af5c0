from hypothesis import given
from hypothesis import strategies as st

from events.quota import PreemptionPolicy
from events.settings import SettingsObserved
from projections.preemption.candidates import Variant
from projections.preemption.classic import charge, discharge, fits_now
from projections.preemption.victims import find_victims
from tests.projections.fair_sharing.cohort_world import CohortWorld
from tests.projections.preemption.fair_by_definition import FairByDefinition
from tests.projections.preemption.holding_world import situations

QUEUES = "abcd"
amounts = st.integers(min_value=1, max_value=6)
queues = st.lists(
    st.tuples(
        st.integers(min_value=0, max_value=6),
        st.sampled_from(["left", "right", "root"]),
        st.integers(min_value=0, max_value=3),
        st.sampled_from([PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY]),
    ),
    min_size=4,
    max_size=4,
)
holders = st.lists(st.tuples(st.sampled_from(QUEUES), amounts, st.integers(0, 2)), max_size=20)
asker = st.tuples(st.sampled_from(QUEUES), amounts, st.integers(0, 2))


def grown(tree: list, told: list, *, within: bool = True) -> CohortWorld:
    at = CohortWorld(SettingsObserved(fair_sharing=True))
    at.cohort("left", "root")
    at.cohort("right", "root")
    for name, (nominal, cohort, weight, policy) in zip(QUEUES, tree, strict=True):
        at.queue(name, nominal, cohort, weight, policy if within else PreemptionPolicy.NEVER)
    for number, (queue, amount, priority) in enumerate(told):
        at.running(f"w{number:02}", queue, amount, priority)
    return at


@given(queues, holders, asker)
def test_victims_make_enough_room_and_the_search_leaves_the_tree_as_it_was(
    tree: list, told: list, asking: tuple
) -> None:
    at = grown(tree, told)
    queue, amount, priority = asking
    at.waiting("asker", priority)
    ask = at.ask("asker", queue, amount)
    before = at.usage()
    victims = find_victims(at.world, ask)
    assert at.usage() == before
    for victim in victims:
        discharge(at.world.trail, victim)
    assert not victims or fits_now(ask.node, ask.usage, borrowing=True)


@given(queues, holders, asker)
def test_every_victim_by_share_was_chosen_although_its_queue_could_not_take_the_place_back(
    tree: list, told: list, asking: tuple
) -> None:
    at = grown(tree, told, within=False)
    queue, amount, priority = asking
    at.waiting("asker", priority)
    ask = at.ask("asker", queue, amount)
    if fits_now(ask.node, ask.usage, borrowing=True):
        return
    victims = find_victims(at.world, ask)
    for victim in victims:
        at.gone(victim.workload.name)
    if victims:
        at.gone("asker")
        at.running("asker", queue, amount, priority)
        assert at.world.workloads["team/asker"].reserved
    for victim in victims:
        if victim.variant is not Variant.FAIR_SHARING:
            continue
        at.waiting(victim.workload.name, victim.workload.priority)
        back = at.ask(victim.workload.name, victim.node.name, victim.usage[at.column])
        if not fits_now(back.node, back.usage, borrowing=True):
            assert "team/asker" not in [one.workload.key for one in find_victims(at.world, back)]
        at.gone(victim.workload.name)


@given(queues, holders, asker)
def test_no_victim_is_one_too_many(tree: list, told: list, asking: tuple) -> None:
    flat = [(nominal, "root", weight, policy) for nominal, _, weight, policy in tree]
    at = grown(flat, told, within=False)
    queue, amount, priority = asking
    at.waiting("asker", priority)
    ask = at.ask("asker", queue, amount)
    if fits_now(ask.node, ask.usage, borrowing=True):
        return
    victims = find_victims(at.world, ask)
    for victim in victims:
        discharge(at.world.trail, victim)
    for victim in victims:
        charge(at.world.trail, victim.node, victim.usage)
        assert not fits_now(ask.node, ask.usage, borrowing=True)
        discharge(at.world.trail, victim)


def test_the_victims_are_those_that_the_definitions_name_in_that_order_and_by_that_right() -> None:
    for number, at in enumerate(situations(400, fair=True)):
        wanted = FairByDefinition(at.tree, at.holders, at.asker, at.strategies).victims()
        found = find_victims(at.world, at.context)
        assert [(one.workload.name, one.variant) for one in found] == [
            (one.holder.workload.name, one.variant) for one in wanted
        ], number


def test_a_queue_that_has_the_most_takes_from_itself() -> None:
    at = CohortWorld(SettingsObserved(fair_sharing=True))
    at.queue("a", 2, within=PreemptionPolicy.LOWER_PRIORITY)
    at.queue("b", 2)
    at.queue("spare", 4)
    at.running("a-low", "a", 3, -1)
    at.running("b-big", "b", 5)
    at.waiting("asker", 1)
    victims = find_victims(at.world, at.ask("asker", "a", 3))
    assert [(one.workload.name, one.variant) for one in victims] == [("a-low", Variant.WITHIN_QUEUE)]


def test_a_workload_of_the_own_queue_that_could_stay_goes_where_another_could_come_back_because_of_it() -> None:
    at = CohortWorld(SettingsObserved(fair_sharing=True))
    at.queue("a", 1, within=PreemptionPolicy.LOWER_PRIORITY)
    at.queue("b", 1)
    at.queue("spare", 4)
    at.running("a-low", "a", 2, -1)
    at.running("b-big", "b", 4)
    at.waiting("asker", 1)
    victims = find_victims(at.world, at.ask("asker", "a", 3))
    assert [(one.workload.name, one.variant) for one in victims] == [
        ("a-low", Variant.WITHIN_QUEUE),
        ("b-big", Variant.FAIR_SHARING),
    ]
    at.gone("b-big")
    assert fits_now(at.ask("asker", "a", 3).node, {at.column: 3}, borrowing=True), "though it fits beside a-low"


def test_a_queue_within_its_nominal_quota_takes_back_what_others_borrow() -> None:
    at = CohortWorld(SettingsObserved(fair_sharing=True))
    at.queue("a", 4)
    at.queue("b", 0)
    at.running("b-1", "b", 2)
    at.running("b-2", "b", 2)
    at.waiting("asker")
    (victim,) = find_victims(at.world, at.ask("asker", "a", 2))
    assert (victim.workload.name, victim.variant) == ("b-2", Variant.HIERARCHICAL)


def test_without_the_gate_a_queue_within_its_nominal_quota_takes_back_by_shares_alone() -> None:
    gate = {"FairSharingPreemptWithinNominal": False}
    at = CohortWorld(SettingsObserved(fair_sharing=True, gates=gate))
    at.queue("a", 4)
    at.queue("b", 0)
    at.running("b-1", "b", 2)
    at.running("b-2", "b", 2)
    at.waiting("asker")
    (victim,) = find_victims(at.world, at.ask("asker", "a", 2))
    assert (victim.workload.name, victim.variant) == ("b-2", Variant.FAIR_SHARING)


def test_of_queues_that_borrow_as_much_as_each_other_that_one_gives_whose_victim_has_run_the_shortest() -> None:
    at = CohortWorld(SettingsObserved(fair_sharing=True))
    at.queue("a", 4)
    for number, name in enumerate("bc"):
        at.queue(name, 0)
        at.now = number * 1000
        at.running(f"{name}-1", name, 2)
    at.waiting("asker")
    (victim,) = find_victims(at.world, at.ask("asker", "a", 2))
    assert victim.workload.name == "c-1"
