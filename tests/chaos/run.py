"""One run: services as processes on a real bus, a stream of jobs, kills in the order of a seed, and the laws afterwards.

A kill comes when the log has grown by as much as the seed says, so what is killed in the middle of which commit varies, and how
fast the machine is decides nothing; or every so many seconds whoever serves by then: only where many kills in a row let no job go on,
the next one waits until one does.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from statistics import median

import msgspec

from events.partition_map import TreePlacement
from events.settings import SettingsObserved
from ops.production.archive.archive import write_archive
from ops.production.archive.errors import LogDiffers
from ops.production.archive.history import read_everything
from ops.production.archive.proof.evidence import load_evidence
from ops.production.crds.definitions import manifests
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.generations import asked
from ops.production.log.partitioning import divide
from ops.production.log.retrying_bus import RetryingBus
from ops.production.log.server.cluster import NatsCluster
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import SOLE, streams_of
from ops.production.process.clock import ScaledClock
from ops.queries.audit.verify import Auditor
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.store import ObjectChange
from ops.sandbox.scenario.platform import convert, suspend
from ops.sandbox.simulate.laws import Aftermath, broken_laws, has_ended, unsettled
from services.runtime.log_errors import LogGap, LogRegressed, LogUnavailable
from services.runtime.log_port import Entry
from tests.chaos.platform import job, objects, trees
from tests.chaos.storm import Storm
from tests.stage.held_by_all import is_held_by_all
from tests.stage.older_version import OlderServiceProcess
from tests.stage.processes import Order, ServiceProcess

SCALE = 20.0
SLOTS = tuple(
    f"{service}-{twin}"
    for service in ("queue-manager", "admitter", "preemptor", "accountant", "watcher", "applier")
    for twin in "ab"
)
ARCHIVE = "archive"
"""Where in its folder a run lays the log down whose laws were broken."""
_WITNESSES = ("watcher-a", "applier-a")
BUS = "bus"
_ROOM = 256 << 20
_STILL_S = 300.0
"""So long the log may stand still, with work to do, before it is told as a halt; long, for a busy machine is none."""
_CALM_S = 5.0
"""Laws are asked when the log has not grown for so long: what is not at rest would break them, and asking takes a while."""
_AGAIN_S = 0.5
_TOLD_EVERY = 250
"""After so many jobs a line says how far a run is."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is to be."""

    seed: int
    kills: int
    jobs: int = 0
    """So many at least; they come for as long as there is somebody to kill."""
    servers: int = 1
    """Of the bus."""
    victims: tuple[str, ...] = (*SLOTS, BUS, BUS)
    commits: int = 12
    """Between two kills the log grows by so much at most."""
    at_once: int = 30
    """So many jobs have not ended at a time."""
    rolling: bool = False
    """Whether every service and every server of the bus is upgraded once, in turn: before anybody is killed, or amid the jobs."""
    older: str = ""
    """The code of an older version, a folder, whose services begin and are upgraded; as this one's where none is named."""
    storm: bool = False
    """Whether API server and bus are reached through proxies that refuse, delay and cut."""
    partitions: int = 1
    """Into which the log is divided; as many trees share the jobs."""
    hosts: int = 3
    """Of each tree: with more of them more jobs run at a time, and the kills come amid more of them."""
    every_s: float = 0.0
    """Somebody is killed every so many seconds until all jobs have ended, in place of so many kills."""
    stays_s: int | None = None
    """So many seconds of the cluster's after its end a job is removed, as in clusters that run for long; None leaves all there."""
    in_vain: int = 12
    """After so many of these kills in a row in which no job has come, started or ended the next one waits for that: on a slow machine, too, jobs end."""


