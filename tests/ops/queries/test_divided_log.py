"""A log whose trees are in several partitions answers like one of a single partition."""

from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from events.catalogue import AnyEvent
from events.codec import decode_commit
from events.partition_map import PartitionMapObserved, TreePlacement
from events.quota import FlavorObserved
from events.timestamp import format_timestamp
from ops.production.log.streams import streams_in
from ops.queries.answers import explained
from ops.queries.explaining import explain, world_about, world_at
from ops.queries.point import point_at
from ops.queries.replay import fold_up
from ops.queries.whatif.change import ForkChanges
from ops.queries.whatif.compare import compared
from ops.queries.whatif.fork import Fork
from ops.sandbox.bench.day import played, small_day
from projections.composed import composed
from tests.ops.console.served import Console, served
from tests.projections.partitions.test_homes import folded, with_door
from tests.stories.small_world import job, queue

ENTRIES, _ = played(small_day(7), partitions=4)
SOLE, _ = played(small_day(7))


@pytest.fixture
async def console(tmp_path: Path) -> AsyncGenerator[Console, None]:
    async with served(tmp_path, log=ENTRIES) as found:
        yield found


def test_every_workload_is_explained_as_if_there_were_one_partition() -> None:
    point, alone = point_at(ENTRIES), point_at(SOLE)
    one = world_at(alone)
    assert len(one.workloads) > 10
    for key in one.workloads:
        wanted = f"workload/{key}"
        found = explained(world_at(point, wanted), point, wanted)
        before = explained(one, alone, wanted)
        same = ("state", "since", "tier", "reason", "message", "line", "shortages", "raises", "ends", "fix")
        assert {name: found[name] for name in same} == {name: before[name] for name in same}, key


@pytest.mark.parametrize("name", ["LOG_0", "LOG_2", "LOG_3"])
def test_at_a_commit_the_other_partitions_stand_as_they_did_then(name: str) -> None:
    commit = ENTRIES[name][len(ENTRIES[name]) // 2]
    point = point_at(ENTRIES, f"{name}/{commit.sequence}")
    assert point.upto[name] == commit.sequence
    for other in streams_in(ENTRIES).trees:
        left = [one for one in ENTRIES[other] if one.sequence > point.upto[other]]
        assert other == name or all(decode_commit(one.data).at > point.at for one in left)
        for run in (run for one in point.entries[other] for run in decode_commit(one.data).inputs):
            assert run.upto <= point.upto[run.stream]


PARTITIONS = ("LOG_0", "LOG_1", "LOG_2")


def split() -> list[AnyEvent]:
    """Two queues that were asked while they were trees of their own, one cohort by now, and a job that waits."""
    placed = PartitionMapObserved(
        partitions=3,
        placements=(TreePlacement(tree="queue/a", partition=1), TreePlacement(tree="queue/b", partition=2)),
    )
    asked = [placed, FlavorObserved(name="v100"), *with_door("a"), *with_door("b"), job("j", queue="lq-a")]
    return [*asked, queue("a", nominal=8, cohort="both"), queue("b", nominal=8, cohort="both")]


def test_who_waits_in_a_tree_that_is_split_is_told_by_whom_and_what_to_do() -> None:
    stories = [folded(name, *split()) for name in PARTITIONS]
    for story in stories:
        story.decided()
    world = world_about([one.world for one in stories], "workload/team/j", 5000)
    found = explain(world, world.workloads["team/j"], 5000)
    assert (found.reason, found.message) == (
        "TreeSplit",
        "cohort/both is split: a in LOG_1, b in LOG_2 keep the partition in which they were first asked, and nobody is admitted",
    )
    assert "another cohort" in found.fix and "a new ClusterQueue" in found.fix


def test_a_queue_that_leaves_a_tree_that_is_split_makes_it_whole_and_one_that_is_new_joins_it() -> None:
    mended = [queue("b", nominal=8), *with_door("c", cohort="both"), job("k", queue="lq-c")]
    stories = {name: folded(name, *split(), *mended) for name in PARTITIONS}
    for story in stories.values():
        story.decided()
    admitted = {
        name: [key for key, one in story.world.workloads.items() if one.admitted] for name, story in stories.items()
    }
    assert admitted == {"LOG_0": [], "LOG_1": ["team/j", "team/k"], "LOG_2": []}


async def test_the_command_line_answers(console: Console) -> None:
    rows = (await console.printed("replay", "--show", "workloads"))["workloads"]
    assert {one["key"] for one in rows} == set(
        composed([fold_up(n, ENTRIES).world for n in streams_in(ENTRIES).trees]).workloads
    )
    assert (await console.printed("explain", "clusterqueue/queue-0"))["waiting"] == 6
    assert (await console.printed("explain", "job/day/w0"))["reason"] == "ExceedsMaxQuota"


async def test_what_if_comes_out_as_if_there_were_one_partition(console: Console) -> None:
    at, more = format_timestamp(point_at(ENTRIES, "LOG_3/9").at), "node/v100-0=1"
    asked = await console.printed("whatif", "--at", at, "--more", more)
    alone = compared(Fork(SOLE, at, ForkChanges((), (), (), (), (more,))), lambda _name, _done, _all: None)
    assert asked["workloads"] and asked["waits"] == msgspec.to_builtins(alone)["waits"]


async def test_the_console_answers_now_and_of_the_past(console: Console) -> None:
    now = (await console.answer("workloads"))["data"]
    assert now["total"] == 15
    assert (await console.answer("workloads/day/w0"))["data"]["explanation"]["reason"] == "ExceedsMaxQuota"
    then = (await console.answer("workloads?at=LOG_2/5"))["data"]
    assert 0 < then["total"] < now["total"]
    for page in ("overview", "queues", "cards", "log", "gantt"):
        assert (await console.answer(page))["data"]
