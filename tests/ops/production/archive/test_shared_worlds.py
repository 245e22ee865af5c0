"""What a commit names of the world behind it is what anybody folds there; who starts anew begins there and decides the same."""

import asyncio
from typing import cast

from events.catalogue import Fact
from events.codec import decode_commit
from events.quota import NamespaceObserved
from events.subjects import FACTS
from ops.production.archive.history import read_everything
from ops.production.log import snapshots
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.memory import MemoryBus
from ops.production.log.snapshots import image_hash
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.queries.replay import fold_partition
from ops.sandbox.bench.partitions import WrittenPartitions
from projections.state_hash import state_hash
from services.runtime.cluster_port import Reader, Writer
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold
from tests.services.runtime.partition.test_host import NoCluster, admitted, stop, tell
from tests.stories.small_world import job, platform

OFTEN = -8
"""With the half of 20 workloads on top: at nearly every commit."""
DECIDERS = ("queue-manager", "admitter", "preemptor", "accountant")


async def played(bus: MemoryBus, shelf: MemoryShelf, first: int, count: int) -> None:
    """Services serve until so many more jobs are admitted, and stop."""
    nobody = NoCluster()
    ports = Ports(bus=bus, reader=cast(Reader, nobody), writer=cast(Writer, nobody), clock=ScaledClock(), shelf=shelf)
    services = Running(ports, DECIDERS, snapshots_every=OFTEN, let_in_ahead=1000)
    task = asyncio.create_task(services.run())
    for number in range(first, first + count):
        await tell(bus, [job(f"j{number}", memory=1000, cores=5)], begin=1000 + number)
        # One after the other, so that each partition has commits enough to name its world at.
        await asyncio.wait_for(admitted(bus, number + 1), 60)
    await stop(task)


async def test_a_commit_names_the_world_that_anybody_folds_there() -> None:
    bus, shelf = MemoryBus(), MemoryShelf()
    await tell(bus, cast(list[Fact], platform(nominal=60, cards=8)))
    await played(bus, shelf, 0, 20)
    entries = await read_everything(bus)
    for partition in (PARTITION, DEVICE_PARTITION):
        named = {entry.sequence: one for entry in entries[partition] if (one := decode_commit(entry.data).state_hash)}
        assert named, f"{partition} names none"
        for sequence, digest in named.items():
            fold = PartitionFold(partition)
            for name in entries.keys() - {partition, "CONTROL"}:
                fold.offer(name, entries[name])
            for entry in entries[partition][:sequence]:
                commit = fold.decode(entry)
                assert commit is not None
                fold.fold_commit(entry, commit)
            assert image_hash(fold) == digest, f"{partition} {sequence}"


async def test_who_starts_anew_begins_at_a_shared_world_and_comes_to_the_same() -> None:
    bus, shelf = MemoryBus(), MemoryShelf()
    await tell(bus, cast(list[Fact], platform(nominal=60, cards=8)))
    await played(bus, shelf, 0, 20)
    begun = await snapshots.Snapshots(None, (await shelf.labels(PARTITION))[0].rules, shelf).load(bus.memory(PARTITION))
    assert begun.base > 0
    await played(bus, shelf, 20, 20)
    entries = await read_everything(bus)
    for partition in (PARTITION, DEVICE_PARTITION):
        fold, replayed = fold_partition(partition, entries, verify=True)
        assert replayed.differences == ()
        if partition == PARTITION:
            again, _ = fold_partition(partition, entries, start=begun)
            assert state_hash(again.world) == state_hash(fold.world)


def test_a_partition_that_says_nothing_is_saved_after_many_inputs_so_that_these_can_be_rolled() -> None:
    saved = snapshots.Snapshots(None, "1", MemoryShelf())
    log: list[Entry] = []
    partitions = WrittenPartitions(log.append)
    partitions.observe(NamespaceObserved(name="a"), 0)
    fold = PartitionFold(DEVICE_PARTITION)
    assert saved.mark(fold) == ""
    for number in range(snapshots.EVERY * 10):
        partitions.observe(NamespaceObserved(name="a", labels={"n": str(number)}), 0)
    fold.offer(FACTS, log[:-2])
    fold.fold_inputs()
    assert saved.mark(fold) == ""
    fold.offer(FACTS, log[-2:])
    fold.fold_inputs()
    assert saved.mark(fold) == image_hash(fold)