class Outcome(msgspec.Struct, kw_only=True):
    """How it went."""

    plan: Plan
    broken: list[str]
    kills: Counter[str]
    upgraded: list[str]
    """Services and servers that were replaced in order, by slot and name."""
    jobs: int
    commits: int
    seconds: float
    storm: str = ""
    """What has befallen requests and connections."""
    outages: list[float] = []
    """After each kill of the server that led a partition, the seconds until something was stored there again."""

    def __str__(self) -> str:
        bus = self.kills[BUS]
        killed = f"{self.kills.total()} kills ({self.kills.total() - bus} of services, {bus} of the bus)"
        killed += f", {len(self.upgraded)} upgraded in turn" if self.upgraded else ""
        verdict = "every law holds" if not self.broken else "; ".join(self.broken)
        befell = f", {self.storm}" if self.storm else ""
        if self.outages:
            befell += f", stored again {median(self.outages):.1f} s after a leader was killed, {max(self.outages):.1f} s at most"
        passed = f"{self.jobs} jobs, {self.commits} commits, {self.seconds:.0f} s"
        return f"seed {self.plan.seed}: {killed}{befell}, {passed}: {verdict}"


class Standing(Exception):
    """The log stands still although there is work to do."""


async def play(plan: Plan, folder: Path) -> Outcome:
    """Play a run to its end, and judge it."""
    begun = time.monotonic()
    async with _running(plan, folder) as run:
        feeding = asyncio.create_task(run.feed())
        try:
            if plan.rolling and not plan.every_s:
                await run.upgrade_all()
            await (run.kill_on(feeding) if plan.every_s else run.kill_all())
            await feeding
            broken = await run.judged()
        except Standing as problem:
            broken = [str(problem), *run.told()]
        finally:
            feeding.cancel()
        return Outcome(
            plan=plan,
            broken=broken,
            kills=run.kills,
            upgraded=run.upgraded,
            jobs=run.fed,
            commits=run.position,
            seconds=time.monotonic() - begun,
            storm=str(run.storm or ""),
            outages=run.outages,
        )


@asynccontextmanager
async def _running(plan: Plan, folder: Path) -> AsyncGenerator["Run"]:
    async with AsyncExitStack() as stack:
        clock = ScaledClock(SCALE)
        cluster = EmbeddedCluster(clock=clock, kubeconfig=folder / "kubeconfig", mutators=(suspend,), converter=convert)
        for one in (*manifests(), *objects(plan.partitions, plan.hosts)):
            cluster.add(one)
        await cluster.start()
        stack.push_async_callback(cluster.stop)
        servers: NatsServer | NatsCluster = (
            NatsServer(folder / "nats") if plan.servers == 1 else NatsCluster(folder / "nats")
        )
        await servers.start()
        stack.push_async_callback(servers.stop)
        bus = await connect(servers.url, replicas=plan.servers, max_bytes=_ROOM)
        stack.push_async_callback(bus.close)
        await _prepared(bus, plan.partitions)
        storm = None
        if plan.storm:
            storm = Storm(cluster.url, servers.url, folder, plan.seed)
            await storm.start()
            stack.push_async_callback(storm.stop)
        run = Run(plan, folder, cluster, servers, bus, storm)
        stack.push_async_callback(run.stop)
        for slot in SLOTS:
            run.start(slot, plan.older)
        run.follow()
        yield run


async def _prepared(bus: JetStreamBus, partitions: int) -> None:
    """The streams, held as often as there are servers: three that have just started take a moment to agree on a leader."""
    async with asyncio.timeout(_STILL_S):
        for name in SOLE.every:
            await RetryingBus(bus, ScaledClock()).stream(name)
        await bus.shelf.prepare()
        await bus.leases.prepare()
        if partitions > 1:
            # By their names some partitions would get two trees, and others none.
            placed = [TreePlacement(tree=tree, partition=place) for place, tree in enumerate(trees(partitions))]
            await divide(RetryingBus(bus, ScaledClock()), partitions, ScaledClock().now(), placed)


