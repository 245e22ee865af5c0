"""The classic search for victims against the definitions, and what must hold of whomever it finds."""

from events.admission import Mode
from projections.preemption.classic import charge, discharge, fits_now
from projections.preemption.oracle import how_room_is_made
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


def test_room_is_made_by_preempting_where_workloads_of_the_own_queue_go_and_else_by_reclaiming() -> None:
    modes = set[Mode]()
    for number, at in enumerate(situations(100)):
        before, victims = at.usage(), find_victims(at.world, at.context)
        found = how_room_is_made(at.world.trail, at.context, victims).mode
        own = at.context.queue.name in {one.node.name for one in victims}
        assert found is ((Mode.PREEMPT if own else Mode.RECLAIM) if victims else Mode.NO_CANDIDATES), number
        assert at.usage() == before, number
        modes.add(found)
    assert len(modes) == len((Mode.PREEMPT, Mode.RECLAIM, Mode.NO_CANDIDATES))
