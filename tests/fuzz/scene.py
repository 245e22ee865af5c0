"""A whole platform, all services in one process, on whichever bus: wild messages are put under it, and it has to go on."""

import asyncio
import hashlib
import json
import re
from collections import Counter
from contextlib import suppress

from events.codec import encode
from events.commit import Sighting
from events.control import Quarantined
from events.hash_chain import GENESIS
from events.json_object import JsonObject
from events.subjects import CONTROL, FACTS, fact_subject
from ops.production.archive.history import read_stored
from ops.production.crds.definitions import manifests
from ops.production.health import Health
from ops.production.kubernetes.reflector import Reflector
from ops.production.log.control import say
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.queries.quarantine import QuarantineRefused, refuse_if_folded
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient, OpenGate
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.scenario.platform import convert, suspend
from ops.sandbox.simulate.platform import platform_of
from services.runtime.log_errors import LogMovedOn
from services.runtime.log_port import Bus, Message
from services.runtime.own_task import stopped
from services.runtime.tracing import NoTracer
from tests.fuzz.inputs import STREAMS, Input

KUEUE = "kueue.x-k8s.io/v1beta2"
SAFE = "safe"
_POLL_S = 0.05
_PATIENCE_S = 90.0
MOST_STORED = 3_000
"""So many messages no platform comes to that comes to rest: a few hundred are usual."""
_DEFINITIONS = tuple(manifests())


class Harmed(Exception):
    """A message has done what no message may do."""


