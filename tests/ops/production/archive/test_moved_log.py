"""A log of which a tree moves is archived, rolled, backed up at any point of the move, restored, billed and decided on.

Rule: docs/rules/log.md#moved
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec.structs import replace

from events.admission import QuotaReserved
from events.catalogue import Fact
from events.codec import decode_commit, decode_sighting
from events.commit import Sighting
from events.quota import LocalQueueObserved
from events.subjects import CONTROL, FACTS
from events.workload import WorkloadFinished
from ops.production.archive.backup import make_backup
from ops.production.archive.history import read_everything
from ops.production.archive.proof.evidence import load_evidence
from ops.production.archive.proof.witness import HeadWitness
from ops.production.archive.restore import restore_backup
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.control import say
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.generations import generations
from ops.production.log.jetstream.shelf import WATCHER
from ops.production.log.partitioning import carry_out, division_of, rolled_away
from ops.production.log.server.server import NatsServer
from ops.production.log.snapshots import names_world
from ops.production.log.streams import streams_on
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.queries.audit.verify import Auditor
from ops.queries.billing.answer import period_ledger
from ops.queries.billing.card_sums import plain_quota
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from ops.queries.replay import fold_partition
from ops.queries.time_travel import ends_of as last_of
from ops.queries.time_travel import span
from services.runtime.control_log import Control
from services.runtime.fact_message import fact_message
from services.runtime.log_port import Entry
from tests.ops.production.archive.test_archivist import Place
from tests.ops.queries.audit.logs import view_of
from tests.services.runtime.partition.test_forks import ABOVE, BESIDE, DECIDERS, FORK, MAP, ORDER, OTHERS
from tests.stories.small_world import job, platform, queue

STAGES = ("said", "ordered", "moved")
"""The fork stands on CONTROL; the order on FACTS as well; both decide. What was first is on the bus no more in any of them."""
_ENOUGH_TO_SAVE = 3


class Log:
    """A log on a real bus, with services that decide on it for a while."""

    def __init__(self, bus: JetStreamBus) -> None:
        self.bus, self.clock = bus, ScaledClock()

    async def tell(self, *facts: Fact, to: str = "") -> None:
        stream = await self.bus.stream(FACTS)
        for fact in facts:
            end = (await stream.last()).sequence
            sighting = Sighting(id=f"f{end + 1}", at=self.clock.now(), author="watcher", fact=fact)
            await stream.publish([fact_message(sighting, to=to)])

    @asynccontextmanager
    async def served(self, url: str) -> AsyncIterator[Running]:
        bus = await connect(url)
        absent = AbsentCluster()
        ports = Ports(bus=bus, reader=absent, writer=absent, clock=self.clock, shelf=bus.shelf)
        running = Running(ports, DECIDERS, replica="a", snapshots_every=0)
        task = asyncio.create_task(running.run())
        try:
            yield running
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await bus.close()


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not reached():  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0.02)


def admitted(running: Running, partition: str) -> dict[str, int]:
    """The workloads that hold quota in a partition that decides, with the numbers of the decisions."""
    host = running.hosts.get(partition)
    if host is None or host.fold.heirs:
        return {}
    world = host.fold.world
    holding = sorted(key for queue in world.cluster_queues for key in world.holders(queue))
    return {key: one.reservation for key in holding if (one := world.workloads[key].admission) is not None}


@asynccontextmanager
async def server_in(folder: Path) -> AsyncGenerator[tuple[JetStreamBus, str], None]:
    server = NatsServer(folder)
    await server.start()
    bus = await connect(server.url)
    await bus.shelf.prepare()
    try:
        yield bus, server.url
    finally:
        await bus.close()
        await server.stop()


async def roll(log: Log, place: Place, url: str, *before: Fact) -> None:
    """Have two trees decided on one partition until the beginning of all that it folds is rolled away."""
    await log.tell(*before, *platform(nominal=2), *BESIDE, job("a"), OTHERS, job("b"), job("c"))
    async with log.served(url) as running:
        await until(lambda: [*admitted(running, "LOG_0")] == ["other/j", "team/a", "team/b"])
        await running.quiet()
    await sign(log.bus, place.witness)
    await place.archivist.look(0)
    first = await ends_of(log.bus)
    async with log.served(url) as running:
        for number in range(_ENOUGH_TO_SAVE):
            last = f"other/j{number or ''}"
            await log.tell(replace(OTHERS, workload=f"other/j{number + 1}"))
            await log.tell(WorkloadFinished(workload=last, reason="Succeeded"))
            await until(lambda: f"other/j{number + 1}" in admitted(running, "LOG_0"))  # noqa: B023 - it is awaited here
        await running.quiet()
        async with asyncio.timeout(60):
            while not await saved_beyond(log.bus, first):  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0.02)
    ends = await ends_of(log.bus)
    view = view_of(await (await log.bus.stream(FACTS)).get(ends[FACTS]))
    await log.bus.shelf.put(WATCHER, [view], upto=ends, rules="1")
    await sign(log.bus, place.witness)
    await place.archivist.look(0)
    firsts = [(await generations(log.bus.client, name))[0].first for name in ("LOG_0", "DEVICES_default", FACTS)]
    assert min(firsts) > 1 and not place.archivist.problem, place.archivist.kept


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of each stage, by its name."""
    folder = tmp_path_factory.mktemp("moving")
    async with server_in(folder / "nats") as (bus, url):
        log, place = Log(bus), Place(bus, folder)

        async def keep(stage: str) -> None:
            await sign(bus, place.witness)
            await make_backup(bus, place.witness, str(place.archive), str(folder / stage))

        await roll(log, place, url, MAP)
        await say(await bus.stream(CONTROL), FORK, log.clock.now())
        await keep("said")
        await log.tell(ORDER)
        await keep("ordered")
        async with log.served(url) as running:
            await until(lambda: [*admitted(running, "LOG_1")] == ["team/a", "team/b"])
            await log.tell(WorkloadFinished(workload="team/a", reason="Succeeded"), to="LOG_0")
            await until(lambda: [*admitted(running, "LOG_1")] == ["team/b", "team/c"])
            await running.quiet()
        await keep("moved")
    return folder


