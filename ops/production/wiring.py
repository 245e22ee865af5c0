"""Settings to ports to services: the only place where the parts are put together."""

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from events.rules import RULES
from events.settings import SettingsObserved
from events.subjects import CONTROL, FACTS
from ops.production.archive.proof.handing_out import HandingOut
from ops.production.deciders import quota_deciders
from ops.production.foresight import Foresight
from ops.production.loaded_selectors import selectors_for
from ops.production.log.control import record_rate
from ops.production.log.jetstream.capacity import StreamFill
from ops.production.log.retrying_bus import RetryingBus
from ops.production.log.snapshots import EVERY, Snapshots
from ops.production.log.streams import SOLE, streams_known
from ops.production.own_leases import OwnLeases
from ops.production.ports import Archiving, Ports
from ops.production.process.clock import ScaledClock
from ops.production.process.span_tracer import SpanTracer
from ops.production.served import FOLLOWER, MULTIKUEUE, SERVICES, VERIFIER, check_served, service_name
from ops.production.verification import RunningVerification
from ops.production.whole_world import WholeWorld
from ops.production.witnessing import Witnessing
from projections.world import World, hold_once
from services.accountant.decide import Accountant
from services.applier.decisions import Decisions
from services.applier.provisioning.provisioning_shell import ProvisioningWriter
from services.applier.queue_status.queue_status_shell import QueueStatusWriter
from services.applier.shell import Applier
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.multikueue.shell import RemoteClusters
from services.runtime.control_log import Control, read_control
from services.runtime.lease import Lease
from services.runtime.log_errors import LogRegressed, LogUnavailable
from services.runtime.log_port import Stream
from services.runtime.own_task import in_own_task
from services.runtime.partition.admission_window import SIZE, AdmissionWindow
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.halts import REGRESSED
from services.runtime.partition.host import PartitionHost
from services.runtime.partition.roles import Decider, Observer, Verifier
from services.runtime.tracing import Tracer
from services.watcher.shell import Watcher

log = structlog.get_logger()

_SAVED_EVERY_MS = 10_000
"""How often a replica that can't go on looks for a saved world at which it can begin."""


