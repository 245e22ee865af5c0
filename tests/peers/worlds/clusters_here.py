"""kuelog on three APIs in this process, of which one sends jobs to the two others: what it makes of a world, step by step."""

import asyncio
import contextvars
import random
from collections.abc import Callable, Mapping
from typing import Any

from events.json_object import JsonObject
from ops.production.kubernetes.remote import HOME
from ops.production.process.clock import ScaledClock
from ops.production.webhook.multikueue_queues import leads_elsewhere
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient, OpenGate
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster, kubeconfig_text
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.scenario.platform import convert, suspending, validating
from ops.sandbox.simulate.cut_line import CutLine, LineClient, LineConnector
from ops.sandbox.simulate.simulation import BEGINS
from ops.sandbox.simulate.virtual_loop import PROCESS, VirtualLoop
from services.runtime.cluster_port import Resource
from tests.peers.worlds.clusters import MANAGER, PLACES, WORKERS, ClustersWorld, placed_step
from tests.peers.worlds.clusters_seen import Told, with_clusters
from tests.peers.worlds.clusters_there import STANDING
from tests.peers.worlds.doing import WORKLOADS, collect, do, make
from tests.peers.worlds.here import NeverAtRest, running_kuelog, settings_of, with_checks_for_any_flavors
from tests.peers.worlds.jobs import suspend_and_resume
from tests.peers.worlds.seen import Seen, seen
from tests.peers.worlds.there import DOORS, JOBS, QUEUES
from tests.peers.worlds.there import WORKLOADS as WORKLOADS_STORED
from tests.stage.definitions import definitions_of
from tests.stage.without_jobs import is_copy

_LOOKS, _LOOK_S = 120, 0.25
"""How often, and when, Jobs are looked after between two steps, in virtual time."""
_MOST_CALLBACKS = 200_000


def decided_in_clusters_here(
    world: ClustersWorld, uids: Mapping[str, Mapping[str, str]], more: JsonObject
) -> dict[str, list[Seen]]:
    """By place, what is seen there after each step; what users make has the UIDs that it is given. Raises `NeverAtRest`."""
    loop = VirtualLoop(f"{world.seed}/order")
    random.seed(f"{world.seed}/patience")
    loop.set_exception_handler(lambda _loop, _context: None)
    played = _Played(loop, world, uids, more)
    try:
        return loop.run_until_complete(played.played())
    except _GivenUp as given_up:
        raise NeverAtRest([]) from given_up
    finally:
        loop.close()


class _Place:
    """One of the clusters, and kuelog in it."""

    def __init__(self, name: str, clock: ScaledClock, uids: Mapping[str, str], more: JsonObject) -> None:
        self.name, self._clock, self._uids = name, clock, uids
        self.settings = settings_of(more, fair=False)
        self.known: dict[str, str] = {}
        self.cluster = EmbeddedCluster(
            clock=clock,
            mutators=(self._named, suspending(self.settings, lambda _namespace: {}, self._elsewhere)),
            converter=convert,
            validators=(with_checks_for_any_flavors(validating(self.settings)),),
            identity=name,
            controllers=False,
        )
        for value in definitions_of("kueue"):
            self.cluster.add(value)
        self.client = InProcessClient(self.cluster.resources, OpenGate(), clock.now)

    def _named(self, operation: str, kind: ApiKind, value: Any) -> Any:
        given = kind.kind in ("Job", "Workload") and operation == "CREATE" and not is_copy(value)
        uid = self._uids.get(value["metadata"]["name"], "") if given else ""
        return {**value, "metadata": {**value["metadata"], "uid": uid}} if uid else value

    def _elsewhere(self, namespace: str, queue: str) -> bool:
        def found(resource: Resource, space: str, name: str) -> JsonObject | None:
            return self.of(f"{resource.plural}.{resource.group}").get((space, name))

        return leads_elsewhere(found, namespace, queue)

    def of(self, key: str) -> dict[tuple[str, str], JsonObject]:
        return dict(self.cluster.store.of(key))

    async def look_after(self) -> None:
        """Do what the garbage collector and the controller of Jobs do."""
        jobs = self.of(JOBS)
        await collect(self.client, WORKLOADS, self.of(WORKLOADS_STORED), jobs)
        await suspend_and_resume(self.client, list(jobs.values()), self._clock.now())

    def seen(self, space: str, names: Told) -> Seen:
        workloads, jobs = self.of(WORKLOADS_STORED), self.of(JOBS)
        found = seen(workloads, self.of(QUEUES), self.of(DOORS), jobs, {}, {}, {}, space, self.known)
        standing = {kind: self.of(key) for kind, key in STANDING.items() if self.name == MANAGER}
        return with_clusters(self.name, found, names, workloads, jobs, standing, space)


class _Played:
    def __init__(
        self, loop: VirtualLoop, world: ClustersWorld, uids: Mapping[str, Mapping[str, str]], more: JsonObject
    ) -> None:
        self._loop, self._world = loop, world
        self._clock = ScaledClock(1.0, BEGINS, loop.time)
        self._places = {name: _Place(name, self._clock, uids[name], more) for name in PLACES}
        self._names = Told()
        self._lines = {name: CutLine(name) for name in WORKERS}

    async def played(self) -> dict[str, list[Seen]]:
        kubeconfigs = {name: kubeconfig_text(f"http://{name}") for name in WORKERS}
        home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
        await make(self._places[MANAGER].client, home)
        for name, place in self._places.items():
            for value in self._world.placed(name, HOME, kubeconfigs):
                await make(place.client, value)
        connector = LineConnector({name: self._client_of(name) for name in WORKERS})
        tasks = [self._begun(place, connector if place.name == MANAGER else None) for place in self._places.values()]
        found: dict[str, list[Seen]] = {name: [] for name in PLACES}
        try:
            await self._rest()
            for one in self._world.steps:
                for name in one.places:
                    step = placed_step(one.step, HOME, kubeconfigs)
                    await do(self._places[name].client, step, self._clock.now())
                await self._rest()
                for name, place in self._places.items():
                    found[name].append(place.seen(self._world.space, self._names))
                for task in tasks:
                    if task.done():
                        task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for place in self._places.values():
                await place.cluster.stop()
        return found

    def _client_of(self, name: str) -> Callable[[], LineClient]:
        resources, line = self._places[name].cluster.resources, self._lines[name]
        return lambda: LineClient(resources, line, self._clock.now)

    def _begun(self, place: _Place, connector: LineConnector | None) -> asyncio.Task[None]:
        context = contextvars.copy_context()
        context.run(PROCESS.set, place.name)
        work = running_kuelog(place.cluster, self._clock, place.settings, connector).run()
        return self._loop.create_task(work, context=context)

    async def _rest(self) -> None:
        """Until time has nothing more happen."""
        for place in PLACES:
            self._loop.after_steps(place, _MOST_CALLBACKS, _give_up)
        for _ in range(_LOOKS):
            await asyncio.sleep(_LOOK_S)
            for place in self._places.values():
                await place.look_after()


class _GivenUp(Exception):
    """It is decided for ever."""


def _give_up() -> None:
    raise _GivenUp
