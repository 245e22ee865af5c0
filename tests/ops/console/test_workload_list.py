"""The list of workloads: what is kept of it between two answers never shows."""

from collections import Counter

import pytest

from ops.console.views import query_of
from ops.console.workload_list import SORTS, KnownRows, WorkloadList
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_up
from ops.sandbox.bench.day import played, small_day
from projections.explanation.read_models import WorkloadRow, workload_rows
from services.runtime.partition_fold import PartitionFold


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


def test_rows_that_are_kept_are_those_that_would_be_made_anew_at_every_commit() -> None:
    known, seen = KnownRows(), list[int]()

    def compare(fold: PartitionFold) -> None:
        assert known.of(fold.world) == workload_rows(fold.world)
        seen.append(fold.base)

    world = fold_up(PARTITION, played(small_day(12))[0], settled=compare).world
    assert seen
    first = known.of(world)
    assert all(one is other for one, other in zip(first, known.of(world), strict=True))
