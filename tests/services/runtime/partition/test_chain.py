"""A partition's fold follows one chain: what does not hang on the commit before is folded by nobody."""

import asyncio
from typing import Any, cast

import pytest

from events.codec import encode
from events.commit import Commit, InputRun
from events.hash_chain import GENESIS, bytes_hash
from events.quota import NamespaceObserved
from events.rules import RULES
from ops.production.archive.history import read_everything
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_partition
from services.admitter.decide import Admitter
from services.queue_manager.decide import QueueManager
from services.runtime.log_errors import LogUnavailable
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


class AwayOnce:
    """A stream whose bus is away when something is appended for the first time."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self.away = stream, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def append(self, *words: Any, **named: Any) -> int:
        if self.away:
            self.away = False
            raise LogUnavailable(stream="LOG_0", problem="away")
        return await self._stream.append(*words, **named)


async def test_what_was_decided_while_the_bus_went_away_is_taken_back_and_decided_again() -> None:
    bus = MemoryBus()
    await tell(bus, [*without_cards(9), job("a")])
    one = await host(bus, QueueManager(), Admitter())
    one.own = cast(Any, AwayOnce(one.own))
    task = asyncio.create_task(one.run())
    assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
    await stop(task)
    _, replayed = fold_partition(PARTITION, await read_everything(bus), verify=True)
    assert replayed.differences == ()
