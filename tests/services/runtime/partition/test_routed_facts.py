"""What is for other partitions alone: a partition goes past it without reading it, and folds in the same order as who reads everything."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import pytest
from msgspec.structs import replace

from events.catalogue import Fact
from events.codec import decode_commit, encode
from events.commit import InputRun, Sighting
from events.partition_map import PartitionMapObserved, TreePlacement
from events.quota import LocalQueueObserved
from events.subjects import CONTROL, FACTS
from events.workload import PodsReady
from ops.production.log.memory import MemoryBus
from ops.production.process.clock import ScaledClock
from ops.queries.replay import fold_up
from projections.amiss import AUTHOR
from projections.state_hash import state_hash
from services.queue_manager.decide import QueueManager
from services.runtime.fact_message import fact_message
from services.runtime.log_errors import TailLost
from services.runtime.log_port import Entry, Stream
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.host import PartitionHost
from services.runtime.partition.roles import Decider
from services.runtime.tracing import NoTracer
from tests.services.runtime.partition.test_fold_order import FIRST, commit, run
from tests.stories.small_world import job, platform, queue

PLACED = PartitionMapObserved(
    partitions=2,
    placements=(TreePlacement(tree="queue/cq", partition=0), TreePlacement(tree="queue/b", partition=1)),
)
CLUSTER: tuple[Fact, ...] = (
    PLACED,
    *platform(),
    queue("b", nominal=8),
    LocalQueueObserved(namespace="other", name="lq-b", cluster_queue="b"),
)
OTHERS = replace(job("j", queue="lq-b"), workload="other/j")
DEVICES = "DEVICES_default"


def stored(*facts: Fact | tuple[str, Fact]) -> list[Entry]:
    """Facts as they stand on the log, some of them for one partition."""
    found: list[Entry] = []
    for number, one in enumerate(facts, start=1):
        to, fact = one if isinstance(one, tuple) else ("", one)
        sighting = Sighting(id=f"f{number}", at=1000 + number, author="watcher", fact=fact)
        message = fact_message(sighting, to=to)
        found.append(
            Entry(
                stream=FACTS,
                sequence=number,
                subject=message.subject,
                message_id=message.message_id,
                data=message.data,
            )
        )
    return found


ALL = stored(*CLUSTER, OTHERS, job("a"), ("LOG_1", PodsReady(workload="other/j", ready=True)), ("LOG_0", job("b")))
END = len(ALL)


def folded(partition: str, entries: Sequence[Entry]) -> PartitionFold:
    fold = PartitionFold(partition)
    fold.offer(FACTS, entries)
    fold.fold_inputs()
    return fold


def test_a_fact_for_another_partition_is_gone_past_and_not_even_decoded() -> None:
    harmed = [*ALL]
    harmed[END - 2] = Entry(
        stream=FACTS, sequence=END - 1, subject=ALL[END - 2].subject, message_id="x", data=b"broken"
    )
    fold = folded("LOG_0", harmed)
    assert fold.position(FACTS) == END and sorted(fold.world.workloads) == ["team/a", "team/b"]
    assert fold.runs == (run(FACTS, END),)
    assert state_hash(fold.world) == state_hash(folded("LOG_0", ALL).world)


def test_who_has_not_read_what_is_for_others_folds_the_same_and_names_no_more_than_he_knows() -> None:
    live = PartitionFold("LOG_0")
    live.offer(FACTS, ALL[: END - 2])
    live.fold_inputs()
    assert live.runs == (run(FACTS, END - 2),)
    live.pass_over(FACTS, END - 1)
    live.fold_inputs()
    assert (live.runs, live.position(FACTS), live.received(FACTS)) == ((run(FACTS, END - 1),), END - 1, END - 1)
    live.offer(FACTS, ALL[END - 1 :])
    live.fold_inputs()
    assert state_hash(live.world) == state_hash(folded("LOG_0", ALL).world)


def test_what_is_named_of_facts_for_others_is_named_in_a_replay_too() -> None:
    entry, made = commit(0, "", FIRST, inputs=(run(FACTS, END - 1),), partition="LOG_0")
    for one in (PartitionFold("LOG_0"), folded("LOG_0", ALL)):
        one.offer(FACTS, ALL)
        one.rewind()
        one.fold_ahead(made.inputs)
        assert one.runs == made.inputs
    assert entry.sequence == 1


def test_a_commit_that_rests_on_facts_for_others_is_folded_once_they_are_gone_past() -> None:
    resting, _ = commit(0, "", FIRST, inputs=(run(FACTS, END - 1),), partition=DEVICES, author="accountant")
    fold = folded("LOG_0", ALL[: END - 2])
    fold.offer(DEVICES, [resting])
    assert fold.fold_inputs() is False and fold.position(DEVICES) == 0
    assert fold.awaited(FACTS) == END - 1
    fold.pass_over(FACTS, END - 1)
    fold.fold_inputs()
    assert fold.position(DEVICES) == 1 and fold.awaited(FACTS) == 0


def test_something_that_stands_where_nothing_was_halts_and_a_repetition_does_not() -> None:
    fold = folded("LOG_0", ALL[: END - 1])
    fold.pass_over(FACTS, END)
    fold.offer(FACTS, ALL[: END - 1])
    told = f"a message at sequence {END} that was not there when it was read up to {END}"
    with pytest.raises(TailLost, match=told) as lost:
        fold.offer(FACTS, ALL)
    assert (lost.value.stream, lost.value.witnessed, lost.value.found) == (FACTS, END, END - 1)
    assert str(lost.value.found) == str(END - 1)


@pytest.mark.parametrize("partition", ["LOG_1", DEVICES])
def test_a_fact_for_a_partition_that_does_not_decide_about_it_is_folded_by_nobody_and_stands_as_amiss(
    partition: str,
) -> None:
    fold = folded(partition, stored(*CLUSTER, job("a"), ("LOG_1", job("b"))))
    assert "team/b" not in fold.world.workloads and fold.position(FACTS) == len(CLUSTER) + 2
    [one] = fold.world.amiss.values()
    assert (
        one.what == AUTHOR and one.detail == "a WorkloadSubmitted is for LOG_1 alone, where its workload is not decided"
    )


def routed_host(own: Stream, inputs: list[Stream], *deciders: Decider) -> PartitionHost:
    """A host that reads of the facts only those that are for its partition."""
    return PartitionHost(
        own=own,
        inputs=inputs,
        deciders=deciders,
        clock=ScaledClock(),
        tracer=NoTracer(),
        rules="1",
        replica="a",
        routed=True,
    )


class Noted:
    """A stream that notes for whom it was read."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self.readers = stream, list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        self.readers.append(reader)
        return self._stream.follow(after, reader)


