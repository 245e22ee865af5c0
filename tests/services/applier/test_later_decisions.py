"""Who reads the log late finds out that what it is about to write was overtaken.

Rule: docs/rules/log.md#overtaken
"""

import pytest

from events.codec import encode
from events.commit import Commit
from events.control import ForkedFrom, LogPartitioned, Quarantined
from events.hash_chain import bytes_hash
from events.subjects import CONTROL, commit_subject
from events.workload import WorkloadQueued
from ops.production.log.control import say
from ops.production.log.memory import MemoryBus
from services.applier.decisions import Decisions
from services.applier.later_decisions import is_overtaken
from services.applier.plan import Application
from services.runtime.control_log import Control
from services.runtime.partition.errors import MessageNotOurs
from tests.stories.small_world import Story, job, platform

PARTITION = "LOG_0"


async def store(bus: MemoryBus, partition: str, *workloads: str) -> None:
    stream = bus.memory(partition)
    for base, workload in enumerate(workloads):
        commit = Commit(
            id=f"c{base}",
            prev_hash="",
            partition=partition,
            base=base,
            inputs=(),
            author="queue-manager",
            epoch=0,
            rules="1",
            at=base,
            events=(WorkloadQueued(workload=workload, cluster_queue="cq"),),
        )
        await stream.append(
            commit_subject(partition, "queue-manager"), encode(commit), message_id=f"{partition}{base}", base=base
        )


async def log_of(*workloads: str) -> Decisions:
    bus = MemoryBus()
    await store(bus, PARTITION, *workloads)
    return Decisions(bus.memory(PARTITION), Control(), bus.stream)


async def test_a_later_commit_about_a_workload_overtakes_what_is_about_to_be_written_and_one_about_others_does_not() -> (
    None
):
    story = Story()
    story.told(*platform(), job("a"))
    written = Application(workload="team/a", partition=PARTITION, sequence=2, of=story.world.workloads["team/a"])
    assert not await is_overtaken(written, await log_of("team/a", "team/a", "team/b"))
    assert await is_overtaken(written, await log_of("team/a", "team/a", "team/b", "team/a"))


async def test_who_reads_late_finds_what_a_fork_has_decided_since_of_which_he_has_not_heard_yet() -> None:
    story = Story()
    story.told(*platform(), job("a"))
    written = Application(workload="team/a", partition=PARTITION, sequence=2, of=story.world.workloads["team/a"])
    bus, known = MemoryBus(), Control()
    await say(await bus.stream(CONTROL), LogPartitioned(partitions=2), 1)
    known.take(bus.memory(CONTROL).entries)
    await store(bus, PARTITION, "team/a", "team/a", "team/b")
    forks = (ForkedFrom(partition=2, origin=0, above=1000),)
    await say(await bus.stream(CONTROL), LogPartitioned(partitions=3, forks=forks), 2)
    decisions = Decisions(bus.memory(PARTITION), known, bus.stream)
    assert not await is_overtaken(written, decisions)
    await store(bus, "LOG_1", "team/a")
    assert not await is_overtaken(written, decisions), "what is no fork of it decides about others"
    await store(bus, "LOG_2", "team/b", "team/a")
    assert await is_overtaken(written, decisions)


async def test_what_was_skipped_on_record_and_what_is_not_its_authors_to_say_overtakes_nothing() -> None:
    story = Story()
    story.told(*platform(), job("a"))
    written = Application(workload="team/a", partition=PARTITION, sequence=2, of=story.world.workloads["team/a"])
    bus, known = MemoryBus(), Control()
    await store(bus, PARTITION, "team/a", "team/a")
    stream, decisions = bus.memory(PARTITION), Decisions(bus.memory(PARTITION), known, bus.stream)
    await stream.append("kuelog.log.0.queue-manager", b"{}", message_id="foreign", base=2)
    with pytest.raises(MessageNotOurs, match="LOG_0"):
        await is_overtaken(written, decisions)
    await say(await bus.stream(CONTROL), Quarantined(stream=PARTITION, sequence=3, reason="foreign"), 1)
    known.take(bus.memory(CONTROL).entries)
    assert not await is_overtaken(written, decisions)
    await stream.append("kuelog.log.0.accountant", stream.entries[1].data, message_id="forged", base=3)
    assert not await is_overtaken(written, decisions)


async def test_the_applier_of_a_fork_finds_a_decision_by_its_number_where_it_was_made() -> None:
    bus = MemoryBus()
    forks = (ForkedFrom(partition=2, origin=0, above=1000),)
    await say(await bus.stream(CONTROL), LogPartitioned(partitions=3, forks=forks), 2)
    await store(bus, PARTITION, "team/a", "team/a")
    await store(bus, "LOG_2", "team/b")
    decisions = Decisions(bus.memory("LOG_2"), Control(bus.memory(CONTROL).entries), bus.stream)
    for number, place in ((2, (PARTITION, 2)), (1001, ("LOG_2", 1))):
        entry = await decisions.get(number)
        assert (entry.stream, entry.sequence) == place
        assert await decisions.number_of(*place, bytes_hash(entry.data)) == number
    assert await decisions.number_of("LOG_1", 1, "") == 0
