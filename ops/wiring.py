"""Settings to ports to services: the only place where the parts are put together."""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from events.codec import decode_commit
from events.control import Quarantined
from events.settings import SettingsObserved
from events.subjects import CONTROL, FACTS, decisions_stream, devices_stream
from ops.log.snapshots import Snapshots
from ops.telemetry import SpanTracer
from ops.witness import HeadWitness
from projections.world import World
from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.applier.provisioning_shell import ProvisioningWriter
from services.applier.queue_status_shell import QueueStatusWriter
from services.applier.shell import Applier
from services.applier.spare_time import SpareTime
from services.clock_port import Clock
from services.cluster_port import Reader, Writer
from services.lane_fold import LaneFold
from services.lane_host import Decider, LaneHost
from services.log_errors import LogGap, LogRegressed, LogUnavailable
from services.log_port import Bus, Stream
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager
from services.watcher.shell import Watcher

log = structlog.get_logger()

RULES = "1"
"""The version of the decision code; a log says under which its decisions were made."""
PARTITION, POOL = "0", "default"
LANE, DEVICE_LANE = decisions_stream(PARTITION), devices_stream(POOL)
SERVICES = ("watcher", "queue-manager", "admitter", "preemptor", "accountant", "applier")
WITNESSED = (LANE, DEVICE_LANE, FACTS, CONTROL)
WITNESS_EVERY_MS = 5_000

_DECIDERS: dict[str, Callable[[], Decider]] = {
    "queue-manager": QueueManager,
    "admitter": Admitter,
    "preemptor": Preemptor,
}


class Ports(msgspec.Struct, kw_only=True):
    """The world outside, as services see it."""

    bus: Bus
    reader: Reader
    writer: Writer
    clock: Clock


class Running:
    """Some services, or all, in this process."""

    def __init__(
        self,
        ports: Ports,
        services: Sequence[str] = SERVICES,
        *,
        settings: SettingsObserved | None = None,
        witness: Path | None = None,
        replica: str = "",
    ) -> None:
        self.ports, self.services = ports, tuple(services)
        self.watcher: Watcher | None = None
        self.hosts: dict[str, LaneHost] = {}
        self.regressed = ""
        self._settings, self._replica = settings, replica or f"{socket.gethostname()}-{os.getpid()}"
        self._witness = HeadWitness(witness) if witness is not None else None
        self._snapshots = Snapshots(witness / "snapshots", RULES) if witness is not None else None

    async def run(self) -> None:
        """Serve until cancelled."""
        bus, clock = self.ports.bus, self.ports.clock
        facts = await bus.stream(FACTS)
        lane, devices = await bus.stream(LANE), await bus.stream(DEVICE_LANE)
        await self._check()
        tracer = SpanTracer()
        async with asyncio.TaskGroup() as tasks:
            deciders = [make() for name, make in _DECIDERS.items() if name in self.services]
            observers: list[Callable[..., None]] = []
            if "applier" in self.services:
                spare = SpareTime(clock)
                applier = Applier(self.ports.writer, facts, clock, LANE, spare)
                observers.append(applier.observe)
                tasks.create_task(applier.run())
                statuses = QueueStatusWriter(self.ports.writer, clock, spare)
                observers.append(statuses.observe)
                tasks.create_task(statuses.run())
                asking = ProvisioningWriter(self.ports.writer, facts, clock, spare)
                observers.append(asking.observe)
                tasks.create_task(asking.run())
            keepers = [self._snapshots.settled] if self._snapshots is not None else []
            if deciders or observers or "visibility" in self.services:
                self.hosts[LANE] = LaneHost(
                    own=lane,
                    inputs=[devices, facts],
                    deciders=deciders,
                    clock=clock,
                    tracer=tracer,
                    rules=RULES,
                    replica=self._replica,
                    observers=observers,
                    fold=await self._begin(lane),
                    keepers=keepers,
                )
            if "accountant" in self.services:
                self.hosts[DEVICE_LANE] = LaneHost(
                    own=devices,
                    inputs=[facts, lane],
                    deciders=[Accountant()],
                    clock=clock,
                    tracer=tracer,
                    rules=RULES,
                    replica=self._replica,
                    fold=await self._begin(devices),
                    keepers=keepers,
                )
            for host in self.hosts.values():
                tasks.create_task(host.run())
            if "watcher" in self.services:
                self.watcher = Watcher(self.ports.reader, facts, clock, settings=self._settings)
                tasks.create_task(self.watcher.run())
            if self._witness is not None:
                tasks.create_task(self._keep_witness())
            tasks.create_task(self._follow_control(await bus.stream(CONTROL)))

    async def _follow_control(self, control: Stream) -> None:
        """Messages that an operator has quarantined are skipped by every fold."""
        async for batch in control.follow(0):
            for entry in batch:
                for event in decode_commit(entry.data).events:
                    if isinstance(event, Quarantined):
                        for host in self.hosts.values():
                            host.fold.quarantined.add((event.stream, event.sequence))
                            host.nudge()

    def world_of_cards(self) -> World | None:
        """What this process has folded about cards; None if it runs no service that folds."""
        host = self.hosts.get(DEVICE_LANE) or self.hosts.get(LANE)
        return host.fold.world if host is not None else None

    async def quiet(self) -> None:
        """Return when everything that was seen so far has been decided."""
        for host in self.hosts.values():
            await host.quiet.wait()

    async def _begin(self, stream: Stream) -> LaneFold:
        """Where a lane's fold begins: at a good snapshot, or at zero."""
        return LaneFold(stream.name) if self._snapshots is None else await self._snapshots.load(stream)

    async def _check(self) -> None:
        if self._witness is None:
            return
        for name in WITNESSED:
            await self._witness.check(await self.ports.bus.stream(name))

    async def _keep_witness(self) -> None:
        """Compare and take note, every so often; on a mismatch nothing is decided any more."""
        try:
            while True:
                try:
                    await self._take_note()
                except LogRegressed as problem:
                    self.regressed = str(problem)
                    log.error("log regressed", problem=self.regressed)
                    for host in self.hosts.values():
                        host.stop_deciding(self.regressed)
                except LogUnavailable as problem:
                    log.warning("log unavailable", problem=str(problem))
                await self.ports.clock.sleep(WITNESS_EVERY_MS)
        finally:
            # What was decided since the last time is worth a proof too; but an end must not wait for a bus that is gone.
            with suppress(LogRegressed, LogUnavailable, LogGap, TimeoutError):
                async with asyncio.timeout(_LAST_NOTE_S):
                    await self._take_note()

    async def _take_note(self) -> None:
        if self._witness is None:
            return
        for name in WITNESSED:
            stream = await self.ports.bus.stream(name)
            await self._witness.check(stream)
            await self._witness.witness(stream)


async def stopped(task: "asyncio.Task[None]") -> None:
    """Cancel the services and wait for their end, but not for ever.

    Before Python 3.12 a client's `wait_for` can swallow a cancellation; the event loop's own end then gets it out.
    """
    task.cancel()
    await asyncio.wait({task}, timeout=_PATIENCE_S)


_PATIENCE_S = 5.0
_LAST_NOTE_S = 2.0