async def test_a_host_goes_on_over_facts_for_others_and_decides_the_same_as_on_all_of_them() -> None:
    bus = MemoryBus()
    facts = bus.memory(FACTS)
    for one in ALL:
        await facts.repeat(
            fact_message(Sighting(id="x", at=0, author="watcher", fact=OTHERS))._replace(
                subject=one.subject, data=one.data, message_id=one.message_id
            )
        )
    host = routed_host(await bus.stream("LOG_0"), [await bus.stream(DEVICES), facts], QueueManager())
    task = asyncio.create_task(host.run())
    await host.caught_up.wait()
    await host.quiet.wait()
    assert host.fold.position(FACTS) == END
    last = decode_commit(bus.memory("LOG_0").entries[-1].data)
    assert {one.workload for one in last.events if hasattr(one, "workload")} == {"team/a", "team/b"}  # pyright: ignore[reportAttributeAccessIssue]
    # A commit of cards that rests on a fact for another partition alone, which this one never reads.
    await facts.repeat(fact_message(Sighting(id="late", at=2000, author="watcher", fact=OTHERS), to="LOG_1"))
    resting, made = commit(
        0, "", FIRST, inputs=(InputRun(stream=FACTS, upto=END + 1),), partition=DEVICES, author="accountant"
    )
    await bus.memory(DEVICES).append(resting.subject, encode(made), message_id="d1", base=0)
    while host.fold.position(DEVICES) < 1:  # noqa: ASYNC110 - what is looked at is no event
        await asyncio.sleep(0)
    assert host.fold.position(FACTS) == END + 1 and not host.halted
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    entries = {name: list(stream.entries) for name, stream in bus.streams.items()}
    entries.setdefault(CONTROL, [])
    assert fold_up("LOG_0", entries).world.workloads == host.fold.world.workloads


async def test_a_host_has_caught_up_though_the_last_facts_on_the_log_are_for_others() -> None:
    bus = MemoryBus()
    facts = bus.memory(FACTS)
    for number in (1, 2):
        sighting = Sighting(id=f"f{number}", at=number, author="watcher", fact=OTHERS)
        await facts.repeat(fact_message(sighting, to="LOG_1"))
    host = routed_host(await bus.stream("LOG_0"), [await bus.stream(DEVICES), facts])
    task = asyncio.create_task(host.run())
    await asyncio.wait_for(host.caught_up.wait(), 30)
    assert host.fold.position(FACTS) == 2
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(("own", "other"), [("LOG_0", DEVICES), (DEVICES, "LOG_0")])
async def test_of_facts_alone_those_are_left_out_that_are_for_others(own: str, other: str) -> None:
    bus = MemoryBus()
    inputs = [Noted(await bus.stream(other)), Noted(await bus.stream(FACTS))]
    host = routed_host(await bus.stream(own), [cast(Any, one) for one in inputs])
    task = asyncio.create_task(host.run())
    await asyncio.wait_for(host.caught_up.wait(), 30)
    await asyncio.wait_for(host.quiet.wait(), 30)
    assert [one.readers for one in inputs] == [[""], [own]]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
