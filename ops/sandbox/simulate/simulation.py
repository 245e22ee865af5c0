"""A running history: cluster, bus, processes and users on virtual time, and the handles by which faults take hold of it."""

import asyncio
import contextvars
import functools
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from events.api.labels import BUDGET, PRIORITY_CLASS, QUEUE_NAME
from events.event import Millis
from events.json_object import JsonObject
from events.subjects import CONTROL
from ops.production.crds.definitions import manifests
from ops.production.kubernetes.reflector import Reflector
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.memory import MemoryBus, MemoryStream
from ops.production.log.streams import SOLE, streams_known
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient
from ops.sandbox.embedded_cluster.controllers.resource_claims import CLAIMS
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.failures import ApiFailure
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.store import ObjectChange
from ops.sandbox.scenario.platform import convert, suspend
from ops.sandbox.simulate.active_faults import ActiveFaults
from ops.sandbox.simulate.api_gate import ApiGate
from ops.sandbox.simulate.bus_connection import SimulatedConnection
from ops.sandbox.simulate.namespaces import namespaces_of
from ops.sandbox.simulate.platform import CHECK, SeedPlatform
from ops.sandbox.simulate.process_clock import ProcessClock
from ops.sandbox.simulate.simulated_leases import ConnectedLeases, MemoryLeases
from ops.sandbox.simulate.users import NAMESPACE, UserAction
from ops.sandbox.simulate.virtual_loop import PROCESS, VirtualLoop
from services.runtime.control_log import Control
from services.runtime.log_port import Message
from services.runtime.tracing import NoTracer

BEGINS: Millis = 1_800_000_000_000
RESTART_MS = 1000
"""How long after its death a process is started again."""
_LONGEST_MS = 300_000
CHECK_MS = 700
"""How long the controller of the admission check takes."""
REPLICAS = "abc"
_RETRY_S = 0.2
_END_S = 60.0
"""How long a process that was cancelled may take to end."""


class Process:
    """One process slot: the services in it, and the process that runs them now."""

    def __init__(self, name: str, services: tuple[str, ...]) -> None:
        self.name, self.services = name, services
        self.life = 0
        self.clock: ProcessClock
        self.running: Running | None = None
        self.task: asyncio.Task[None]
        self.up = False

    @property
    def instance(self) -> str:
        """The name of the process that serves in this slot now: a successor after a death has another one."""
        return f"{self.name}.{self.life}"


