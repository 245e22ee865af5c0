"""Who runs and who waits is what the read models, the lines and the cards say."""

import pytest

from ops.production.cards_view import card_views
from ops.queries.explaining import explain, world_at
from ops.queries.point import point_at
from ops.queries.standing import standings
from ops.sandbox.bench.day import played, small_day
from projections.explanation.read_models import workload_rows
from projections.world import World


@pytest.fixture(scope="module", params=[6, 20, 22])
def world(request: pytest.FixtureRequest) -> World:
    return world_at(point_at(played(small_day(request.param))[0], "+3h"))


def test_everybody_who_has_not_ended_is_there_as_the_read_models_say(world: World) -> None:
    told = {
        one.workload: (one.state, one.reason, one.since, one.cluster_queue) for one in standings(world, 0).workloads
    }
    rows = [row for row in workload_rows(world) if row.state != "finished"]
    assert told == {row.key: (row.state, row.reason, row.since, row.cluster_queue) for row in rows}


def test_whose_cards_they_are_is_what_the_cards_say(world: World) -> None:
    slices = [(part.workload, card.card, card.node) for card in card_views(world) for part in card.slices]
    found = standings(world, 0)
    for one in found.workloads:
        cards = {card for workload, card, _ in slices if workload == one.workload}
        if one.nodes:
            assert one.cards == len(cards)
            assert set(one.nodes) == {node for workload, _, node in slices if workload == one.workload}
        else:
            assert not cards and one.cards > 0, "of who waits it is what is asked for"
    assert found.cards_held == len({card for _, card, _ in slices})


def test_places_in_line_are_those_that_an_explanation_tells(world: World) -> None:
    for one in standings(world, 0).workloads:
        if one.state == "pending" and one.position:
            told = explain(world, world.workloads[one.workload], 0, deep=False)
            assert told.line.position in (0, one.position)


def test_what_queues_hold_and_who_waits_adds_up(world: World) -> None:
    found = standings(world, 0)
    for queue in found.queues:
        own = [one for one in found.workloads if one.cluster_queue == queue.name]
        assert queue.reserved == sum(one.state not in ("pending", "inactive") for one in own)