class BeginsAnew(Exception):
    """A partition has missed what is not stored any more, and a saved world lies behind it; or the log has more partitions by now."""


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
        tracer: Tracer | None = None,
        archivist: Archiving | None = None,
        handing_out: HandingOut | None = None,
        snapshots_every: int = EVERY,
        partitions: Sequence[str] = (),
        let_in_ahead: int = SIZE,
    ) -> None:
        """`let_in_ahead`: how many admissions of a partition may wait to be written however few were; any number where nobody writes."""
        self.ports, self.services = ports, tuple(services)
        self.watcher: Watcher | None = None
        self.appliers: dict[str, Applier] = {}
        """By partition, who writes to the cluster what was decided there."""
        self.hosts: dict[str, PartitionHost] = {}
        self.control = Control()
        """What is skipped, and what is wrong on the stream of control itself."""
        self.streams = SOLE
        """The streams of the log, as its CONTROL stream said when the services began."""
        self.verifications: dict[str, RunningVerification] = {}
        """By partition what was decided again here; empty where nothing is."""
        self.witnessing = None if witness is None else Witnessing(witness, ports.bus, ports.clock)
        """What the witness of this process finds; None without one."""
        self._whole, self._let_in_ahead = WholeWorld(), let_in_ahead
        self._bus = RetryingBus(ports.bus, ports.clock, ports.connections)
        self._settings, self._replica = settings, replica or f"{socket.gethostname()}-{os.getpid()}"
        self.leases = OwnLeases(ports.leases, self._replica, lambda: not self.is_cut_off)
        self._tracer = tracer or SpanTracer(service_name(services), self._replica)
        self._served = tuple(partitions)
        """The partitions that are folded here; all of them when empty."""
        self.archivist, self.handing_out = archivist, handing_out or HandingOut(Path(), ())
        self._snapshots = Snapshots(witness and witness / "snapshots", RULES, ports.shelf, every=snapshots_every)

    async def run(self) -> None:
        """Serve until cancelled; a partition that has missed messages which are rolled away begins anew from a saved world."""
        while True:
            try:
                return await in_own_task(self._serve())
            except* BeginsAnew as found:
                log.warning("begins anew", problem=str(found.exceptions[0]))

    async def _serve(self) -> None:
        bus, clock = self._bus, self.ports.clock
        facts = await bus.stream(FACTS)
        control = await self._heed_control()
        if self.witnessing is not None:
            await self.witnessing.check(self.streams, bus)
        await self._prepare_shelf()
        await self._record_clock(control)
        await self.leases.prepare()
        async with asyncio.TaskGroup() as tasks:
            listed: asyncio.Event | None = None
            if "watcher" in self.services:
                self.watcher = Watcher(
                    self.ports.reader,
                    facts,
                    clock,
                    settings=self._settings,
                    shelf=self.ports.shelf,
                    control=self.control,
                    tracer=self._tracer,
                    lease=self.leases.on_watching(tasks),
                    selectors=selectors_for(self._settings),
                )
                listed = self.watcher.listed
                tasks.create_task(self.watcher.run())
            tasks.create_task(self._snapshots.run())
            again = {name: one.fold for name, one in self.verifications.items()}
            self.appliers.clear()
            await self._host_trees(facts, listed, again, tasks)
            for name in self._serves(self.streams.pools):
                accountants = [Accountant()] if "accountant" in self.services else []
                if accountants or again:
                    self.hosts[name] = await self._host(name, accountants, [], listed, again.get(name), tasks)
            if self.ports.leases is not None:
                tasks.create_task(self.leases.share(self.ports.leases))
            if self.ports.reach is not None:
                tasks.create_task(self.ports.reach.run())
            hold_once({name: host.fold.world for name, host in self.hosts.items()})
            for host in self.hosts.values():
                tasks.create_task(host.run())
                tasks.create_task(self._begin_anew(host))
            if (witnessing := self.witnessing) is not None:
                tasks.create_task(witnessing.run(self.streams, self.hosts))
                tasks.create_task(self.handing_out.run(clock))
                if self.archivist is not None:
                    tasks.create_task(self.archivist.run(clock, lambda: not witnessing.regressed))
            tasks.create_task(self._follow_control(control))

    async def _host_trees(
        self, facts: Stream, listed: asyncio.Event | None, again: Mapping[str, Verifier], tasks: asyncio.TaskGroup
    ) -> None:
        """A host for each partition of trees in which anything is decided, written, decided again or looked at here."""
        ports, spare, remote = self.ports, LowPriorityWrites(self.ports.clock), None
        if ports.connector is not None and MULTIKUEUE in self.services:
            remote = RemoteClusters(ports.writer, ports.connector, facts, ports.clock)
        for name in self._serves(self.streams.trees):
            deciders = [one for one in quota_deciders() if one.name in self.services]
            observers = await self._observers(name, facts, spare, tasks) if "applier" in self.services else []
            writing = self.leases.on_writing(name, self.services, tasks) if observers or remote is not None else None
            observers += [remote.lane(name, writing)] if remote is not None else []
            if deciders or observers or again or FOLLOWER in self.services:
                window, verifier = AdmissionWindow(self._let_in_ahead), again.get(name)
                self.hosts[name] = await self._host(name, deciders, observers, listed, verifier, tasks, window, writing)
        if remote is not None:
            tasks.create_task(remote.run())

    def _serves(self, partitions: Sequence[str]) -> list[str]:
        return [name for name in partitions if not self._served or name in self._served]

    async def _observers(
        self, partition: str, facts: Stream, spare: LowPriorityWrites, tasks: asyncio.TaskGroup
    ) -> list[Observer]:
        """Those that write to the cluster what was decided in a partition."""
        clock, writer = self.ports.clock, self.ports.writer
        decided = Decisions(await self._bus.stream(partition), self.control, self._bus.stream)
        seen = self.watcher.job if self.watcher is not None else lambda _: None
        applier = Applier(writer, facts, clock, partition, spare, self._tracer, seen, decided)
        self.appliers[partition] = applier
        statuses, asking = QueueStatusWriter(writer, clock, spare), ProvisioningWriter(writer, facts, clock, spare)
        for one in (found := (applier, statuses, asking, Foresight(writer, clock))):
            tasks.create_task(one.run())
        return [one.observe for one in found]

    async def _host(
        self,
        name: str,
        deciders: Sequence[Decider],
        observers: Sequence[Observer],
        listed: asyncio.Event | None,
        verifier: Verifier | None,
        tasks: asyncio.TaskGroup,
        window: AdmissionWindow | None = None,
        writing: Lease | None = None,
    ) -> PartitionHost:
        own = await self._bus.stream(name)
        return PartitionHost(
            own=own,
            inputs=[await self._bus.stream(one) for one in self.streams.inputs(name)],
            deciders=deciders,
            clock=self.ports.clock,
            tracer=self._tracer,
            rules=RULES,
            replica=self._replica,
            observers=observers,
            fold=await self.begin(own),
            keepers=[self._snapshots.settled],
            mark=self._snapshots.mark,
            window=window,
            deciding=self.leases.on_deciding(name, deciders, tasks),
            writing=writing,
            listed=listed,
            verifier=verifier,
            routed=len(self.streams.trees) > 1 and name in self.streams.trees,
            origins=[await self._bus.stream(one) for one in self.control.lineage(name)[:-1]],
        )

    async def _heed_control(self) -> Stream:
        """Know which streams there are and what is skipped before anything else is decoded."""
        stream = await self._bus.stream(CONTROL)
        await read_control(stream, self.control)
        self.streams = streams_known(self.control)
        check_served(self.streams, self._served)
        if VERIFIER in self.services:
            self.verifications = {
                name: self.verifications.get(name) or RunningVerification(name) for name in self.streams.partitions
            }
        return stream

    async def _record_clock(self, control: Stream) -> None:
        """Have the clock on record if it is not the wall's."""
        clock = self.ports.clock
        if isinstance(clock, ScaledClock) and clock.scale > 1:
            rate, since = round(clock.scale * 1000), clock.began
            await self._bus.until_answered(
                CONTROL, "record the clock", lambda: record_rate(control, self.control, rate, since)
            )

    async def _follow_control(self, control: Stream) -> None:
        """What is skipped from now on lifts what it had halted."""
        try:
            async for batch in control.follow(self.control.position):
                self.control.take(batch)
                if streams_known(self.control) != self.streams:
                    raise BeginsAnew(f"the log has {self.control.partitions} partitions by now")
                for host in self.hosts.values():
                    host.nudge()
                if self.watcher is not None:
                    self.watcher.nudge()
        except LogRegressed as problem:
            for host in self.hosts.values():
                host.stop_deciding(str(problem), REGRESSED)

    def world_of_cards(self) -> World | None:
        """What this process has folded about cards; None if it runs no service that folds."""
        host = next((self.hosts[name] for name in (self.streams.pool, *self.streams.trees) if name in self.hosts), None)
        return host.fold.world if host is not None else None

    def hosts_of_trees(self) -> list[PartitionHost]:
        """The hosts of the partitions that are folded here and in which queues and workloads are decided."""
        return [self.hosts[name] for name in self.streams.trees if name in self.hosts]

    def world_of_queues(self) -> World | None:
        """What this process has folded about queues; None if it runs no service that decides about them."""
        return self._whole.of([host.fold for host in self.hosts_of_trees() if not host.fold.heirs])

    async def filled(self) -> list[StreamFill]:
        """How full the streams of the log are; nothing when the bus can't say, or not now."""
        try:
            async with asyncio.timeout(_FILLED_S):
                return [] if self.ports.filled is None else await self.ports.filled(self.streams.witnessed)
        except (LogUnavailable, TimeoutError):
            return []

    def problems(self) -> list[str]:
        """What is amiss with the bus and with the disk of the witness; empty when nothing is."""
        found = [
            *self._bus.problems.values(),
            *self.ports.unreadable(),
            *([self.witnessing.regressed, self.witnessing.problem] if self.witnessing is not None else []),
            self._snapshots.problem,
        ]
        return list(dict.fromkeys(filter(None, found)))

    @property
    def is_cut_off(self) -> bool:
        """Whether the cluster can't be reached from here, as far as anybody looks."""
        return self.ports.reach is not None and self.ports.reach.away

    def trace_of(self, uid: str) -> str:
        """The id of the trace of a workload where this process exports it, else empty."""
        return self._tracer.trace_of(uid)

    @property
    def given_back(self) -> dict[str, int]:
        """By stream, how many messages that the bus had lost were stored in it again from here."""
        return self._bus.given_back

    @property
    def asked_once(self) -> Mapping[str, Stream]:
        """By name, the streams opened so far, for who does without an answer when the bus is away."""
        return self._bus.asked_once

    def known(self, stream: str) -> int:
        """The last sequence of a stream that was read or stored from here."""
        return self._bus.known(stream)

    def disk_full(self) -> bool:
        """Whether the bus says that its disk is full."""
        return self._bus.disk_full

    async def quiet(self) -> None:
        """Return when everything that was seen so far has been decided."""
        for host in list(self.hosts.values()):  # More may begin meanwhile.
            await host.quiet.wait()

    async def stream(self, name: str) -> Stream:
        """A stream of the log, for who reads along with the services."""
        return await self._bus.stream(name)

    async def begin(self, stream: Stream) -> PartitionFold:
        """Where a partition's fold begins: at a good snapshot, or at zero."""
        return await self._snapshots.begin(self._bus, stream, self.control)

    async def _begin_anew(self, host: PartitionHost) -> None:
        """End this run when a saved world lies behind what the partition has missed. Raises `BeginsAnew`."""
        missed = await host.missed.get()
        while True:
            fold = await self.begin(host.own)
            if fold.reaches(missed.stream, missed.found - 1):
                raise BeginsAnew(str(missed))
            await self.ports.clock.sleep(_SAVED_EVERY_MS)

    async def _prepare_shelf(self) -> None:
        if self.ports.shelf is not None and self.services != (FOLLOWER,):
            try:
                await self.ports.shelf.prepare()
            except LogUnavailable as problem:
                log.warning("no saved worlds are shared", problem=str(problem))


_FILLED_S = 2.0
