"""What a commit names of the world behind it is what anybody folds there; who starts anew begins there and decides the same."""

import asyncio
import hashlib
from typing import cast

from events.catalogue import Fact
from events.codec import decode_commit
from events.quota import NamespaceObserved
from events.subjects import FACTS
from ops.production.log import snapshots
from ops.production.log.history import read_everything
from ops.production.log.memory import MemoryBus
from ops.production.log.shelf import MemoryShelf
from ops.production.log.snapshots import image_of
from ops.production.process.clock import ScaledClock
from ops.production.wiring import DEVICE_LANE, LANE, Ports, Running
from ops.queries.replay import fold_lane
from ops.sandbox.bench.lanes import WrittenLanes
from projections.state_hash import state_hash
from services.runtime.cluster_port import Reader, Writer
from services.runtime.lane_fold import LaneFold
from services.runtime.log_port import Entry
from tests.services.runtime.test_lane_host import NoCluster, admitted, stop, tell
from tests.stories.small_world import job, platform

OFTEN = -8
"""With the half of 20 workloads on top: at nearly every commit."""
DECIDERS = ("queue-manager", "admitter", "preemptor", "accountant")


async def played(bus: MemoryBus, shelf: MemoryShelf, first: int, count: int) -> None:
    """Services serve until so many more jobs are admitted, and stop."""
    nobody = NoCluster()
    ports = Ports(bus=bus, reader=cast(Reader, nobody), writer=cast(Writer, nobody), clock=ScaledClock(), shelf=shelf)
    services = Running(ports, DECIDERS, snapshots_every=OFTEN)
    task = asyncio.create_task(services.run())
    for number in range(first, first + count):
        await tell(bus, [job(f"j{number}", memory=1000, cores=5)], begin=1000 + number)
        # One after the other, so that each lane has commits enough to name its world at.
        await asyncio.wait_for(admitted(bus, number + 1), 60)
    await stop(task)


async def test_a_commit_names_the_world_that_anybody_folds_there() -> None:
    bus, shelf = MemoryBus(), MemoryShelf()
    await tell(bus, cast(list[Fact], platform(nominal=60, cards=8)))
    await played(bus, shelf, 0, 20)
    entries = await read_everything(bus)
    for lane in (LANE, DEVICE_LANE):
        named = {entry.sequence: one for entry in entries[lane] if (one := decode_commit(entry.data).state_hash)}
        assert named, f"{lane} names none"
        for sequence, digest in named.items():
            fold = LaneFold(lane)
            for name in entries.keys() - {lane, "CONTROL"}:
                fold.offer(name, entries[name])
            for entry in entries[lane][:sequence]:
                commit = fold.decode(entry)
                assert commit is not None
                fold.fold_commit(entry, commit)
            assert hashlib.sha256(image_of(fold)).hexdigest() == digest, f"{lane} {sequence}"


async def test_who_starts_anew_begins_at_a_shared_world_and_comes_to_the_same() -> None:
    bus, shelf = MemoryBus(), MemoryShelf()
    await tell(bus, cast(list[Fact], platform(nominal=60, cards=8)))
    await played(bus, shelf, 0, 20)
    begun = await snapshots.Snapshots(None, (await shelf.labels(LANE))[0].rules, shelf).load(bus.memory(LANE))
    assert begun.base > 0
    await played(bus, shelf, 20, 20)
    entries = await read_everything(bus)
    for lane in (LANE, DEVICE_LANE):
        fold, replayed = fold_lane(lane, entries, verify=True)
        assert replayed.differences == ()
        if lane == LANE:
            again, _ = fold_lane(lane, entries, start=begun)
            assert state_hash(again.world) == state_hash(fold.world)


def test_a_lane_that_says_nothing_is_saved_after_many_inputs_so_that_these_can_be_rolled() -> None:
    saved = snapshots.Snapshots(None, "1", MemoryShelf())
    log: list[Entry] = []
    lanes = WrittenLanes(log.append)
    lanes.tell(NamespaceObserved(name="a"), 0)
    fold = LaneFold(DEVICE_LANE)
    assert saved.mark(fold) == ""
    for number in range(snapshots.EVERY * 10):
        lanes.tell(NamespaceObserved(name="a", labels={"n": str(number)}), 0)
    fold.offer(FACTS, log[:-2])
    fold.fold_inputs()
    assert saved.mark(fold) == ""
    fold.offer(FACTS, log[-2:])
    fold.fold_inputs()
    assert saved.mark(fold) == hashlib.sha256(image_of(fold)).hexdigest()
