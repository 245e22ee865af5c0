"""A history of three clusters: a manager and two workers, each with a log of its own, lines that are cut, and services that die.

Whatever is cut off goes on alone. What has to hold in spite of that: docs/rules/multikueue.md#at-most-once
"""

import asyncio
import base64
import contextvars
import gc
import hashlib
import random
from collections.abc import Callable
from typing import Any

import msgspec

from events.api.labels import MULTIKUEUE_ORIGIN, PRIORITY_CLASS, QUEUE_NAME, RUN_SECONDS
from events.event import Millis
from events.json_object import JsonObject, object_at, objects_at
from events.multikueue import BY_ESTIMATE, INCREMENTAL, MultiKueueSettings
from events.settings import SettingsObserved
from events.timestamp import parse_timestamp
from ops.production.crds.definitions import manifests
from ops.production.kubernetes.reflector import Reflector
from ops.production.kubernetes.remote import HOME
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.process.clock import ScaledClock
from ops.production.wiring import SERVICES, Ports, Running
from ops.queries.replay import fold_partition
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient, OpenGate
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster, kubeconfig_text
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.nodes.node_objects import plain_node
from ops.sandbox.scenario.platform import convert, suspend
from ops.sandbox.simulate.cut_line import CutLine, LineClient, LineConnector
from ops.sandbox.simulate.platform import kueue_object, priority_class
from ops.sandbox.simulate.simulation import BEGINS
from ops.sandbox.simulate.users import CLASSES, NAMESPACE
from ops.sandbox.simulate.virtual_loop import PROCESS, VirtualLoop
from services.runtime.tracing import NoTracer

WORKERS = ("east", "west")
MANAGER = "manager"
LOST_AFTER: Millis = 20_000
_CHECK = "elsewhere"
_QUEUE = "q"
_PATIENCE_S = 7200.0
"""Virtual time in which everything has to come to rest once all lines are whole: a cluster that was long away is tried every few minutes."""
_LOOK_S, _CALM_S = 5.0, 15.0
_END_S = 60.0
_AS_IT_COMES = 0.15
"""How often a cluster is lost just when a job comes there, or has to stop."""
_SLACK: Millis = 2_000
"""What a manager has begun to write when a cluster came back may still be written."""


class ClustersFault(msgspec.Struct, frozen=True, kw_only=True):
    """A line that is cut, or services that die, for so long."""

    at: Millis
    lasts: Millis
    what: str
    """`cut` or `kill`."""
    cluster: str

    def __str__(self) -> str:
        """As it is printed: when, what, where, for how long."""
        return f"{self.at} ms: {self.what} {self.cluster} for {self.lasts} ms"


class ClustersOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a history of three clusters ended."""

    seed: int
    broken: tuple[str, ...]
    faults: tuple[ClustersFault, ...]
    digest: str
    """SHA-256 over every byte of all logs."""
    commits: int
    jobs: int
    moved: int
    """How often a job was sent to another cluster than before."""
    lasted: Millis


class Site:
    """One cluster: its API, its bus, and one process with all services, which may die and comes again."""

    def __init__(self, name: str, loop: VirtualLoop, settings: SettingsObserved, services: tuple[str, ...]) -> None:
        self.name, self._loop, self._settings, self._services = name, loop, settings, services
        self.clock = ScaledClock(1.0, BEGINS, loop.time)
        self.bus, self.shelf = MemoryBus(self.clock.now), MemoryShelf()
        self.cluster = EmbeddedCluster(clock=self.clock, mutators=(suspend,), converter=convert)
        self.connector: LineConnector | None = None
        self.crashes: list[str] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self._life = 0

    def begin(self, objects: list[JsonObject]) -> None:
        """Set it up, and start its services."""
        for value in (*manifests(), *objects):
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
        self.cluster.resources.create(self.kind("jobs"), NAMESPACE, value)

    def delete(self, name: str) -> None:
        """A user deletes a job, if it is still there."""
        if self.cluster.store.get(self.kind("jobs").key, (NAMESPACE, name)) is not None:
            self.cluster.resources.delete(self.kind("jobs"), (NAMESPACE, name))

    async def end(self) -> list[str]:
        """Stop everything; what does not end although it was cancelled."""
        await self.cluster.stop()
        for task in self.tasks:
            task.cancel()
        if not self.tasks:
            return []
        _, left = await asyncio.wait(self.tasks, timeout=_END_S)
        return sorted(f"{one.get_name()} is stuck: it goes on although it was cancelled" for one in left)


def play_clusters(seed: int, span: Millis) -> ClustersOutcome:
    """Play a history of three clusters to its end: users, cuts and deaths for so long, then everything comes to rest."""
    loop = VirtualLoop(f"{seed}/order")
    loop.set_exception_handler(lambda _loop, _context: None)
    random.seed(f"{seed}/patience")
    collecting = gc.isenabled()
    gc.disable()
    try:
        return loop.run_until_complete(_Clusters(loop, seed, span).played())
    finally:
        loop.close()
        if collecting:
            gc.enable()


class _Clusters:
    def __init__(self, loop: VirtualLoop, seed: int, span: Millis) -> None:
        self._loop, self._seed, self._span = loop, seed, span
        self._chance = random.Random(f"{seed}/clusters")  # noqa: S311 - a world, not a secret
        self._broken: list[str] = []
        self._jobs = 0
        self._deleted: set[str] = set()
        self._placed: dict[str, list[str]] = {}
        """By job, the clusters in which it was made, one after the other."""
        self._running: dict[str, set[str]] = {name: set() for name in WORKERS}
        """By cluster, the jobs that were sent and run there."""
        dispatcher = self._chance.choice((MultiKueueSettings().dispatcher, INCREMENTAL, BY_ESTIMATE))
        rule = MultiKueueSettings(
            worker_lost_timeout=LOST_AFTER, dispatcher=dispatcher, step_size=1, estimate_timeout=3_000
        )
        self.lines = {name: CutLine(name) for name in WORKERS}
        settings = SettingsObserved(multikueue=rule, devices=False)
        workers = tuple(one for one in SERVICES if one != "multikueue")
        self.sites = {name: Site(name, loop, SettingsObserved(devices=False), workers) for name in WORKERS}
        self.sites[MANAGER] = Site(MANAGER, loop, settings, SERVICES)
        self._manager = self.sites[MANAGER]
        self._manager.connector = LineConnector({name: self._client_of(name) for name in WORKERS})
        self.faults = self._faults()

    def _client_of(self, name: str) -> Callable[[], LineClient]:
        site, line = self.sites[name], self.lines[name]
        return lambda: LineClient(site.cluster.resources, line, site.clock.now)

    def _faults(self) -> list[ClustersFault]:
        chance, found = self._chance, list[ClustersFault]()
        for name in WORKERS:
            for _ in range(chance.randrange(4)):
                lasts = chance.choice((500, 3_000, LOST_AFTER, LOST_AFTER + 10_000, 4 * LOST_AFTER))
                found.append(ClustersFault(at=chance.randrange(self._span), lasts=lasts, what="cut", cluster=name))
        for name in (*WORKERS, MANAGER):
            if chance.random() < 0.4:  # noqa: PLR2004
                at, lasts = chance.randrange(self._span), chance.choice((1_000, 15_000))
                found.append(ClustersFault(at=at, lasts=lasts, what="kill", cluster=name))
        return sorted(found, key=lambda one: one.at)

    async def played(self) -> ClustersOutcome:
        loop = self._loop
        for name, site in self.sites.items():
            site.begin(_manager_objects() if name == MANAGER else _worker_objects(self._chance, name))
        watching = [loop.create_task(self._watch(name)) for name in WORKERS]
        self._plan_users()
        for fault in self.faults:
            loop.call_at(fault.at / 1000, self._strike, fault)
        try:
            await asyncio.sleep(self._span / 1000)
            for line in self.lines.values():
                line.restore()
            self._broken += await self._rest()
            self._broken += self._left_behind()
            lasted = round(loop.time() * 1000)
            logs = {
                f"{name}/{stream}": list(found.entries)
                for name, site in sorted(self.sites.items())
                for stream, found in sorted(site.bus.streams.items())
            }
            for name, site in self.sites.items():
                self._broken += site.crashes
                entries = {stream: list(found.entries) for stream, found in site.bus.streams.items()}
                for partition in (PARTITION, DEVICE_PARTITION):
                    _, replayed = fold_partition(partition, entries, verify=True)
                    self._broken += [
                        f"{name}/{partition} {one.sequence} is not decided again as it was"
                        for one in replayed.differences
                    ]
        finally:
            loop.release_all()
            for task in watching:
                task.cancel()
            for site in self.sites.values():
                self._broken += await site.end()
        digest = hashlib.sha256(b"".join(entry.data for found in logs.values() for entry in found)).hexdigest()
        return ClustersOutcome(
            seed=self._seed,
            broken=tuple(self._broken),
            faults=tuple(self.faults),
            digest=digest,
            commits=sum(len(found) for name, found in logs.items() if not name.endswith("/FACTS")),
            jobs=self._jobs,
            moved=sum(len(found) - 1 for found in self._placed.values()),
            lasted=lasted,
        )

    def _strike(self, fault: ClustersFault) -> None:
        if fault.what == "kill":
            self.sites[fault.cluster].kill(fault.lasts)
            return
        line = self.lines[fault.cluster]
        line.cut()
        self._loop.call_later(fault.lasts / 1000, line.restore)

    def _plan_users(self) -> None:
        chance = self._chance
        for number in range(chance.randrange(3, 8)):
            at, name = chance.randrange(self._span * 2 // 3), f"sent{number}"
            self._later(at, MANAGER, name, delegated=True)
            if chance.random() < 0.15:  # noqa: PLR2004
                self._loop.call_at((at + chance.randrange(30_000)) / 1000, self._delete, name)
        for worker in WORKERS:
            for number in range(chance.randrange(4)):
                self._later(chance.randrange(self._span), worker, f"own-{worker}{number}")

    def _later(self, at: Millis, cluster: str, name: str, *, delegated: bool = False) -> None:
        value = _job(self._chance, name, delegated=delegated)
        self._jobs += 1
        self._loop.call_at(at / 1000, self.sites[cluster].create, value)

    def _delete(self, name: str) -> None:
        self._deleted.add(name)
        self._manager.delete(name)

    async def _watch(self, cluster: str) -> None:
        """Whenever a job that was sent starts in a cluster, it runs in no other one, unless one of the two is given up."""
        site, running = self.sites[cluster], self._running[cluster]
        changes = site.cluster.store.watch(site.kind("jobs").key)
        while (change := await changes.get()) is not None:
            if not object_at(change.object, "metadata", "labels").get(MULTIKUEUE_ORIGIN):
                continue
            name = str(change.object["metadata"]["name"])
            if change.type == "ADDED":
                self._came(name, cluster)
            if change.type == "DELETED" or change.object["spec"].get("suspend") or _has_ended(change.object):
                if name in running and not _has_ended(change.object):
                    self._lose_now_and_then(cluster)
                running.discard(name)
            elif name not in running:
                running.add(name)
                self._started(name, cluster)

    def _came(self, name: str, cluster: str) -> None:
        placed = self._placed.setdefault(name, [])
        if not placed or placed[-1] != cluster:
            placed.append(cluster)
        self._lose_now_and_then(cluster)

    def _started(self, name: str, cluster: str) -> None:
        for other in WORKERS:
            if other == cluster or name not in self._running[other]:
                continue
            if not (self._given_up(cluster) or self._given_up(other)):
                at = self._manager.clock.now() - BEGINS
                self._broken.append(f"job {name} started in {cluster} at {at} ms while it ran in {other}")

    def _lose_now_and_then(self, cluster: str) -> None:
        """Now and then a cluster is lost just when a job has come there, or has to stop, before anybody hears of it."""
        if self._loop.time() * 1000 < self._span and self._chance.random() < _AS_IT_COMES:
            at, lasts = round(self._loop.time() * 1000), self._chance.choice((3_000, LOST_AFTER + 10_000))
            fault = ClustersFault(at=at, lasts=lasts, what="cut", cluster=cluster)
            self.faults.append(fault)
            self._strike(fault)

    def _given_up(self, cluster: str) -> bool:
        """Whether the manager has had no connection to a cluster for longer than it waits, or has it again only just now."""
        value = self._manager.of("multikueueclusters").get(("", cluster), {})
        active = next((one for one in objects_at(value, "status", "conditions") if one["type"] == "Active"), {})
        since = parse_timestamp(str(active["lastTransitionTime"])) if active else 0
        age = self._manager.clock.now() - since
        return age <= _SLACK if active.get("status") == "True" else age >= LOST_AFTER - 1000

    async def _rest(self) -> list[str]:
        end = self._loop.time() + _PATIENCE_S
        since, seen = self._loop.time(), -1
        waiting: list[str] = []
        while self._loop.time() < end:
            await asyncio.sleep(_LOOK_S)
            waiting = [one for site in self.sites.values() for one in _unsettled(site)] + self._copies()
            length = sum(len(one.entries) for site in self.sites.values() for one in site.bus.streams.values())
            if waiting or length != seen:
                since, seen = self._loop.time(), length
            elif self._loop.time() - since >= _CALM_S:
                return []
        return waiting or ["the logs never come to rest"]

    def _copies(self) -> list[str]:
        return [
            f"{plural[:-1]} {name} is still in {cluster}"
            for cluster in WORKERS
            for plural in ("workloads", "jobs")
            for (_, name), value in self.sites[cluster].of(plural).items()
            if object_at(value, "metadata", "labels").get(MULTIKUEUE_ORIGIN)
        ]

    def _left_behind(self) -> list[str]:
        """Jobs that were sent and are neither complete nor deleted by their users."""
        there = {name for _, name in self._manager.of("jobs")}
        sent = {name for name in self._placed if name not in there and name not in self._deleted}
        return [f"job {name} was lost" for name in sorted(sent)]


def _unsettled(site: Site) -> list[str]:
    found: list[str] = []
    for (_, name), job in sorted(site.of("jobs").items()):
        if not _has_ended(job):
            found.append(f"job {name} never ends in {site.name}")
    return found


def _has_ended(job: JsonObject) -> bool:
    """Whether a job is over."""
    conditions = objects_at(job, "status", "conditions")
    return any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions)


def _worker_objects(chance: random.Random, name: str) -> list[JsonObject]:
    preemption = {"withinClusterQueue": chance.choice(("Never", "LowerPriority"))}
    return [
        *(priority_class(one, value) for one, value in CLASSES.items()),
        plain_node(f"{name}-1", cpu="8"),
        *_queue(chance.choice((2, 3)), {"preemption": preemption}),
    ]


def _manager_objects() -> list[JsonObject]:
    kubeconfigs = {name: base64.b64encode(kubeconfig_text(f"http://{name}").encode()).decode() for name in WORKERS}
    secret = {"apiVersion": "v1", "kind": "Secret"}
    check = {"controllerName": "kueue.x-k8s.io/multikueue"}
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "both"}
    return [
        *(priority_class(one, value) for one, value in CLASSES.items()),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}},
        *(
            {**secret, "metadata": {"name": name, "namespace": HOME}, "data": {"kubeconfig": text}}
            for name, text in kubeconfigs.items()
        ),
        *(
            kueue_object(
                "MultiKueueCluster",
                name,
                {"clusterSource": {"kubeConfig": {"location": name, "locationType": "Secret"}}},
            )
            for name in WORKERS
        ),
        kueue_object("MultiKueueConfig", "both", {"clusters": list(WORKERS)}),
        kueue_object("AdmissionCheck", _CHECK, {**check, "parameters": parameters}),
        *_queue(100, {"admissionChecksStrategy": {"admissionChecks": [{"name": _CHECK}]}}),
    ]


def _queue(cpus: int, more: JsonObject) -> list[JsonObject]:
    flavors = [{"name": "one", "resources": [{"name": "cpu", "nominalQuota": str(cpus)}]}]
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}], **more}
    return [
        kueue_object("ResourceFlavor", "one", {}),
        kueue_object("ClusterQueue", _QUEUE, spec),
        kueue_object("LocalQueue", _QUEUE, {"clusterQueue": _QUEUE}, NAMESPACE),
    ]


def _job(chance: random.Random, name: str, *, delegated: bool) -> JsonObject:
    pods = chance.choice((1, 1, 2))
    runs = {RUN_SECONDS: str(chance.choice((2, 10, 30, 90)))}
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}]
    template = {"metadata": {"annotations": runs}, "spec": {"restartPolicy": "Never", "containers": containers}}
    sent = {"managedBy": "kueue.x-k8s.io/multikueue"} if delegated else {}
    labels = {QUEUE_NAME: _QUEUE, PRIORITY_CLASS: chance.choice(tuple(CLASSES))}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"parallelism": pods, "completions": pods, "suspend": True, "template": template, **sent},
    }
