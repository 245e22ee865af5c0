"""A snapshot saves time and nothing else: what is not surely right is passed over, and the fold begins at zero."""

import asyncio
import os
import random
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from events.admission import WorkloadAdmitted
from events.codec import encode
from events.commit import Commit, InputRun, Sighting
from events.quota import StopPolicy
from events.subjects import FACTS, fact_subject
from ops.production.log.memory import MemoryBus, MemoryStream
from ops.production.log.snapshots import Snapshots
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold
from tests.stories.small_world import Story, job, platform, queue, story


def test_a_world_that_is_taken_apart_and_put_together_again_is_the_same() -> None:
    for told in (story(), Story().told(*platform(), job("a"), job("giant", memory=60000))):
        told.decided()
        assert state_hash(world_of(tables_of(told.world))) == state_hash(told.world)


def test_who_goes_on_from_a_snapshot_looks_at_whoever_waits_when_their_queue_takes_them_in_again() -> None:
    told = Story(unchecked=True).told(*platform(), replace(queue("cq", nominal=8), stop=StopPolicy.HOLD), job("a"))
    told.decided()
    told.world = world_of(tables_of(told.world))
    told.decided()
    told.told(queue("cq", nominal=8))
    assert [one.workload for one in told.decided() if isinstance(one, WorkloadAdmitted)] == ["team/a"]


async def folded() -> tuple[PartitionFold, MemoryStream]:
    """A partition with one commit on a few facts."""
    stream = MemoryBus().memory("LOG_0")
    told = Story().told(*platform(), job("a"))
    facts = [*platform(), job("a")]
    commit = Commit(
        id="c1",
        prev_hash="0" * 64,
        partition="LOG_0",
        base=0,
        inputs=(InputRun(stream=FACTS, upto=len(facts)),),
        author="queue-manager",
        epoch=0,
        rules="1",
        at=5000,
        events=tuple(told.deciders[0].decide(told.world, LogPosition(partition="LOG_0", sequence=1, at=5000))),
    )
    await stream.append("kuelog.log.0.queue-manager", encode(commit), message_id="c1", base=0)
    fold = PartitionFold("LOG_0")
    fold.offer(
        FACTS,
        [
            Entry(
                stream=FACTS,
                sequence=i + 1,
                subject=fact_subject("", type(fact).__name__),
                message_id=str(i),
                data=encode(Sighting(id=str(i), at=1000 + i, author="watcher", fact=fact)),
            )
            for i, fact in enumerate(facts)
        ],
    )
    fold.fold_commit(await stream.get(1), commit)
    return fold, stream


async def test_a_snapshot_brings_the_fold_back_to_where_it_was_taken(tmp_path: Path) -> None:
    fold, stream = await folded()
    Snapshots(tmp_path, "1").take(fold)
    again = await Snapshots(tmp_path, "1").load(stream)
    assert (again.base, again.prev_hash, again.settled) == (1, fold.prev_hash, fold.settled)
    assert state_hash(again.world) == state_hash(fold.world)


async def test_a_snapshot_names_its_partition_as_those_before_it_did(tmp_path: Path) -> None:
    fold, _ = await folded()
    Snapshots(tmp_path, "1").take(fold)
    stored = msgspec.json.decode((tmp_path / "LOG_0.json").read_bytes())
    assert stored["lane"] == "LOG_0" and "partition" not in stored


@pytest.mark.parametrize(
    "harm", ["other rules", "broken bytes", "another log", "a shorter log", "strange tables", "changed content"]
)
async def test_a_snapshot_that_is_not_surely_right_is_passed_over(harm: str, tmp_path: Path) -> None:
    fold, stream = await folded()
    Snapshots(tmp_path, "1").take(fold)
    path, rules = tmp_path / "LOG_0.json", "1"
    match harm:
        case "other rules":
            rules = "2"
        case "broken bytes":
            path.write_bytes(path.read_bytes()[:-20])
        case "another log":
            stream.truncate(0)
            await stream.append("kuelog.log.0.queue-manager", b"{}", message_id="other", base=0)
        case "a shorter log":
            stream.truncate(0)
        case "strange tables":
            path.write_bytes(path.read_bytes().replace(b'"pods":{', b'"pods":5,"others":{'))
        case _:
            path.write_bytes(path.read_bytes().replace(b'"priority":0', b'"priority":7').replace(b"team/a", b"team/b"))
    again = await Snapshots(tmp_path, rules).load(stream)
    assert (again.base, again.world.workloads) == (0, {})


async def test_a_snapshot_of_which_any_bit_was_flipped_is_passed_over(tmp_path: Path) -> None:
    fold, stream = await folded()
    Snapshots(tmp_path, "1").take(fold)
    path, chance = tmp_path / "LOG_0.json", random.Random(20261130)
    whole = path.read_bytes()
    settled, at = whole.index(b'"settled"') + len(b'"settled":{"FACTS":'), whole.index(b'"at":') + len(b'"at":')
    for place in (settled, at, *(chance.randrange(len(whole) - 80) for _ in range(300))):
        harmed = bytearray(whole)
        harmed[place] ^= 1
        path.write_bytes(bytes(harmed))
        assert (await Snapshots(tmp_path, "1").load(stream)).base == 0, harmed[place - 30 : place + 30]


@pytest.mark.parametrize(
    ("old", "new"), [(b'"workloads":{', b'"workloadr":{'), (b'"waiting":{"team/a":[1,', b'"waiting":{"team/a":[0.0,')]
)
async def test_a_snapshot_of_before_there_were_seals_counts_unless_its_tables_contradict_each_other(
    old: bytes, new: bytes, tmp_path: Path
) -> None:
    fold, stream = await folded()
    Snapshots(tmp_path, "1").take(fold)
    path = tmp_path / "LOG_0.json"
    bare = path.read_bytes().rpartition(b',"seal"')[0] + b"}"
    path.write_bytes(bare)
    assert (await Snapshots(tmp_path, "1").load(stream)).base == 1
    path.write_bytes(bare.replace(old, new))
    assert path.read_bytes() != bare and (await Snapshots(tmp_path, "1").load(stream)).base == 0


async def test_a_place_of_snapshots_that_can_not_be_used_is_told_and_used_once_it_can(tmp_path: Path) -> None:
    fold, stream = await folded()
    place = tmp_path / "snapshots"
    place.write_bytes(b"a file in its place")
    saved = Snapshots(place, "1", every=0)
    assert (await saved.load(stream)).base == 0, "without them the fold begins at zero"
    saved.settled(fold)
    assert saved.problem == f"no snapshot can be written in {place}: File exists"
    place.unlink()
    fold.base += 1
    saved.settled(fold)
    fold.base -= 1
    assert saved.problem == "" and [one.name for one in place.iterdir()] == ["LOG_0.json"]


def test_who_may_not_enter_a_place_of_snapshots_begins_without(tmp_path: Path) -> None:
    place = tmp_path / "snapshots"
    place.mkdir(mode=0)
    child = os.fork()
    if not child:
        code = 1
        try:
            if not os.getuid():
                os.setuid(65534)
            code = asyncio.run(Snapshots(place, "1").load(MemoryBus().memory("LOG_0"))).base
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
