"""A history of three clusters: a manager and two workers with a log each, lines that are cut, services that die, logs that are restored.

Whatever is cut off goes on alone. What has to hold in spite of that: docs/rules/multikueue.md#at-most-once
"""

import asyncio
import gc
import hashlib
import random
from collections.abc import Callable
from contextlib import suppress

import msgspec

from events.api.labels import MULTIKUEUE_ORIGIN
from events.event import Millis
from events.json_object import object_at, objects_at
from events.multikueue import BY_ESTIMATE, INCREMENTAL, MultiKueueSettings
from events.partition_map import TreePlacement
from events.settings import SettingsObserved
from events.timestamp import parse_timestamp
from ops.production.archive.history import read_everything
from ops.production.log.partitioning import carry_out, divide, division_of
from ops.production.wiring import SERVICES
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from ops.sandbox.simulate.cluster_objects import (
    WORKERS,
    QueueDoor,
    changes_of,
    changing_job,
    doors_apart,
    doors_of,
    manager_objects,
    sent_or_own_job,
    tree_of,
    worker_objects,
)
from ops.sandbox.simulate.clusters_faults import LOST_AFTER, MANAGER, ClustersFault, faults_of
from ops.sandbox.simulate.cut_line import CutLine, LineClient, LineConnector
from ops.sandbox.simulate.growing_log import GrowingLog
from ops.sandbox.simulate.laws import has_ended
from ops.sandbox.simulate.moved_trees import some_move
from ops.sandbox.simulate.restored_log import (
    RestoredLog,
    broken_in_partitions,
    is_admitted,
    owner_of,
    partitions_on,
    running_elsewhere,
)
from ops.sandbox.simulate.simulation import BEGINS
from ops.sandbox.simulate.site import Site
from ops.sandbox.simulate.virtual_loop import VirtualLoop
from services.runtime.log_errors import LogMovedOn

_PATIENCE_S = 7200.0
"""Virtual time in which everything has to come to rest once all lines are whole: a cluster that was long away is tried every few minutes."""
_LOOK_S, _CALM_S = 5.0, 15.0
_AS_IT_COMES = 0.15
"""How often a cluster is lost just when a job comes there, or has to stop."""
_DOORS, _MIDWAY = 4, 0.3
"""How many queues there are where logs are divided, and how often that of the manager is when it is in use."""
_CHANGING, _ELASTIC = 0.7, 0.6
"""In so many of the histories in which no log is restored so many of the jobs that are sent are elastic."""
_KILLED = 0.3
"""How often the manager's services die just when trees are to move."""
_SLACK: Millis = 2_000
"""What a manager has begun to write when a cluster came back may still be written."""


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
    trees_moved: int
    """How many orders there were by which trees in use moved to another partition."""
    lasted: Millis


