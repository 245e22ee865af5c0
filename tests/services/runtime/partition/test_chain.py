"""A partition's fold follows one chain: what does not hang on the commit before is folded by nobody."""

import asyncio
from typing import Any, cast

import pytest

from events.codec import encode
from events.commit import Commit, InputRun
from events.hash_chain import GENESIS, bytes_hash
from events.quota import NamespaceObserved
from events.rules import RULES
from events.subjects import FACTS
from ops.production.archive.history import read_everything
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_partition
from projections.state_hash import state_hash
from services.admitter.decide import Admitter
from services.queue_manager.decide import QueueManager
from services.runtime.log_errors import LogUnavailable, TailLost
from services.runtime.log_port import Entry, Stream
from services.runtime.partition.errors import ChainBroken, InputsWrong
from services.runtime.partition.fold import PartitionFold
from tests.services.runtime.partition.test_host import admitted, host, stop, tell, without_cards
from tests.stories.small_world import job


def commit(base: int, prev_hash: str, *inputs: InputRun) -> Commit:
    return Commit(
        id=f"{base}",
        prev_hash=prev_hash,
        partition=PARTITION,
        base=base,
        inputs=inputs,
        author="queue-manager",
        epoch=0,
        rules=RULES,
        at=1000 + base,
        events=(NamespaceObserved(name=f"n{base}"),),
    )


def entry(sequence: int, value: Commit) -> Entry:
    return Entry(stream=PARTITION, sequence=sequence, subject="", message_id=value.id, data=encode(value))


def test_a_commit_that_names_another_hash_than_that_of_the_one_before_is_not_folded() -> None:
    fold = PartitionFold(PARTITION)
    first = commit(0, GENESIS)
    fold.settled_as_decided(1, encode(first), first)
    assert fold.prev_hash == bytes_hash(encode(first))
    with pytest.raises(ChainBroken):
        fold.fold_commit(entry(2, forged := commit(1, "0" * 64)), forged)
    assert (fold.base, fold.prev_hash) == (1, bytes_hash(encode(first)))


def test_a_commit_that_was_made_behind_another_one_is_not_folded() -> None:
    fold = PartitionFold(PARTITION)
    with pytest.raises(ChainBroken):
        fold.fold_commit(entry(2, late := commit(1, GENESIS)), late)


def test_inputs_never_go_back() -> None:
    fold = PartitionFold(PARTITION)
    first = commit(0, GENESIS, InputRun(stream="FACTS", upto=5))
    fold.settled_as_decided(1, encode(first), first)
    again = commit(1, fold.prev_hash, InputRun(stream="FACTS", upto=4))
    with pytest.raises(InputsWrong):
        fold.fold_commit(entry(2, again), again)


class FailsOnce:
    """A stream that takes nothing when something is appended for the first time."""

    def __init__(self, stream: Stream, problem: Exception) -> None:
        self._stream, self._problem = stream, iter((problem,))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def append(self, *words: Any, **named: Any) -> int:
        for problem in self._problem:
            raise problem
        return await self._stream.append(*words, **named)


async def test_what_was_decided_while_the_bus_went_away_is_taken_back_and_decided_again() -> None:
    bus = MemoryBus()
    await tell(bus, [*without_cards(9), job("a")])
    one = await host(bus, QueueManager(), Admitter())
    one.own = cast(Any, FailsOnce(one.own, LogUnavailable(stream="LOG_0", problem="away")))
    task = asyncio.create_task(one.run())
    assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
    await stop(task)
    _, replayed = fold_partition(PARTITION, await read_everything(bus), verify=True)
    assert replayed.differences == ()


async def test_who_finds_that_the_log_has_lost_its_tail_when_he_appends_takes_it_back_and_decides_no_more() -> None:
    bus = MemoryBus()
    await tell(bus, [*without_cards(9), job("a")])
    one = await host(bus, QueueManager(), Admitter())
    before = (await one.own.last()).sequence
    lost = TailLost(stream="LOG_0", read=9, found=7)
    one.own = cast(Any, FailsOnce(one.own, lost))
    task = asyncio.create_task(one.run())
    await asyncio.wait_for(one.stuck.wait(), 30)
    assert one.halted == str(lost)
    assert (one.fold.base, (await one.own.last()).sequence) == (before, before)
    fresh = PartitionFold(PARTITION)
    fresh.offer(FACTS, (await read_everything(bus))[FACTS])
    fresh.fold_inputs()
    assert state_hash(one.fold.world) == state_hash(fresh.world), "nothing of what was not stored stays folded"
    await stop(task)
