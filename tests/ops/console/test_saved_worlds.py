"""The console begins where services have saved the world, shows the same as if it had folded all of the log, and keeps the past."""

import asyncio
from pathlib import Path

import pytest

from events.rules import RULES
from events.subjects import CONTROL, FACTS
from ops.console.live import Live
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.generations import NOT_THERE, asked
from ops.production.log.jetstream.shelf import STREAM, MemoryShelf
from ops.production.log.snapshots import Snapshots
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.visibility.server import follower
from ops.queries.replay import fold_up
from ops.queries.whatif.run import VirtualRun
from ops.sandbox.bench.day import BEGINS, small_day
from ops.sandbox.bench.partitions import WrittenPartitions
from projections.state_hash import state_hash
from services.runtime.log_port import Entry
from services.runtime.own_task import stopped
from tests.ops.console.served import PATIENCE_S, middle, served

OFTEN = 10
"""A world is named after so many commits, and half as many as there are workloads."""


async def day_with_saved_worlds() -> tuple[dict[str, list[Entry]], MemoryShelf]:
    """The log of a day on which worlds were saved, and where they lie."""
    shelf = MemoryShelf()
    saved, day = Snapshots(None, RULES, shelf, every=OFTEN), small_day(12)
    log: dict[str, list[Entry]] = {name: [] for name in (CONTROL, FACTS, PARTITION, DEVICE_PARTITION)}
    stage = WrittenPartitions(lambda entry: log[entry.stream].append(entry), mark=saved.mark, keepers=[saved.settled])
    for fact in day.platform:
        stage.observe(fact, BEGINS)
    VirtualRun(stage, day.course, day.happenings, at=BEGINS, step=1).run()
    await saved.share()
    return log, shelf


async def test_a_console_begins_at_a_saved_world_and_shows_what_the_whole_log_says_now_and_before_it(
    tmp_path: Path,
) -> None:
    log, shelf = await day_with_saved_worlds()
    label = max(await shelf.labels(PARTITION), key=lambda one: one.upto[PARTITION])
    assert 0 < label.upto[PARTITION] < len(log[PARTITION])

    async def prepare(bus: JetStreamBus) -> None:
        await bus.shelf.prepare()
        await bus.shelf.put(PARTITION, [label.data], upto=label.upto, rules=label.rules)

    async with served(tmp_path, log=log, prepare=prepare) as console:
        begins = await follower(console.bus).begin(await console.bus.stream(PARTITION))
        assert begins.base == label.upto[PARTITION]
        printed = await console.printed("replay", "--show", "workloads")
        assert (await console.answer("workloads"))["data"]["workloads"] == printed["workloads"]
        assert (await console.answer("queues"))["data"]["queues"] == (
            (await console.printed("replay", "--show", "queues"))["queues"]
        )
        at = middle(log)
        before = await console.printed("replay", "--until", at, "--show", "workloads")
        assert (await console.answer(f"workloads?at={at}"))["data"]["workloads"] == before["workloads"]


@pytest.mark.parametrize("saved", [True, False])
async def test_who_only_looks_folds_the_same_with_a_saved_world_and_without_and_makes_no_place_for_any(
    tmp_path: Path, saved: bool
) -> None:
    log, shelf = await day_with_saved_worlds()
    async with served(tmp_path, log=log) as console:
        if saved:
            label = (await shelf.labels(PARTITION))[0]
            await console.bus.shelf.prepare()
            await console.bus.shelf.put(PARTITION, [label.data], upto=label.upto, rules=label.rules)
        running = follower(console.bus)
        live, following = Live(running), asyncio.create_task(running.run())
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not live.ready:  # noqa: ASYNC110 - it says when it is asked
                    await asyncio.sleep(0.05)
            host = running.hosts[PARTITION]
            assert state_hash(host.fold.world) == state_hash(fold_up(PARTITION, log).world)
        finally:
            await stopped(following)
        if not saved:
            found = await asked(console.bus.client, f"STREAM.INFO.{STREAM}", {})
            assert found["error"]["err_code"] == NOT_THERE
