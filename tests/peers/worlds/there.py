"""Kueue's own manager before a real API server: worlds are put before it, many at once, and looked at when it is at rest."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from prometheus_client.core import Metric

from events.json_object import JsonObject
from events.json_path import look
from ops.production.kubernetes.client import KubeClient, connect
from services.provisioning_kinds import REQUESTS, TEMPLATES
from services.runtime.cluster_port import ObjectMissing
from tests.peers.build import API_SERVER, KUEUE
from tests.peers.worlds.cluster_events import told_in_events
from tests.peers.worlds.doing import MANAGED, collect, do, let_go, make, resource_of, start
from tests.peers.worlds.drawn import CONFIGURED, World
from tests.peers.worlds.elastic import by_key, is_elastic
from tests.peers.worlds.elastic_pods import play_jobs
from tests.peers.worlds.job_kinds import PLAYED, STORED_AT, Objects, show_as_controllers
from tests.peers.worlds.jobs import suspend_and_resume
from tests.peers.worlds.metrics import told_by_kueue, told_of_world
from tests.peers.worlds.positions import asked_of, told_of_positions
from tests.peers.worlds.provisioning import KEYS as ASKED_AT
from tests.peers.worlds.provisioning import forget_earlier
from tests.peers.worlds.rays import RAYS, operate
from tests.peers.worlds.seen import Seen, seen
from tests.peers.worlds.serving import FRAMEWORK, SERVED, SERVED_AT
from tests.peers.worlds.serving_controllers import ServingControllers
from tests.peers.worlds.trainer import RUNTIMES_STORED_AT, train
from tests.stage.api_server import ApiServer
from tests.stage.caches import Caches
from tests.stage.definitions import definitions_of
from tests.stage.installation import put_there
from tests.stage.kueue_manager import KueueManager
from tests.stage.without_jobs import holds

WORKLOADS, QUEUES, DOORS = "workloads.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io"
JOBS, PODS = "jobs.batch", "pods"
QUIET_S = 2.0
"""Kueue gathers what it looks at again for a second; who has said nothing for so long on an idle machine has nothing to say."""
NO_REST = "Kueue does not come to rest"
"""How a world is told in which it decides for ever."""
_LONGEST_S, _LOOK_S = 20.0, 0.1
_AT_ONCE = 8


GATES = {"SchedulingEquivalenceHashing": True, "AdmissionGatedBy": True, "TASMultiLayerTopology": True}
"""What is on in all worlds, as in later versions."""


class KueueEnded(Exception):
    """The manager has ended by itself."""


class Answer:
    """What Kueue made of one world: what was seen after each step, and the UIDs that its workloads and jobs had."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.uids: dict[str, str] = {}
        self.jobs: dict[str, JsonObject] = {}
        """What the API server has made of the specs of jobs and pods."""
        self.known: dict[str, str] = {}
        """By UID, of whom it is."""
        self.names: dict[str, str] = {}
        """By the names of their objects, how Workloads that are or were there are told apart."""
        self.broken = ""
        """What the API server refused of it."""