class Run:
    """What is under way."""

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        cluster: EmbeddedCluster,
        servers: NatsServer | NatsCluster,
        bus: JetStreamBus,
        storm: Storm | None,
    ) -> None:
        self.plan, self.cluster, self.servers, self.bus, self.storm = plan, cluster, servers, bus, storm
        self.kills: Counter[str] = Counter()
        self.upgraded: list[str] = []
        self.fed = 0
        self.position = 0
        """The commits of all partitions that were seen."""
        self._begun = time.monotonic()
        self._folder = folder
        self._grown = asyncio.Event()
        self._enough = asyncio.Event()
        self._processes: dict[str, ServiceProcess | OlderServiceProcess] = {}
        self._changes: asyncio.Queue[ObjectChange | None] = cluster.store.watch("jobs.batch")
        self._moved: asyncio.Queue[ObjectChange | None] = cluster.store.watch("jobs.batch")
        self._lived: asyncio.Queue[ObjectChange | None] = cluster.store.watch("jobs.batch")
        self.outages: list[float] = []
        """As in the outcome."""
        self._led: dict[str, float] = {}
        """Partitions that nothing was stored in since the server was killed that led them, and when that was."""
        self.lost: list[str] = []
        """Jobs that somebody removed who had no business to."""
        self._unfinished: set[str] = set()
        """By UID, the jobs that have not ended, as far as `_moved` has been read."""
        self._following: list[asyncio.Task[None]] = []
        self._restarting: asyncio.Task[None] | None = None
        """A server of the bus that was killed, until it is there again with all that the others hold."""
        self._trees = streams_of(plan.partitions).trees

    def start(self, slot: str, older: str = "") -> None:
        """Start who serves in a slot, of this version or of the older one that lies in a folder."""
        service = slot.rpartition("-")[0]
        order = Order(
            service=service,
            nats=self.storm.bus.url if self.storm else self.servers.url,
            kubeconfig=str(self.storm.api.kubeconfig if self.storm else self._folder / "kubeconfig"),
            scale=SCALE,
            witness=str(self._folder / "witness") if slot in _WITNESSES else "",
        )
        log = self._folder / "told" / f"{slot}.log"
        self._processes[slot] = OlderServiceProcess(order, log, Path(older)) if older else ServiceProcess(order, log)

    def follow(self) -> None:
        """Know from now on how far the partitions have come."""
        self._following = [asyncio.create_task(self._follow(name)) for name in self._trees]

    async def stop(self) -> None:
        """End all processes."""
        for task in self._following:
            task.cancel()
        for one in self._processes.values():
            await one.kill()

    async def feed(self) -> None:
        """Create jobs, never too many at a time, until there are as many as planned, and as many as kills and upgrades need."""
        chance = random.Random(f"{self.plan.seed}/jobs")
        while self.fed < self.plan.jobs or not self._enough.is_set():
            await self._unless(lambda: len(self._unfinished) >= self.plan.at_once)
            self.cluster.add(job(chance, self.fed, self.plan.partitions, self.plan.stays_s))
            self.fed += 1
            if self.fed % _TOLD_EVERY == 0:
                done = f"{self.fed} jobs have come, {self.kills.total()} were killed, {self.position} commits"
                print(f"{done}, {time.monotonic() - self._begun:.0f} s", flush=True)

    async def upgrade_all(self) -> None:
        """Replace every service, the new one before the old one ends, then every server of the bus; decisions go on between any two."""
        for slot in SLOTS:
            await self._beyond(self.position + 1)
            old = self._processes[slot]
            self.start(slot)
            await self._processes[slot].serving()
            await old.stop()
            self.upgraded.append(slot)
        servers = [self.servers] if isinstance(self.servers, NatsServer) else self.servers.servers
        for server in servers:
            await self._beyond(self.position + 1)
            await server.stop()
            await server.start()
            self.upgraded.append(server.name)
        await self._beyond(self.position + 1)

    async def kill_all(self) -> None:
        """Kill one after the other, each at its commit, and start each again."""
        chance = random.Random(f"{self.plan.seed}/kills")
        for _ in range(self.plan.kills):
            await self._beyond(self.position + chance.randint(1, self.plan.commits))
            await self._kill(chance.choice(self.plan.victims), chance)
        self._enough.set()

    async def kill_on(self, feeding: "asyncio.Task[None]") -> None:
        """Kill somebody every so often, and start each again, until all jobs have come and ended."""
        chance = random.Random(f"{self.plan.seed}/kills")
        ended = asyncio.create_task(self._all_ended(feeding))
        vain = 0
        if not self.plan.rolling:
            self._enough.set()
        try:
            while not ended.done():
                if self.plan.rolling and not self.upgraded and 2 * self.fed >= self.plan.jobs:
                    await self._restarted()
                    await self.upgrade_all()
                    self._enough.set()
                await asyncio.wait({ended}, timeout=self.plan.every_s)
                vain = 0 if list(_drained(self._lived)) else vain + 1
                if vain >= self.plan.in_vain:
                    lived = asyncio.create_task(self._lived.get())
                    await asyncio.wait({lived, ended}, return_when=asyncio.FIRST_COMPLETED)
                    lived.cancel()
                if not ended.done():
                    await self._kill_beside(chance)
            await ended
        finally:
            ended.cancel()
            await self._restarted()

    async def _all_ended(self, feeding: "asyncio.Task[None]") -> None:
        await feeding
        await self._settled()

    async def judged(self) -> list[str]:
        """The laws that are broken when all has come to rest: they are asked again for as long as the log grows."""
        await self._settled()
        if self.storm is not None:
            self.storm.calm()
        changes = list(_drained(self._changes))
        await self._calm()
        seen, since = -1, time.monotonic()
        while True:
            # The servers may still be choosing a leader.
            entries = await read_everything(RetryingBus(self.bus, ScaledClock()))
            changes += _drained(self._changes)
            broken = self._broken(entries, changes)
            length = sum(map(len, entries.values()))
            if length != seen:
                seen, since = length, time.monotonic()
            if not broken:
                return []
            if time.monotonic() - since > _STILL_S:
                self._keep(entries, changes)
                return broken
            await asyncio.sleep(_AGAIN_S)

    def _keep(self, entries: dict[str, list[Entry]], changes: list[ObjectChange]) -> None:
        """Lay down what `kuelog history --archive` and a reader need to find out which decision was wrong, and what the jobs were told."""
        evidence = load_evidence(str(self._folder / "witness"))
        with suppress(LogDiffers):  # Then an auditor has told it already.
            write_archive(entries, evidence, str(self._folder / ARCHIVE))
        (self._folder / "jobs.json").write_bytes(b"\n".join(map(msgspec.json.encode, changes)))

    def told(self) -> Iterator[str]:
        """What the processes have logged."""
        for slot, one in sorted(self._processes.items()):
            if one.told:
                yield f"{slot}: {one.told}"

    def _broken(self, entries: dict[str, list[Entry]], changes: list[ObjectChange]) -> list[str]:
        aftermath = Aftermath(
            entries=entries,
            store=self.cluster.store,
            changes=changes,
            settings=SettingsObserved(),
            now=self.cluster.clock.now(),
        )
        signed = Auditor(load_evidence(str(self._folder / "witness"))).examine(entries)
        return [
            *self.lost,
            *unsettled(self.cluster.store),
            *broken_laws(aftermath),
            *(f"audit: {one.place}: {one.detail}" for one in signed.findings),
        ]

    async def _settled(self) -> None:
        """Wait until no job is unfinished; whether their objects say so too is asked of everything that there is, so only then."""
        await self._unless(lambda: bool(self._unfinished or unsettled(self.cluster.store)))

    async def _unless(self, wait: Callable[[], bool]) -> None:
        """Wait from one change of a job to the next until it no longer holds."""
        self._note(_drained(self._moved))
        while wait():
            try:
                async with asyncio.timeout(_STILL_S):
                    self._note([await self._moved.get(), *_drained(self._moved)])
            except TimeoutError as problem:
                left = "; ".join(unsettled(self.cluster.store)[:5])
                raise Standing(f"no job has changed for {_STILL_S:.0f} s: {left}") from problem

    def _note(self, changes: Iterable[ObjectChange | None]) -> None:
        for change in changes:
            if change is None:
                continue
            uid = change.object["metadata"]["uid"]
            if has_ended(change.object):
                self._unfinished.discard(uid)
            elif change.type == "DELETED":
                self._unfinished.discard(uid)
                self.lost.append(f"job {change.object['metadata']['name']} was removed before its end")
            else:
                self._unfinished.add(uid)

    async def _calm(self) -> None:
        with suppress(TimeoutError):
            while True:
                self._grown.clear()
                async with asyncio.timeout(_CALM_S):
                    await self._grown.wait()

    async def _follow(self, partition: str) -> None:
        read = 0
        while True:
            # A server that has just begun to lead may not know yet what another has handed out: then it is read on a moment later.
            with suppress(LogGap, LogRegressed, LogUnavailable):
                async for batch in (await self.bus.stream(partition)).follow(read):
                    self.position += batch[-1].sequence - read
                    if (killed := self._led.get(partition)) is not None and batch[-1].stored / 1000 > killed:
                        self.outages.append(batch[-1].stored / 1000 - self._led.pop(partition))
                    read = batch[-1].sequence
                    self._grown.set()
            await asyncio.sleep(_AGAIN_S)

    async def _beyond(self, position: int) -> None:
        while self.position < position:
            self._grown.clear()
            try:
                async with asyncio.timeout(_STILL_S):
                    await self._grown.wait()
            except TimeoutError as problem:
                raise Standing(f"nothing is decided behind {self.position} commits") from problem

    async def _kill(self, victim: str, chance: random.Random) -> None:
        self.kills[victim] += 1
        if victim != BUS:
            await self._processes[victim].kill()
            self.start(victim)
            return
        partition = chance.choice(self._trees)
        server = await self._leader(partition)
        self._led[partition] = time.time()
        await server.kill()
        await server.start()

    async def _kill_beside(self, chance: random.Random) -> None:
        """Kill somebody who is there again, and a server of the bus while all others go on being killed.

        Of these servers one at a time, and the next one when all of them hold all again: without two of three nothing is stored.
        """
        whole = self._restarting is None or self._restarting.done()
        there = [one for one in self.plan.victims if (whole if one == BUS else self._processes[one].serves)]
        victim = chance.choice(there) if there else ""
        if victim == BUS:
            await self._restarted()
            self._restarting = asyncio.create_task(self._kill_of_three(chance))
        elif victim:
            await self._kill(victim, chance)

    async def _kill_of_three(self, chance: random.Random) -> None:
        """Kill a server of the bus and start it again; done when each stream has a leader, and the others all that it has."""
        await self._kill(BUS, chance)
        try:
            async with asyncio.timeout(_STILL_S):
                left = list(streams_of(self.plan.partitions).every)
                while left:
                    left = [one for one in left if not await is_held_by_all(self.bus.client, one, self.plan.servers)]
                    await asyncio.sleep(_AGAIN_S)
        except TimeoutError as problem:
            raise Standing(
                f"{_STILL_S:.0f} s after one of the servers was killed they do not hold the same"
            ) from problem

    async def _restarted(self) -> None:
        """Wait for the server of the bus that was killed, until all of them hold the same again."""
        if self._restarting is not None:
            await self._restarting
            self._restarting = None

    async def _leader(self, partition: str) -> NatsServer:
        """The server that leads a partition: whoever kills another one of three has killed nobody's leader."""
        if isinstance(self.servers, NatsServer):
            return self.servers
        while True:
            with suppress(LogUnavailable):
                found = await asked(self.bus.client, f"STREAM.INFO.{partition}", {})
                name = (found.get("cluster") or {}).get("leader", "")
                for server in self.servers.servers:
                    if server.name == name:
                        return server
            await asyncio.sleep(_AGAIN_S)


def _drained(queue: "asyncio.Queue[ObjectChange | None]") -> Iterator[ObjectChange]:
    while not queue.empty():
        change = queue.get_nowait()
        if change is not None:
            yield change
