"""The list of workloads: what is kept of it between two answers never shows."""

from collections import Counter
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from events.subjects import CONTROL
from ops.console.views import query_of
from ops.console.workload_list import SORTS, FollowedRows, WorkloadList, WorkloadQuery
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_up
from ops.sandbox.bench.day import played, small_day
from projections.explanation.read_models import WorkloadRow, workload_row, workload_rows
from projections.workloads.lifecycle import Workload
from projections.workloads.stops import Stops
from projections.world import World
from services.runtime.partition.fold import PartitionFold


def rows() -> list[WorkloadRow]:
    return workload_rows(fold_up(PARTITION, played(small_day(12))[0]).world)


@pytest.mark.parametrize("sort", [*SORTS, *(f"-{sort}" for sort in SORTS)])
@pytest.mark.parametrize("wanted", [{}, {"state": "finished"}, {"text": "W1"}, {"queue": "queue-0", "text": "day"}])
def test_a_list_holds_what_is_wanted_in_the_order_that_is_wanted(sort: str, wanted: dict[str, str]) -> None:
    every = rows()
    answer = WorkloadList(every).answer(query_of({**wanted, "sort": sort, "offset": "1", "limit": "5"}))
    name, down = sort.removeprefix("-"), sort.startswith("-")
    named = [row for row in every if wanted.get("queue", row.cluster_queue) == row.cluster_queue]
    named = [
        row
        for row in named
        if wanted.get("text", "").lower() in f"{row.key} {row.job} {row.queue} {row.reason}".lower()
    ]
    found = [row for row in named if wanted.get("state", row.state) == row.state]
    found.sort(key=lambda row: row.key, reverse=down and name == "key")
    found.sort(key=lambda row: (row.state, row.reason) if name == "state" else getattr(row, name), reverse=down)
    assert [one["key"] for one in answer["workloads"]] == [row.key for row in found][1:6]
    assert (answer["total"], answer["found"]) == (len(every), len(found))
    assert answer["states"] == dict(sorted(Counter(row.state for row in named).items()))


def test_a_list_that_follows_what_changes_answers_as_one_that_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.console.workload_list.MOST_KEPT", 20)
    chance, every = Random(5), {row.key: row for row in rows()}
    followed, states = WorkloadList(every.values()), sorted({row.state for row in every.values()})
    some = WorkloadQuery(namespaces=frozenset({"day", "night"}), cluster_queue="queue-0")
    for turn in range(400):
        changed = dict[str, WorkloadRow | None]()
        for _ in range(40 if turn % 50 == 49 else chance.randrange(3)):
            key, old = f"{chance.choice(('day', 'night'))}/w{chance.randrange(90)}", chance.choice(rows_of(every))
            gone = chance.random() < 0.2
            changed[key] = None if gone else replace(old, key=key, state=chance.choice(states), since=turn % 7)
        followed.change(changed)
        every = {key: row for key, row in {**every, **changed}.items() if row is not None}
        anew = WorkloadList(every.values())
        for _ in range(3):
            query = chance.choice((WorkloadQuery(), some, WorkloadQuery(text="w1"), WorkloadQuery(state=states[0])))
            query = replace(query, sort=chance.choice(SORTS), descending=chance.random() < 0.5)
            assert followed.answer(query) == anew.answer(query)
        assert followed.longest_waiting(None, 5) == anew.longest_waiting(None, 5)
        assert (len(followed), followed.namespaces()) == (len(every), anew.namespaces())


def rows_of(every: dict[str, WorkloadRow]) -> list[WorkloadRow]:
    return list(every.values())


def test_rows_that_are_followed_are_those_that_would_be_made_anew_at_every_commit_and_before_it() -> None:
    seen, followed = set[str](), list[FollowedRows]()

    def compare(fold: PartitionFold) -> None:
        if not followed:
            followed.append(FollowedRows(fold.world))
        expected = [msgspec.to_builtins(row) for row in workload_rows(fold.world)]
        answer = followed[0].followed().answer(WorkloadQuery(limit=len(expected) + 1))
        assert answer["workloads"] == expected
        seen.update(row["key"] for row in expected)

    log = played(small_day(12))[0]
    fold = PartitionFold(PARTITION)
    for name, entries in log.items():
        if name not in (PARTITION, CONTROL):
            fold.offer(name, entries)
    chance, gone = Random(7), 0
    for entry in log[PARTITION]:
        commit = fold.decode(entry)
        assert commit is not None
        # What no commit has fixed yet is folded as well, looked at, and taken back when the commit comes.
        fold.fold_inputs(chance.randrange(5))
        compare(fold)
        fold.fold_commit(entry, commit)
        compare(fold)
        gone = max(gone, len(seen) - len(fold.world.workloads))
    assert gone, "no workload went away on the day that was played"


def test_what_changes_costs_the_rows_that_it_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    world = fold_up(PARTITION, played(small_day(12))[0]).world
    followed, made = FollowedRows(world), list[str]()

    def noted(world: World, workload: Workload) -> WorkloadRow:
        made.append(workload.key)
        return workload_row(world, workload)

    monkeypatch.setattr("ops.console.workload_list.workload_row", noted)
    assert len(followed.followed()) == len(world.workloads) == len(made)
    made.clear()
    first = min(world.workloads)
    world.put_workload(replace(world.workloads[first], stops=Stops(preempted_count=7)))
    followed.followed()
    followed.followed()
    assert made == [first]
