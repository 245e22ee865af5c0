"""A tree that moved is billed, and asked about at any point, as on one log.

Rule: docs/rules/log.md#moved
"""

from ops.queries.answers import life_of
from ops.queries.billing.reading import ledger_of
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from projections.billing.entries.entry import LineKind
from tests.services.runtime.partition.test_forks import ABOVE, moved


async def test_a_bill_goes_over_the_move_as_over_one_log() -> None:
    ledger, _ = ledger_of((await moved()).entries)
    used = [one for one in ledger.entries if one.kind is LineKind.USAGE]
    assert sorted(one.holder.workload for one in used) == ["other/j", "team/a", "team/b"], "each has its cards once"
    assert {one.began.partition for one in used} == {"LOG_0"}
    assert [one.holder.workload for one in used if one.ended is not None] == ["team/a"], "the others go on over it"
    (later,) = (one for one in ledger.entries if one.holder.workload == "team/c")
    assert later.ended is not None and later.ended.partition == "LOG_1" and later.ended.sequence > ABOVE


async def test_a_point_before_the_move_shows_the_tree_where_it_was_and_one_behind_it_takes_number_and_sequence() -> (
    None
):
    entries = (await moved()).entries
    before = world_at(point_at(entries, "LOG_0/3"))
    assert set(before.homes.values()) == {"LOG_0"} and not before.forks
    behind = [point_at(entries, f"LOG_1/{number}") for number in (2, ABOVE + 2)]
    assert behind[0] == behind[1]
    assert set(world_at(behind[0]).workloads) >= {"other/j", "team/a", "team/b", "team/c"}


async def test_the_history_of_a_workload_goes_over_the_move() -> None:
    lines = life_of("workload/team/c", point_at((await moved()).entries))
    places = [(one.partition, one.sequence) for one in lines if one.partition.startswith("LOG")]
    assert {name for name, _ in places} == {"LOG_0", "LOG_1"} and places == sorted(places)