class Simulation:
    """One running history. What it does itself belongs to no process, and no fault strikes it."""

    def __init__(self, loop: VirtualLoop, platform: SeedPlatform, seed: int) -> None:
        self.loop, self.platform = loop, platform
        self._namespaces = namespaces_of(platform.actions)
        self.clock = ScaledClock(1.0, BEGINS, loop.time)
        self.faults = ActiveFaults(loop, seed)
        self.bus = MemoryBus(self.clock.now, platform.ids_known_for)
        self.shelf = MemoryShelf()
        self.leases = MemoryLeases(self.clock.now)
        self.writes: Counter[str] = Counter()
        """By process, how often it asked the API server to change something."""
        self.stray: set[tuple[str, int]] = set()
        """Messages stored by a fault, by stream and sequence."""
        self.cluster = EmbeddedCluster(clock=self.clock, mutators=(suspend,), converter=convert, identity="")
        self.changes: asyncio.Queue[ObjectChange | None] = asyncio.Queue()
        """Every change of a Job, in order."""
        self.claims: asyncio.Queue[ObjectChange | None] = asyncio.Queue()
        """Every change of a ResourceClaim, in order."""
        self.connections = 0
        """How often everybody had to connect anew to a bus that lost tails."""
        self.whole_at = 0.0
        """When a bus that has lost tails has them again, on the loop's time."""
        self.lost: dict[str, int] = {}
        """By stream, up to which sequence it has to be given back what it has lost."""
        self.crashes: dict[str, int] = {}
        """How often services and operators ended with an exception, by its description."""
        self.processes = [
            Process(f"p{number}{replica}", services)
            for number, services in enumerate(platform.layout)
            for replica in REPLICAS[: platform.replicas]
        ]
        self._tasks: list[asyncio.Task[Any]] = []
        self._original: dict[str, JsonObject] = {}
        self._later: list[tuple[float, Callable[[], None]]] = []

    def partitions(self) -> tuple[str, ...]:
        """The partitions that faults can strike: those of an undivided log, forks, and what else holds something by now."""
        control = Control(self.bus.memory(CONTROL).entries)
        struck = {*SOLE.partitions, *control.forks}
        return tuple(one for one in streams_known(control).partitions if one in struck or self.bus.memory(one).entries)

    def begin(self) -> None:
        """Set the platform up, and start every process."""
        for value in (*definitions(), *self.platform.objects):
            self.cluster.add(value)
            if "status" in value and value["kind"] == "AdmissionCheck":
                kind = self._kind("admissionchecks")
                shown = {"metadata": {}, "status": value["status"]}
                self.cluster.resources.update(kind, ("", CHECK), shown, subresource="status")
        self.cluster.start_controllers()
        self.changes = self.cluster.store.watch("jobs.batch")
        self.claims = self.cluster.store.watch(CLAIMS)
        self._keep(self._check_workloads())
        for process in self.processes:
            self.start(process)

    def start(self, process: Process) -> None:
        """Start the services of a slot."""
        process.life += 1
        process.clock, process.up = ProcessClock(BEGINS, self.loop), True
        context = contextvars.copy_context()
        context.run(PROCESS.set, process.instance)
        process.task = self.loop.create_task(self._serve(process), context=context, name=process.instance)
        self._tasks.append(process.task)

    async def _serve(self, process: Process) -> None:
        gate = ApiGate(process.name, self.faults, self.writes)
        client = InProcessClient(self.cluster.resources, gate, self.clock.now)
        ports = Ports(
            bus=SimulatedConnection(self.bus, process.name, self.faults),
            reader=Reflector(client),
            writer=client,
            clock=process.clock,
            shelf=self.shelf,
            leases=ConnectedLeases(self.leases, process.name, self.faults) if self.platform.leases else None,
            connections=lambda: self.connections,
        )
        running = process.running = Running(
            ports,
            process.services,
            settings=self.platform.settings,
            replica=process.instance,
            tracer=NoTracer(),
            snapshots_every=self.platform.snapshots_every,
        )
        try:
            await running.run()
        except Exception as problem:  # noqa: BLE001 - whatever ends a service is a finding
            crash = f"{process.name} ({', '.join(process.services)}) ended with {_describe(problem)}"
            self.crashes[crash] = self.crashes.get(crash, 0) + 1
            process.up = False
            # As a kubelet does: who fails again and again is started less and less often.
            self.after(min(RESTART_MS << self.crashes[crash], _LONGEST_MS), lambda: self.start(process))

    def process(self, number: int) -> Process:
        """One of the processes."""
        return self.processes[number % len(self.processes)]

    def kill(self, process: Process, down: Millis) -> None:
        """End a process for good; its successor starts after a while."""
        if self._alone_knows(process):
            return
        self.loop.hold(process.instance)
        process.up = False
        self.after(RESTART_MS + self._still(down), lambda: self.start(process))

    def pause(self, process: Process, lasts: Millis) -> None:
        """Let nothing of a process run for so long."""
        if self._alone_knows(process):
            return
        instance = process.instance
        self.loop.hold(instance)

        def go_on() -> None:
            if process.instance == instance and process.up:
                self.loop.release(instance)

        self.after(self._still(lasts), go_on)

    def _still(self, lasts: Millis) -> Millis:
        """How long a fault that had to wait for its process lasts: no time once all faults have ended."""
        return 0 if self.faults.calm else lasts

    def knows(self, name: str, but: Process | None = None) -> int:
        """The last message of a stream that any running process knows."""
        return max(
            (
                one.running.known(name)
                for one in self.processes
                if one is not but and one.up and one.running is not None and not self.loop.is_held(one.instance)
            ),
            default=0,
        )

    def _alone_knows(self, process: Process) -> bool:
        """Whether a process is the only one that could give the bus back what it has lost."""
        return any(
            len(self.bus.memory(name).entries) < end and self.knows(name, process) < end
            for name, end in self.lost.items()
        )

    def after(self, ms: Millis, then: Callable[[], None]) -> None:
        """Have something done later, or when all faults end."""
        due = self.loop.time() + ms / 1000
        self._later.append((due, then))
        self.loop.call_at(due, self._do_due)

    def heal(self) -> None:
        """End all faults: what was to be done later is done now."""
        self.faults.clear()
        while self._later:
            self._later.sort(key=lambda one: one[0])
            self._later.pop(0)[1]()

    def _do_due(self) -> None:
        now = self.loop.time() + 1e-6
        due = [one for one in self._later if one[0] <= now]
        self._later = [one for one in self._later if one[0] > now]
        for _, then in sorted(due, key=lambda one: one[0]):
            then()

    def operate(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have an operator do something."""
        self._keep(self._operate(act()))

    def bus_stores(self, made: Callable[[], tuple[MemoryStream, Message]]) -> None:
        """Store a stray message, as somebody without the right would."""
        self._keep(self._store_stray(made))

    async def reach_bus(self) -> None:
        """Wait, as whoever is not a service, until the bus is there."""
        while self.faults.bus_is_down:  # noqa: ASYNC110 - nobody is told that it is back
            await asyncio.sleep(_RETRY_S)

    async def _store_stray(self, made: Callable[[], tuple[MemoryStream, Message]]) -> None:
        await self.reach_bus()
        if self.loop.time() < self.whole_at:
            return  # Nobody else stores anything before the bus has what it had lost.
        stream, message = made()
        self.stray.add((stream.name, len(stream.entries) + 1))
        await stream.repeat(message)

    async def _operate(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as problem:  # noqa: BLE001 - what an operator could not do is a finding
            crash = f"an operator failed with {_describe(problem)}"
            self.crashes[crash] = self.crashes.get(crash, 0) + 1

    def do(self, action: UserAction) -> None:
        """Do what a user does; when the API refuses it, because others were faster, nothing more is tried."""
        try:
            match action.verb:
                case "create":
                    self.create("pods" if action.object["kind"] == "Pod" else "jobs", action.object)
                case "delete":
                    self.remove("jobs", {"metadata": {"name": action.job, "namespace": self._namespace(action)}})
                case "scale":
                    self._scale(action)
                case "publish":
                    self.remove(plural_of(action.object), action.object)
                    self.create(plural_of(action.object), action.object)
                case "withdraw":
                    self.remove(plural_of(action.object), action.object)
                case "budget":
                    self._give_budget(action)
                case _:
                    self._relabel(action)
        except ApiFailure:
            return

    def _relabel(self, action: UserAction) -> None:
        label = PRIORITY_CLASS if action.verb == "priority" else QUEUE_NAME

        def change(job: JsonObject) -> JsonObject:
            meta = job["metadata"]
            return {**job, "metadata": {**meta, "labels": {**meta["labels"], label: action.value}}}

        namespace = self._namespace(action)
        job = self.cluster.store.get("jobs.batch", (namespace, action.job))
        if job is not None and job["spec"].get("suspend"):
            self.change("jobs", namespace, action.job, change)

    def _give_budget(self, action: UserAction) -> None:
        def change(namespace: JsonObject) -> JsonObject:
            meta = namespace["metadata"]
            return {**namespace, "metadata": {**meta, "annotations": {BUDGET: action.value}}}

        self.change("namespaces", "", action.job, change)

    def _scale(self, action: UserAction) -> None:
        size, namespace = int(action.value), self._namespace(action)
        if self.cluster.store.get("jobs.batch", (namespace, action.job)) is not None:
            self.change(
                "jobs", namespace, action.job, lambda job: {**job, "spec": {**job["spec"], "parallelism": size}}
            )

    def _namespace(self, action: UserAction) -> str:
        return self._namespaces.get(action.job, NAMESPACE)

    def create(self, plural: str, value: JsonObject) -> None:
        """Create an object. Raises `ApiFailure`."""
        self.cluster.resources.create(self._kind(plural), value["metadata"].get("namespace", ""), value)

    def remove(self, plural: str, value: JsonObject) -> None:
        """Take an object away, if it is there."""
        kind, meta = self._kind(plural), value["metadata"]
        name = (meta.get("namespace", ""), meta["name"])
        if self.cluster.store.get(kind.key, name) is not None:
            self.cluster.resources.delete(kind, name)

    def change(self, plural: str, namespace: str, name: str, change: Callable[[JsonObject], JsonObject]) -> None:
        """Change an object."""
        kind = self._kind(plural)
        found = self.cluster.resources.get(kind, (namespace, name))
        if plural == "clusterqueues":
            self._original.setdefault(name, found)
        self.cluster.resources.update(kind, (namespace, name), change(found))

    def restore(self, queue: str) -> None:
        """A queue has the specification again that it had at first."""
        original = self._original[queue]
        self.change("clusterqueues", "", queue, lambda found: {**found, "spec": original["spec"]})

    async def end(self) -> list[str]:
        """Stop all processes, the dead included; those that do not end although they were cancelled."""
        self.loop.release_all()
        await self.cluster.stop()
        for task in self._tasks:
            task.cancel()
        _, left = await asyncio.wait(self._tasks, timeout=_END_S)
        return sorted(f"{one.get_name()} is stuck: it goes on although it was cancelled" for one in left)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(self.loop.create_task(work, name=work.__name__.lstrip("_")))

    async def _check_workloads(self) -> None:
        """The controller of the admission check: it says yes after a while."""
        queue = self.cluster.store.watch("workloads.kueue.x-k8s.io")
        while True:
            change = await queue.get()
            states = (change.object.get("status") or {}).get("admissionChecks") or () if change is not None else ()
            if change is not None and any(one["name"] == CHECK and one["state"] == "Pending" for one in states):
                meta = change.object["metadata"]
                name = (meta["namespace"], meta["name"])
                self.loop.call_later(CHECK_MS / 1000, self._say_ready, name)

    def _say_ready(self, name: tuple[str, str]) -> None:
        kind = self._kind("workloads")
        found = self.cluster.store.get(kind.key, name)
        if found is None:
            return
        status = found.get("status") or {}
        checks = [
            {**one, "state": "Ready", "message": ""} if one["name"] == CHECK and one["state"] == "Pending" else one
            for one in status.get("admissionChecks") or ()
        ]
        if checks != status.get("admissionChecks"):
            value = {"metadata": {}, "status": {**status, "admissionChecks": checks}}
            self.cluster.resources.update(kind, name, value, subresource="status")

    def _kind(self, plural: str) -> ApiKind:
        return next(
            one
            for one in self.cluster.resources.kinds()
            if one.plural == plural and one.version == (one.storage or one.version)
        )


def plural_of(value: JsonObject) -> str:
    """The name of the collection of an object of resource.k8s.io that users make."""
    return f"{value['kind'].lower()}s"


@functools.cache
def definitions() -> tuple[JsonObject, ...]:
    """The definitions of kuelog's kinds, made once: objects in the store are never changed in place."""
    return tuple(manifests())


def _describe(problem: BaseException) -> str:
    if isinstance(problem, BaseExceptionGroup):
        return "; ".join(_describe(one) for one in problem.exceptions)
    return f"{type(problem).__name__}: {problem}"