def partitions_of(seed: int) -> int:
    """In each third history the logs are divided: that of the manager into 4 or 16 partitions, that of one worker into 2."""
    return 1 if seed % 3 else (4, 16)[seed // 3 % 2]


def play_clusters(seed: int, span: Millis, partitions: int = 1, *, moves: bool = False) -> ClustersOutcome:
    """Play a history of three clusters to its end: users, cuts and deaths for so long, then everything comes to rest.

    The manager's log has so many partitions, from the beginning or, in some histories, from a while after it; with `moves` its trees
    move on from there while they are in use.
    """
    loop = VirtualLoop(f"{seed}/order")
    loop.set_exception_handler(lambda _loop, _context: None)
    random.seed(f"{seed}/patience")
    collecting = gc.isenabled()
    gc.disable()
    try:
        return loop.run_until_complete(_Clusters(loop, seed, span, partitions, moves=moves).played())
    finally:
        loop.close()
        if collecting:
            gc.enable()


class _Clusters:
    def __init__(self, loop: VirtualLoop, seed: int, span: Millis, partitions: int, *, moves: bool) -> None:
        self._loop, self._seed, self._span, self._partitions = loop, seed, span, partitions
        self._doors = doors_apart(_DOORS) if moves else doors_of(seed, _DOORS) if partitions > 1 else (QueueDoor(),)
        self._asked = random.Random(f"{seed}/asked")  # noqa: S311 - a world, not a secret
        self._chance = random.Random(f"{seed}/clusters")  # noqa: S311 - a world, not a secret
        self._changing = random.Random(f"{seed}/changing")  # noqa: S311 - a world, not a secret
        self._moves, self._moving = moves, random.Random(f"{seed}/moves")  # noqa: S311 - a world, not a secret
        self._trees_moved = 0
        self._broken: list[str] = []
        self._jobs = 0
        self._deleted: set[str] = set()
        self._midway, self._dividing = self._asked.random() < _MIDWAY, list[asyncio.Task[None]]()
        """Whether the log of the manager is divided when it is in use, and what divides logs."""
        self._placed: dict[str, list[str]] = {}
        """By job, the clusters in which it was made, one after the other."""
        self._running: dict[str, set[str]] = {name: set() for name in WORKERS}
        """By cluster, the jobs that were sent and run there."""
        dispatcher = self._chance.choice((MultiKueueSettings().dispatcher, INCREMENTAL, BY_ESTIMATE))
        rule = MultiKueueSettings(
            worker_lost_timeout=LOST_AFTER, dispatcher=dispatcher, step_size=1, estimate_timeout=3_000
        )
        self._restored: list[RestoredLog] = []
        self.lines = {name: CutLine(name) for name in WORKERS}
        settings = SettingsObserved(multikueue=rule, devices=False)
        workers = tuple(one for one in SERVICES if one != "multikueue")
        self.sites = {name: Site(name, loop, SettingsObserved(devices=False), workers) for name in WORKERS}
        self.sites[MANAGER] = Site(MANAGER, loop, settings, SERVICES)
        self._manager = self.sites[MANAGER]
        self._manager.connector = LineConnector({name: self._client_of(name) for name in WORKERS})
        self.faults = faults_of(self._chance, seed, span)
        restored = any(one.what == "restore" for one in self.faults)
        self._elastic = not restored and self._changing.random() < _CHANGING

    def _client_of(self, name: str) -> Callable[[], LineClient]:
        site, line = self.sites[name], self.lines[name]
        return lambda: LineClient(site.cluster.resources, line, site.clock.now)

    async def played(self) -> ClustersOutcome:
        loop = self._loop
        for site in self.sites.values():
            await self._divide(site)
        queues = 1 if self._partitions == 1 else 2
        for name, site in self.sites.items():
            site.begin(
                manager_objects(self._doors)
                if name == MANAGER
                else worker_objects(self._chance, name, self._doors, queues)
            )
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
            for restored in self._restored:
                self._broken += restored.broken()
            for name, site in self.sites.items():
                self._broken += site.crashes
                entries = {stream: list(found.entries) for stream, found in site.bus.streams.items()}
                self._broken += broken_in_partitions(name, entries, self._restored)
        finally:
            loop.release_all()
            for task in [*watching, *self._dividing]:
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
            trees_moved=self._trees_moved,
            lasted=lasted,
        )

    def _strike(self, fault: ClustersFault) -> None:
        if fault.what == "kill":
            self.sites[fault.cluster].kill(fault.lasts)
            return
        if fault.what == "restore":
            running = running_elsewhere(self.sites, MANAGER)
            site = self.sites[fault.cluster]
            site.restore(fault.lasts, fault.back)
            if not any(found.entries for found in site.bus.streams.values()):
                self._dividing.append(self._loop.create_task(self._divide(site)))
            bus = self._manager.bus
            begins = {name: len(bus.memory(name).entries) for name in partitions_on(bus)}
            self._restored.append(RestoredLog(fault.cluster, bus, begins, running))
            return
        line = self.lines[fault.cluster]
        line.cut()
        self._loop.call_later(fault.lasts / 1000, line.restore)

    async def _divide(self, site: Site) -> None:
        """Divide a log that nothing is on yet: that of one worker, and that of the manager now, or when it is in use."""
        if self._partitions > 1 and site.name == WORKERS[0]:
            await divide(site.bus, 2, site.clock.now(), _placed(2))
        elif self._partitions > 1 and site.name == MANAGER and self._midway:
            self._dividing.append(self._loop.create_task(self._divide_midway()))
        elif self._partitions > 1 and site.name == MANAGER:
            await divide(site.bus, self._partitions, site.clock.now(), _placed(self._partitions))

    async def _divide_midway(self) -> None:
        await asyncio.sleep(self._asked.randrange(self._span // 2) / 1000)
        while True:
            bus = self._manager.bus
            with suppress(LogMovedOn):
                world = world_at(point_at(await read_everything(bus)))
                found = division_of(world, 1, self._partitions, ())
                await divide(bus, self._partitions, self._manager.clock.now(), found.placements)
                return
            await asyncio.sleep(_LOOK_S)

    async def _move_trees(self) -> None:
        """Now and then have some trees of the manager's log move to another partition; its services may die just then."""
        log = GrowingLog()
        while True:
            await asyncio.sleep(self._moving.randrange(2_000, self._span // 4) / 1000)
            if self._loop.time() * 1000 >= self._span:
                return
            bus = self._manager.bus
            division = some_move(log.read(await read_everything(bus)), self._moving)
            with suppress(LogMovedOn):
                if division is not None:
                    await carry_out(bus, division, self._manager.clock.now())
                    self._trees_moved += 1
                    if self._moving.random() < _KILLED:
                        self._manager.kill(self._moving.randrange(1_000, 3_000))

    def _plan_users(self) -> None:
        if self._moves:
            self._dividing.append(self._loop.create_task(self._move_trees()))
        chance = self._chance
        for number in range(chance.randrange(3, 8)):
            at, name = chance.randrange(self._span * 2 // 3), f"sent{number}"
            changes = self._elastic and self._changing.random() < _ELASTIC
            namespace = self._later(at, MANAGER, name, delegated=True, changes=changes)
            if chance.random() < 0.15:  # noqa: PLR2004
                self._loop.call_at((at + chance.randrange(30_000)) / 1000, self._delete, namespace, name)
        for worker in WORKERS:
            for number in range(chance.randrange(4)):
                self._later(chance.randrange(self._span), worker, f"own-{worker}{number}")

    def _later(self, at: Millis, cluster: str, name: str, *, delegated: bool = False, changes: bool = False) -> str:
        """Have a job created then; its namespace."""
        door = self._asked.choice(self._doors)
        value = sent_or_own_job(self._chance, name, door, delegated=delegated)
        if changes:
            value = changing_job(value)
            for when, change in changes_of(self._changing, at):
                self._loop.call_at(when / 1000, self._manager.change, door.namespace, name, change)
        self._jobs += 1
        self._loop.call_at(at / 1000, self.sites[cluster].create, value)
        return door.namespace

    def _delete(self, namespace: str, name: str) -> None:
        self._deleted.add(name)
        self._manager.delete(namespace, name)

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
            if name in running and change.type == "DELETED" and not has_ended(change.object):
                self._removed(change.object["metadata"]["namespace"], name, cluster)
            if change.type == "DELETED" or change.object["spec"].get("suspend") or has_ended(change.object):
                if name in running and not has_ended(change.object):
                    self._lose_now_and_then(cluster)
                running.discard(name)
            elif name not in running:
                running.add(name)
                self._started(name, cluster)

    def _removed(self, place: str, name: str, cluster: str) -> None:
        """What ran when a log was restored is removed there only once it is evicted or gone here."""
        if (place, name) not in self._manager.of("jobs"):
            return
        for (namespace, key), workload in self._manager.of("workloads").items():
            ran = any(one.running.get(f"{namespace}/{key}") == cluster for one in self._restored)
            here = object_at(workload, "status").get("clusterName") == cluster
            if ran and here and owner_of(workload) == name and is_admitted(workload):
                at = self._manager.clock.now() - BEGINS
                self._broken.append(
                    f"job {name} was removed from {cluster} at {at} ms while it runs there by its Workload"
                )

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
        age = self._manager.clock.now() - since  # Up to a second more than it is: objects tell times in whole seconds.
        return age <= _SLACK + 1000 if active.get("status") == "True" else age >= LOST_AFTER - 1000

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


def _placed(partitions: int) -> list[TreePlacement]:
    """All trees but the last, which is where its name says."""
    return [TreePlacement(tree=tree_of(number), partition=number % partitions) for number in range(_DOORS - 1)]


def _unsettled(site: Site) -> list[str]:
    found: list[str] = []
    for (_, name), job in sorted(site.of("jobs").items()):
        if not has_ended(job):
            found.append(f"job {name} never ends in {site.name}")
    return found