class Kueue:
    """The manager with its API server."""

    def __init__(
        self,
        client: KubeClient,
        caches: Caches,
        manager: KueueManager,
        kinds: Mapping[str, str],
        asked_at: Sequence[str],
    ) -> None:
        """Of jobs of other `kinds`, by these, where the caches have them; and where they have what an autoscaler is asked."""
        self.client, self._caches, self._manager, self._kinds = client, caches, manager, kinds
        self._asked_at = asked_at
        self._serving = ServingControllers(client)
        self._wavering: set[tuple[str, str]] = set()
        """Workloads that wait, of which Kueue says something else all the time."""

    async def play(self, worlds: Sequence[World]) -> dict[int, Answer]:
        """All of them step by step, each step of all of them at once."""
        answers = {world.seed: Answer() for world in worlds}
        await self._each(worlds, answers, self._set_up)
        await self.rest(worlds, answers)
        for number in range(max(len(world.steps) for world in worlds)):
            mine = [world for world in worlds if number < len(world.steps) and not answers[world.seed].broken]

            async def step(world: World, number: int = number) -> None:
                made = await do(self.client, world.steps[number], now())
                if made is not None and made["kind"] in MANAGED:
                    answers[world.seed].jobs[made["metadata"]["name"]] = made["spec"]

            await self._each(mine, answers, step)
            await self.rest(worlds, answers)
            told = await self._metrics() if any("metrics" in world.features for world in mine) else ()
            self.check(f"step {number} of worlds {worlds[0].seed} and on")
            for world in mine:
                if answers[world.seed].broken:
                    continue
                found = self.tell(world, answers[world.seed])
                if "metrics" in world.features:
                    found["metrics"] = told_of_world(told, world.space)
                if "positions" in world.features:
                    found["positions"] = await self._positions(world, found)
                if "events" in world.features:
                    said = await self.client.request("GET", f"/api/v1/namespaces/{world.space}/events")
                    found["events"] = told_in_events(
                        said["items"],
                        self._caches.of(WORKLOADS),
                        world.space,
                        answers[world.seed].known,
                        answers[world.seed].names,
                    )
        return answers

    async def _positions(self, world: World, found: Seen) -> JsonObject:
        paths = asked_of(found, world.space)
        answers = await self._manager.waiting(paths)
        return told_of_positions(
            dict(zip(paths, answers, strict=True)), by_key(self._caches.of(WORKLOADS), world.space)
        )

    async def _metrics(self) -> Sequence[Metric]:
        return told_by_kueue(await self._manager.metrics())

    def check(self, when: str) -> None:
        """Raises `KueueEnded`."""
        if why := self._manager.why_it_ended():
            raise KueueEnded(f"Kueue's manager has ended in {when}: {why}")

    def tell(self, world: World, answer: Answer) -> Seen:
        """What is seen of a world now, added to its answer with the UIDs of what is there."""
        objects = [self._caches.of(one) for one in (WORKLOADS, QUEUES, DOORS, JOBS, PODS)]
        found = seen(*objects, self._others(), self._asked(), world.space, answer.known)
        for name in found["workloads"].keys() & {name for space, name in self._wavering if space == world.space}:
            found["workloads"][name]["wavers"] = True
        answer.seen.append(found)
        answer.uids.update(
            (name, one["metadata"]["uid"])
            for kind in (WORKLOADS, JOBS, PODS, *self._kinds.values())
            for (space, name), one in self._caches.of(kind).items()
            if space == world.space
        )
        return found

    def objects(self, key: str) -> Objects:
        """What is there of a kind that is followed."""
        return self._caches.of(key)

    async def clear(self, worlds: Sequence[World]) -> None:
        """Take away the workloads of worlds that are over: one that waits for its checks would hold up all others under `blockAdmission`."""
        spaces = {world.space for world in worlds}
        left = {name for name in self._caches.of(WORKLOADS) if name[0] in spaces}
        for space, name in sorted(left):
            with suppress(ObjectMissing):
                await self.client.delete(resource_of("Workload"), space, name)
        for _ in range(round(_LONGEST_S / _LOOK_S)):
            if not left & self._caches.of(WORKLOADS).keys():
                return
            await asyncio.sleep(_LOOK_S)

    async def _each(
        self, worlds: Sequence[World], answers: dict[int, Answer], what: Callable[[World], Awaitable[None]]
    ) -> None:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(world: World) -> None:
            async with gate:
                try:
                    await what(world)
                except Exception as problem:  # noqa: BLE001 - one world that can't be is no reason to lose the others
                    answers[world.seed].broken = f"{type(problem).__name__}: {problem}"

        await asyncio.gather(*(one(world) for world in worlds if not answers[world.seed].broken))

    async def _set_up(self, world: World) -> None:
        for value in world.objects:
            await make(self.client, value)

    async def rest(self, worlds: Sequence[World], answers: dict[int, Answer]) -> None:
        """Until nothing of these worlds changes any more; meanwhile pods of those that are evicted end."""
        spaces = {world.space: world for world in worlds if not answers[world.seed].broken}
        began = quiet = time.monotonic()
        before, words = self.versions(), self._words()
        self._wavering = set()
        timed = any(world.takes_time for world in worlds)
        still = QUIET_S + max(world.takes_s for world in worlds)
        rays = any("rays" in world.features for world in worlds)
        played = rays or any("elastic" in world.features for world in worlds)
        longest = _LONGEST_S * (3 if timed or played else 1)
        while time.monotonic() - quiet < still * max(1.0, min(os.getloadavg()[0] / (os.cpu_count() or 1) / 2, 3.0)):
            await asyncio.sleep(_LOOK_S)
            for value in list(self._caches.of(WORKLOADS).values()):
                if holds(value, "Evicted") and self._asked_at:
                    await forget_earlier(self.client, value, list(self._caches.of(ASKED_AT[0]).values()))
            if await let_go(self.client, self._caches.of(WORKLOADS), now()):
                await self._caches.refresh(WORKLOADS)
            await self._collect()
            await suspend_and_resume(self.client, list(self._caches.of(JOBS).values()), now())
            await self._play_jobs()
            await self._serve_and_train(rays=rays)
            await show_as_controllers(self.client, self._others(), now())
            if timed:
                await start(self.client, list(self._caches.of(WORKLOADS).values()), now())
            current = self.versions()
            changed = {name for name in {*before, *current} if before.get(name) != current.get(name)}
            before, restless = current, {space for _, space in changed} & spaces.keys()
            said = self._words()
            self._wavering |= {name for name in words if words[name] != said.get(name)}
            words = said
            if restless:
                quiet = time.monotonic()
                self._wavering = set()
            if restless and quiet - began >= longest:
                for space in restless:
                    names = sorted(name for name, whose in changed if whose == space)
                    answers[spaces.pop(space).seed].broken = f"{NO_REST}: {', '.join(names)} still changes"

    async def _serve_and_train(self, *, rays: bool) -> None:
        """Do what the controllers of what serves do, and the trainer, and Ray's operator where a world has its elastic jobs."""
        if not self._kinds:
            return
        await self._caches.refresh(PODS, *SERVED_AT.values())
        await self._serving.play({kind: self._others()[kind] for kind in SERVED}, self._caches.of(PODS), now())
        runtimes = {kind: self._caches.of(key) for kind, key in RUNTIMES_STORED_AT.items()}
        await train(self.client, self._others(), runtimes)
        if rays:
            await self._caches.refresh(PODS, *(self._kinds[kind] for kind in RAYS))
            await operate(self.client, self._others(), self._caches.of(PODS))

    async def _play_jobs(self) -> None:
        """Do what the controller of Jobs does, of those that are elastic."""
        jobs = self._caches.of(JOBS).values()
        pods = self._caches.of(PODS).values()
        owned = any((one["metadata"].get("ownerReferences") or [{}])[0].get("kind") == "Job" for one in pods)
        if owned or any(map(is_elastic, jobs)):
            await self._caches.refresh(PODS, JOBS)
            await play_jobs(self.client, self._caches.of(JOBS), self._caches.of(PODS))

    async def _collect(self) -> None:
        of = self._caches.of
        await collect(
            self.client, resource_of("Workload"), *(of(one) for one in (WORKLOADS, JOBS, PODS, *self._kinds.values()))
        )
        if self._asked_at:
            requests, templates, _ = self._asked_at
            await collect(self.client, REQUESTS, of(requests), of(WORKLOADS))
            await collect(self.client, TEMPLATES, of(templates), of(WORKLOADS), of(requests))

    def versions(self) -> dict[tuple[str, str], Any]:
        """By kind and name, and by world, the version of each object; of who waits all but for why."""
        told = {WORKLOADS: _but_for_words, QUEUES: _version, DOORS: _but_for_counts, JOBS: _version, PODS: _version}
        told |= dict.fromkeys((*self._kinds.values(), *self._asked_at), _version)
        return {
            (f"{key} {name}", space or name.partition("-")[0]): of(value)
            for key, of in told.items()
            for (space, name), value in self._caches.of(key).items()
        }

    def _others(self) -> dict[str, Objects]:
        """Jobs of other kinds, by these."""
        return {kind: self._caches.of(key) for kind, key in self._kinds.items()}

    def _asked(self) -> dict[str, Objects]:
        """What is asked of an autoscaler, and the checks by which it is asked."""
        return {key: self._caches.of(key) for key in self._asked_at}

    def _words(self) -> dict[tuple[str, str], str]:
        """By workload that waits, why."""
        return {
            name: look(value, "status.conditions[QuotaReserved].message") or ""
            for name, value in self._caches.of(WORKLOADS).items()
            if not look(value, "status.admission")
        }


