"""The classic search for victims against the definitions, and what must hold of whomever it finds."""

from projections.preemption.classic import charge, discharge, fits_now
from projections.preemption.victims import find_victims
from tests.projections.preemption.classic_by_definition import ClassicByDefinition
from tests.projections.preemption.holding_world import situations


def test_the_victims_are_those_that_the_definitions_name_in_that_order_and_by_that_right() -> None:
    for number, at in enumerate(situations(500)):
        wanted = ClassicByDefinition(at.tree, at.holders, at.asker).victims()
        found = find_victims(at.world, at.context)
        assert [(one.workload.name, one.variant) for one in found] == [
            (one.holder.workload.name, one.variant) for one in wanted
        ], number


def test_victims_make_enough_room_none_is_one_too_many_and_the_search_leaves_the_tree_as_it_was() -> None:
    for number, at in enumerate(situations(200)):
        before = at.usage()
        victims = find_victims(at.world, at.context)
        assert at.usage() == before, number
        if not victims:
            continue
        for one in victims:
            discharge(at.world.trail, one)
        node, usage = at.context.node, at.context.usage
        assert fits_now(node, usage, borrowing=True), number
        within = fits_now(node, usage, borrowing=False)
        for one in victims:
            charge(at.world.trail, one.node, one.usage)
            assert not fits_now(node, usage, borrowing=not within), number
            discharge(at.world.trail, one)