async def ends_of(bus: JetStreamBus) -> dict[str, int]:
    return {name: (await (await bus.stream(name)).last()).sequence for name in (await streams_on(bus)).every}


async def saved_beyond(bus: JetStreamBus, ends: dict[str, int]) -> bool:
    """Whether both partitions have saved a world behind these ends, and named it on the log: one that is not named counts for nobody."""
    return all([await _named_beyond(bus, name, ends) for name in ("LOG_0", "DEVICES_default")])


async def _named_beyond(bus: JetStreamBus, partition: str, ends: dict[str, int]) -> bool:
    stream = await bus.stream(partition)
    return any(
        [
            await names_world(stream, one)
            for one in await bus.shelf.labels(partition)
            if all(one.upto.get(name, 0) > end for name, end in ends.items() if end and name != CONTROL)
        ]
    )


async def sign(bus: JetStreamBus, folder: Path) -> None:
    witness = HeadWitness(folder)
    for name in (await streams_on(bus)).every:
        await witness.check(await bus.stream(name))
        await witness.witness(await bus.stream(name))


async def place_again(bus: JetStreamBus, archive: str, at: int) -> bool:
    """Give the command by which the tree moves once more; whether that changes anything."""
    entries = await read_everything(bus, archive)
    control = Control(entries[CONTROL])
    world, ends = world_at(point_at(entries)), {name: len(found) for name, found in entries.items()}
    found = division_of(world, control.partitions, None, ["queue/cq=LOG_1"], control, ends=ends)
    if found.fresh:
        await carry_out(bus, found, at)
    return found.fresh