def _version(value: JsonObject) -> Any:
    return value["metadata"]["resourceVersion"]


def _but_for_counts(value: JsonObject) -> Any:
    """What a local queue shows but for its use up to now and how many wait there: who is tried at the moment is none of them."""
    return {**(value.get("status") or {}), "pendingWorkloads": 0, "fairSharing": None}


def _but_for_words(value: JsonObject) -> Any:
    """What is seen of a workload without why it has no quota, and what it was tried with."""
    (found,) = seen({("", value["metadata"]["name"]): value}, {}, {}, {}, {}, {}, {}, "", {})["workloads"].values()
    waits = not found["pods"] and found["conditions"].get("QuotaReserved", [""])[0] == "False"
    return {**found, "requests": {}, "conditions": {**found["conditions"], "QuotaReserved": ""}} if waits else found


def now() -> int:
    """The time of this machine."""
    return round(time.time() * 1000)


@asynccontextmanager
async def kueue(
    peers: Path,
    folder: Path,
    *,
    fair: bool,
    more: JsonObject,
    kinds: Sequence[JsonObject],
    autoscaler: Sequence[JsonObject],
    followed: Sequence[str] = (),
) -> AsyncGenerator[Kueue]:
    """The manager and its API server, which end with the block; `more` is what its configuration says beside that.

    `kinds` are the definitions of other kinds of jobs that worlds have, `autoscaler` those of what an autoscaler is asked, and
    `followed` what else is looked at.
    """
    async with AsyncExitStack() as stack:
        server = ApiServer(peers / API_SERVER, folder / "server")
        stack.callback(server.stop)
        server.start()
        client = await connect(str(server.kubeconfig))
        stack.push_async_callback(client.close)
        said: JsonObject = {"clientConnection": {"qps": 1000, "burst": 2000}, "resources": CONFIGURED, **more}
        if fair:
            both = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
            said.setdefault("fairSharing", {"preemptionStrategies": both})
        manager = KueueManager(
            peers / KUEUE / "manager",
            server.kubeconfig,
            folder,
            *((*(one.framework for one in PLAYED.values()), FRAMEWORK) if kinds else ()),
            gates={**GATES, **said.pop("featureGates", {})},
            more=said,
        )
        definitions = definitions_of("kueue")
        for value in (*kinds, *autoscaler):
            await put_there(client, value)
        await manager.install(client, definitions)
        stack.push_async_callback(manager.stop)
        await manager.start(client, definitions)
        caches = Caches(client)
        stack.push_async_callback(caches.close)
        for value in (*definitions, *kinds, *autoscaler):
            caches.learn(value)
        others = {**STORED_AT, **SERVED_AT} if kinds else {}
        runtimes = RUNTIMES_STORED_AT if kinds else {}
        asked_at = ASKED_AT if autoscaler else ()
        more_kinds = (*others.values(), *runtimes.values(), *asked_at, *followed)
        await caches.follow(WORKLOADS, QUEUES, DOORS, JOBS, PODS, *more_kinds)
        yield Kueue(client, caches, manager, others, asked_at)
