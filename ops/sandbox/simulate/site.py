"""One cluster of a history of several: its API, its bus, and one process with all services, which may die and comes again."""

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

from events.event import Millis
from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.kubernetes.reflector import Reflector
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.memory import MemoryBus
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient, OpenGate
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.scenario.platform import convert, suspend
from ops.sandbox.simulate.cut_line import LineConnector
from ops.sandbox.simulate.simulation import BEGINS, definitions
from ops.sandbox.simulate.virtual_loop import PROCESS, VirtualLoop
from services.runtime.tracing import NoTracer

_END_S = 60.0


class Site:
    """One cluster: its API, its bus, and one process with all services, which may die and comes again."""

    def __init__(self, name: str, loop: VirtualLoop, settings: SettingsObserved, services: tuple[str, ...]) -> None:
        self.name, self._loop, self._settings, self._services = name, loop, settings, services
        self.clock = ScaledClock(1.0, BEGINS, loop.time)
        self.bus, self.shelf = MemoryBus(self.clock.now), MemoryShelf()
        self.cluster = EmbeddedCluster(clock=self.clock, mutators=(suspend,), converter=convert, identity=name)
        self.connector: LineConnector | None = None
        self.crashes: list[str] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self._life = 0

    def begin(self, objects: list[JsonObject]) -> None:
        """Set it up, and start its services."""
        for value in (*definitions(), *objects):
            self.cluster.add(value)
        self.cluster.start_controllers()
        self.start()

    @property
    def _process(self) -> str:
        return f"{self.name}.{self._life}"

    def start(self) -> None:
        """Start its services."""
        self._life += 1
        context = contextvars.copy_context()
        context.run(PROCESS.set, self._process)
        self.tasks.append(self._loop.create_task(self._serve(), context=context, name=self._process))

    def kill(self, lasts: Millis) -> None:
        """End them as by SIGKILL; others come after a while."""
        self._loop.hold(self._process)
        self._loop.call_later(lasts / 1000, self.start)

    def restore(self, lasts: Millis, back: Millis) -> None:
        """End its services, and start others after a while on a log that ends so long before now."""
        for life in range(1, self._life + 1):
            self._loop.hold(f"{self.name}.{life}")
        self.bus, self.shelf = self.bus.until(self.clock.now() - back), MemoryShelf()
        self._loop.call_later(lasts / 1000, self.start)

    async def _serve(self) -> None:
        client = InProcessClient(self.cluster.resources, OpenGate(), self.clock.now)
        ports = Ports(
            bus=self.bus,
            reader=Reflector(client),
            writer=client,
            clock=self.clock,
            shelf=self.shelf,
            connector=self.connector,
        )
        running = Running(
            ports, self._services, settings=self._settings, replica=self._process, tracer=NoTracer(), snapshots_every=50
        )
        try:
            await running.run()
        except Exception as problem:  # noqa: BLE001 - whatever ends a service is a finding
            self.crashes.append(f"{self._process} ended with {type(problem).__name__}: {problem}")

    def kind(self, plural: str) -> ApiKind:
        """A kind of its API."""
        kinds = self.cluster.resources.kinds()
        return next(one for one in kinds if one.plural == plural and one.version == (one.storage or one.version))

    def of(self, plural: str) -> dict[tuple[str, str], JsonObject]:
        """All objects of a kind."""
        return dict(self.cluster.store.of(self.kind(plural).key))

    def create(self, value: JsonObject) -> None:
        """A user creates a job."""
        self.cluster.resources.create(self.kind("jobs"), value["metadata"]["namespace"], value)

    def delete(self, namespace: str, name: str) -> None:
        """A user deletes a job, if it is still there."""
        if self.cluster.store.get(self.kind("jobs").key, (namespace, name)) is not None:
            self.cluster.resources.delete(self.kind("jobs"), (namespace, name))

    def change(self, namespace: str, name: str, change: Callable[[JsonObject], JsonObject]) -> None:
        """A user changes a job, if it is still there."""
        if self.cluster.store.get(self.kind("jobs").key, (namespace, name)) is not None:
            found = self.cluster.resources.get(self.kind("jobs"), (namespace, name))
            self.cluster.resources.update(self.kind("jobs"), (namespace, name), change(found))

    async def end(self) -> list[str]:
        """Stop everything; what does not end although it was cancelled."""
        await self.cluster.stop()
        for task in self.tasks:
            task.cancel()
        if not self.tasks:
            return []
        _, left = await asyncio.wait(self.tasks, timeout=_END_S)
        return sorted(f"{one.get_name()} is stuck: it goes on although it was cancelled" for one in left)