def held_in_tree(entries: dict[str, list[Entry]]) -> int:
    """For how long each workload of the tree that moves held its card, added up, in milliseconds."""
    begun: dict[str, int] = {}
    for name in ("LOG_0", "LOG_1"):
        for commit in (decode_commit(entry.data) for entry in entries[name]):
            for event in commit.events:
                if isinstance(event, QuotaReserved) and event.cluster_queue == "cq":
                    assert event.workload not in begun
                    begun[event.workload] = commit.at
    facts = [decode_sighting(entry.data) for entry in entries[FACTS]]
    ended = {one.fact.workload: one.at for one in facts if isinstance(one.fact, WorkloadFinished)}
    end = span(entries)[1]
    return sum(ended.get(key, end) - at for key, at in begun.items())


@pytest.mark.parametrize("stage", STAGES)
async def test_a_log_is_restored_as_it_was_amid_a_move_and_goes_on(stage: str, backups: Path, tmp_path: Path) -> None:
    witness, archive = tmp_path / "witness", tmp_path / "archive"
    async with server_in(tmp_path / "nats") as (bus, url):
        await restore_backup(str(backups / stage), bus, witness, str(archive))
        log = Log(bus)
        assert await place_again(bus, str(archive), log.clock.now()) is (stage == "said")
        async with log.served(url) as running:
            done, left = ("team/a", "team/b") if stage in ("said", "ordered") else ("team/b", "team/c")
            await until(lambda: {done, left} <= admitted(running, "LOG_1").keys())
            await log.tell(WorkloadFinished(workload=done, reason="Succeeded"), to="LOG_0")
            await log.tell(job("e"), to="LOG_1")
            await until(lambda: len(admitted(running, "LOG_1")) == 2 and done not in admitted(running, "LOG_1"))
            await running.quiet()
            assert all(number > ABOVE for key, number in admitted(running, "LOG_1").items() if key > "team/b")
            assert [*admitted(running, "LOG_0")] == [f"other/j{_ENOUGH_TO_SAVE}"]
        await sign(bus, witness)
        found = await read_everything(bus, str(archive))
        for name in ("LOG_0", "LOG_1", "DEVICES_default"):
            fold, replayed = fold_partition(name, found, verify=True)
            assert not replayed.is_wrong and replayed.differences == (), name
        report = Auditor(load_evidence(str(witness))).examine(found)
        assert report.findings == () and all(one.signed == one.messages for one in report.streams)
        (held,) = [
            one["unit_ms"]
            for one in plain_quota(period_ledger(found, "", "")[0])["held"]
            if (one["queue"], one["resource"]) == ("cq", "nvidia.com/gpu")
        ]
        assert held == held_in_tree(found)


async def test_a_log_that_was_rolled_grows_while_its_services_run_and_is_audited_and_decided_on(tmp_path: Path) -> None:
    async with server_in(tmp_path / "nats") as (bus, url):
        log, place = Log(bus), Place(bus, tmp_path)
        await roll(log, place, url, queue("new", nominal=2))
        entries = await read_everything(bus, str(place.archive))
        rolled = bool(await rolled_away(bus))
        world, ends = world_at(point_at(entries)), last_of(entries)
        found = division_of(world, 1, 3, ["queue/new=LOG_2"], ends=ends, rolled=rolled)
        new = replace(job("n", queue="lq-new"), workload="fresh/n")
        async with log.served(url) as running:
            await carry_out(bus, found, log.clock.now())
            await log.tell(LocalQueueObserved(namespace="fresh", name="lq-new", cluster_queue="new"), new)
            await until(lambda: [*admitted(running, "LOG_2")] == ["fresh/n"])
            assert [*admitted(running, "LOG_0")] == ["other/j3", "team/a", "team/b"] and not admitted(running, "LOG_1")
            await running.quiet()
        await sign(bus, place.witness)
        entries = await read_everything(bus, str(place.archive))
        assert not Auditor(load_evidence(str(place.witness))).examine(entries).findings
        for name in ("LOG_0", "LOG_1", "LOG_2", "DEVICES_default"):
            assert not fold_partition(name, entries, verify=True)[1].is_wrong
        async with log.served(url) as running:
            await until(lambda: [*admitted(running, "LOG_2")] == ["fresh/n"])