class Scene:
    """The cluster, the bus, and who serves there now."""

    def __init__(self, seed: int, bus: Bus, clock: ScaledClock) -> None:
        self.bus, self.clock = bus, clock
        self.aside = Counter[str]()
        """What was set aside in whichever service, by its reason: each is a failure that harmed nobody else."""
        self._platform = platform_of(seed, 30_000)
        self._settings = self._platform.settings
        self._cluster = EmbeddedCluster(clock=clock, mutators=(suspend,), converter=convert, identity="")
        self._running: Running
        self._tasks: list[asyncio.Task[None]] = []
        """Of those who serve now; nobody before `serve`, and time may be over by then."""
        self._jobs = 0

    async def begin(self) -> None:
        """The platform of the seed with its users' jobs, and a queue that nothing wild is near to."""
        for value in (*_DEFINITIONS, *_safe(), *self._platform.objects):
            self._cluster.add(value)
        self._cluster.start_controllers()
        self.serve()
        for action in self._platform.actions:
            if action.verb == "create":
                self._cluster.add(action.object)
        await self.until_admitted("before anything is put there")

    def serve(self) -> None:
        """Have all services begin."""
        client = InProcessClient(self._cluster.resources, OpenGate(), self.clock.now)
        ports = Ports(bus=self.bus, reader=Reflector(client), writer=client, clock=self.clock)
        self._running = Running(ports, settings=self._settings, replica="fuzzed", tracer=NoTracer())
        self._tasks = [asyncio.create_task(self._running.run())]

    async def end(self) -> None:
        await self._stop()
        await self._cluster.stop()

    async def restart(self) -> None:
        """Whoever comes next has only the log."""
        self._note_aside()
        await self._stop()
        self.serve()

    async def _stop(self) -> None:
        for task in self._tasks:
            await stopped(task)

    async def put(self, one: Input) -> None:
        """Store a message as it is, whatever it is."""
        stream = await self.bus.stream(one.stream)
        head = await stream.last()
        body: JsonObject = {"at": self.clock.now(), **one.body}
        if "events" in body:
            body |= {"prev_hash": head.sha256 or GENESIS, "base": head.sequence} if one.follows else _BEFORE
        data = one.raw or json.dumps(body, ensure_ascii=False).encode(errors="replace")
        await stream.publish([Message(one.subject, data, f"wild-{one.index}-{hashlib.sha256(data).hexdigest()}")])

    async def settle(self) -> None:
        """Until all that is there is folded; what halts a partition is shown, and skipped on record. Raises `Harmed`."""
        end = self._now() + _PATIENCE_S
        while not await self._folded():
            await asyncio.sleep(_POLL_S)
            await self.check_alive()
            for where in sorted(self._halts()):
                await self._skip(*where)
            if self._now() > end:
                raise Harmed(f"what is there is never folded: {await self._told()}")

    async def mend(self) -> None:
        """Put right what holds for everybody, as people do: the settings, and what is wrong on the stream of control."""
        fact = encode(
            Sighting(id=f"mended-{self.clock.now()}", at=self.clock.now(), author="watcher", fact=self._settings)
        )
        message = Message(fact_subject("", "SettingsObserved"), fact, f"mended-{self.clock.now()}")
        await (await self.bus.stream(FACTS)).publish([message])
        for sequence in sorted(self._running.control.unread):
            await self._order_skip(CONTROL, sequence)
        await self.settle()
        if self._running.control.unread:
            raise Harmed(f"{CONTROL} is still amiss: {await self._told()}")

    async def check_alive(self) -> None:
        """All services serve, and do not fill the log by themselves. Raises `Harmed`."""
        for task in (one for one in self._tasks if one.done()):
            problem = task.exception()
            raise Harmed(f"the services ended: {_words(problem)}") from problem
        stored = sum((await self._ends()).values())
        if stored > MOST_STORED:
            raise Harmed(f"the log grows without end: {stored} messages are stored")

    async def until_admitted(self, when: str) -> None:
        """Until an ordinary job of somebody else runs. Raises `Harmed`."""
        name = f"job-{self._jobs}"
        self._jobs += 1
        self._cluster.add(_safe_job(name))
        end = self._now() + _PATIENCE_S
        while self._cluster.store.get("jobs.batch", (SAFE, name))["spec"].get("suspend"):
            await asyncio.sleep(_POLL_S)
            await self.check_alive()
            for where in sorted(self._halts()):
                await self._skip(*where)
            if self._now() > end:
                raise Harmed(f"an ordinary job is not admitted {when}: {await self._told()}")

    def check_deciders(self) -> None:
        """Nobody fails as a whole: what concerns one object is set aside. Raises `Harmed`."""
        for partition, host in self._running.hosts.items():
            for who, why in host.halts.failing.items():
                raise Harmed(f"{partition}: {who} fails: {why}")

    def _note_aside(self) -> None:
        for partition in (PARTITION, DEVICE_PARTITION):
            for one in self._running.hosts[partition].fold.world.aside.values():
                if one.rules not in ("0", "9") and ": " in one.reason:
                    self.aside[f"{one.service} {one.scope}: {one.reason}"] += 1

    async def _folded(self) -> bool:
        running = self._running
        if len(running.hosts) < 2 or running.watcher is None:
            return False
        ends = await self._ends()
        if running.control.position < ends[CONTROL]:
            return False
        for host in running.hosts.values():
            if host.fold.base < ends[host.own.name] or not host.quiet.is_set():
                return False
            if any(host.fold.position(one.name) < ends[one.name] for one in host.inputs):
                return False
        return True

    async def _ends(self) -> dict[str, int]:
        return {name: (await (await self.bus.stream(name)).last()).sequence for name in STREAMS}

    def _halts(self) -> set[tuple[str, int]]:
        """What the halts name, as an operator reads it there."""
        told = [host.halted for host in self._running.hosts.values()]
        if self._running.watcher is not None:
            told.append(self._running.watcher.halts.reason)
        return {(stream, int(sequence)) for one in told for stream, sequence in _NAMED.findall(one)}

    async def _skip(self, stream: str, sequence: int) -> None:
        told = await Health(self._running).why_not()
        if not any(f"{stream} " in one and f"sequence {sequence}" in one for one in told):
            if (stream, sequence) not in self._halts():
                return
            raise Harmed(f"{stream} {sequence} halts a partition, and /readyz says only {told}")
        await self._order_skip(stream, sequence)
        end = self._now() + _PATIENCE_S
        while (stream, sequence) in self._halts():
            await asyncio.sleep(_POLL_S)
            await self.check_alive()
            if self._now() > end:
                raise Harmed(f"{stream} {sequence} is skipped on record, and halts still: {await self._told()}")

    async def _order_skip(self, stream: str, sequence: int) -> None:
        """As `kuelog log quarantine` does, and whoever is told what has to be skipped first. Raises `QuarantineRefused`."""
        try:
            refuse_if_folded(await read_stored(self.bus), stream, sequence)
        except QuarantineRefused as problem:
            if problem.first is None:
                raise
            await self._order_skip(*problem.first)
            await self._order_skip(stream, sequence)
            return
        event = Quarantined(stream=stream, sequence=sequence, reason="wild")
        while True:
            with suppress(LogMovedOn):
                await say(await self.bus.stream(CONTROL), event, self.clock.now())
                return

    async def _told(self) -> str:
        return "; ".join(await Health(self._running).why_not()) or "all are ready"

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


_BEFORE = {"prev_hash": "f" * 64, "base": 1}
_NAMED = re.compile(r"(FACTS|LOG_0|DEVICES_default) (?:is broken at )?sequence (\d+)")


def _safe() -> list[JsonObject]:
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": SAFE, "resources": [{"name": "cpu", "nominalQuota": "1000"}]}],
    }
    only = {"matchLabels": {"kubernetes.io/metadata.name": SAFE}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SAFE, "labels": only["matchLabels"]}},
        _object("ResourceFlavor", {}),
        _object("ClusterQueue", {"namespaceSelector": only, "resourceGroups": [group]}),
        _object("LocalQueue", {"clusterQueue": SAFE}, SAFE),
    ]


def _object(kind: str, spec: JsonObject, namespace: str = "") -> JsonObject:
    meta = {"name": SAFE, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec}


def _safe_job(name: str) -> JsonObject:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    meta = {"name": name, "namespace": SAFE, "labels": {"kueue.x-k8s.io/queue-name": SAFE}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"suspend": True, "template": template}}


def _words(problem: BaseException | None) -> str:
    if isinstance(problem, BaseExceptionGroup):
        return "; ".join(_words(one) for one in problem.exceptions)
    return f"{type(problem).__name__}: {problem}"
