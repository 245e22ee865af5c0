"""Which streams a log has stands on its CONTROL stream, and every reader of the log goes over just these."""

import ast
from pathlib import Path

import pytest

from events.codec import encode
from events.commit import Commit
from events.control import LogPartitioned
from events.hash_chain import GENESIS, bytes_hash
from events.subjects import CONTROL, FACTS, commit_subject
from ops.cli.questions.replay import ReplayOptions, replayed
from ops.production.archive.history import read_everything
from ops.production.log.control import say
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import SOLE, LogStreams, SeveralPartitions, streams_in, streams_on
from ops.queries.log_places import LogPlaces, log_answer
from ops.queries.point import NotOnTheLog, point_at
from ops.queries.quarantine import halting
from ops.terminal.console import terminal
from projections.world import World
from services.runtime.control_log import Control

OPS = Path(__file__).parents[4] / "ops"
BOTH = ("LOG_0", "LOG_1")


async def partitioned(bus: MemoryBus, partitions: int = 2) -> None:
    await say(await bus.stream(CONTROL), LogPartitioned(partitions=partitions), 1)


async def silent_commit(bus: MemoryBus, name: str, *, follows: bool = True) -> None:
    """A commit without events, behind all that a partition holds or behind something else."""
    held = bus.memory(name).entries
    before = bytes_hash(held[-1].data) if held else GENESIS
    commit = Commit(
        id=f"{name}-{len(held)}",
        prev_hash=before if follows else "f" * 64,
        partition=name,
        base=len(held),
        inputs=(),
        author="admitter",
        epoch=0,
        rules="1",
        at=len(held) + 1,
        events=(),
    )
    await bus.memory(name).append(
        commit_subject(name, "admitter"), encode(commit), message_id=commit.id, base=len(held)
    )


async def test_a_log_that_says_nothing_of_partitions_has_one() -> None:
    bus = MemoryBus()
    assert await streams_on(bus) == SOLE == streams_in({})
    assert SOLE.every == ("CONTROL", "FACTS", "LOG_0", "DEVICES_default")
    assert SOLE.sole == "LOG_0"


async def test_partitions_become_more_and_never_fewer() -> None:
    bus = MemoryBus()
    await partitioned(bus, 3)
    await partitioned(bus, 2)
    found = await streams_on(bus)
    assert found.trees == ("LOG_0", "LOG_1", "LOG_2")
    assert streams_in(await read_everything(bus)) == found


def test_a_partition_of_trees_rests_on_cards_and_that_of_cards_on_all_trees() -> None:
    streams = LogStreams(trees=BOTH)
    assert streams.inputs("LOG_1") == ("DEVICES_default", FACTS)
    assert streams.inputs("DEVICES_default") == (FACTS, *BOTH)


async def test_all_partitions_are_read_replayed_and_listed() -> None:
    bus = MemoryBus()
    await partitioned(bus)
    for name in BOTH:
        await silent_commit(bus, name)
    entries = await read_everything(bus)
    assert tuple(entries) == (CONTROL, FACTS, *BOTH, "DEVICES_default")
    results, _ = replayed(point_at(entries), ReplayOptions(verify=True), terminal(stderr=True))
    assert [(one.partition, one.commits) for one in results] == [("LOG_0", 1), ("LOG_1", 1), ("DEVICES_default", 0)]
    inputs = {
        (one["partition"], one["stream"])
        for one in log_answer(entries, World(), LogPlaces(Control(entries[CONTROL])))["inputs"]
    }
    assert {("LOG_1", "DEVICES_default"), ("DEVICES_default", "LOG_1")} <= inputs


async def test_what_halts_any_partition_is_found() -> None:
    bus = MemoryBus()
    await partitioned(bus)
    await silent_commit(bus, "LOG_1", follows=False)
    entries = await read_everything(bus)
    assert halting(entries) == {("LOG_1", 1)}


async def test_a_question_of_one_world_is_refused_where_there_are_several() -> None:
    bus = MemoryBus()
    await partitioned(bus)
    await silent_commit(bus, "LOG_1")
    entries = await read_everything(bus)
    with pytest.raises(SeveralPartitions, match="LOG_0, LOG_1"):
        streams_in(entries).sole  # noqa: B018 - asked for what it raises
    with pytest.raises(NotOnTheLog, match="1 names no partition: write LOG_0/1 or LOG_1/1"):
        point_at(entries, "1")
    assert point_at(entries, "LOG_1/1").upto["LOG_1"] == 1


def test_no_reader_names_a_partition_itself() -> None:
    names = {"PARTITION", "DEVICE_PARTITION"}
    found = [
        str(path.relative_to(OPS))
        for path in OPS.rglob("*.py")
        if path.name != "streams.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and names & {one.name for one in node.names}
    ]
    assert not found
