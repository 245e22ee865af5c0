"""kuelog on an API, a bus and a clock in this process: what it makes of a world, step by step."""

import asyncio
import contextvars
import json
import random
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from aiohttp.test_utils import make_mocked_request
from msgspec.structs import replace
from prometheus_client.registry import Collector

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.production.configuration.configuration_file import configuration_of
from ops.production.kubernetes.reflector import Reflector
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.memory import MemoryBus
from ops.production.metrics.counters.followers import CountersFollowers
from ops.production.metrics.counters.queue_counters import CounterMetrics
from ops.production.metrics.queues import QueueMetrics
from ops.production.process.clock import ScaledClock
from ops.production.served import SERVICES
from ops.production.visibility.api import GROUP, Visibility
from ops.production.visibility.server import Followed
from ops.production.wiring import Ports, Running
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient, OpenGate
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.resources import Validator
from ops.sandbox.scenario.platform import convert, suspending, validating
from ops.sandbox.simulate.simulation import BEGINS
from ops.sandbox.simulate.virtual_loop import PROCESS, VirtualLoop
from services.provisioning_kinds import REQUESTS, TEMPLATES
from services.runtime.cluster_port import Connector
from services.runtime.tracing import NoTracer
from tests.peers.worlds.claims import LATER_NAMES
from tests.peers.worlds.cluster_events import told_in_events
from tests.peers.worlds.doing import MANAGED, WORKLOADS, collect, do, let_go, make, start
from tests.peers.worlds.drawn import CONFIGURED, WITH_DEFINITIONS, World
from tests.peers.worlds.elastic import by_key
from tests.peers.worlds.elastic_pods import play_jobs
from tests.peers.worlds.job_kinds import STORED_AT, Objects, show_as_controllers
from tests.peers.worlds.jobs import suspend_and_resume
from tests.peers.worlds.limit_ranger import limited
from tests.peers.worlds.metrics import told_of_world
from tests.peers.worlds.positions import asked_of, told_of_positions
from tests.peers.worlds.provisioning import KEYS as ASKED_AT
from tests.peers.worlds.rays import CLUSTERS, operate
from tests.peers.worlds.seen import Seen, seen
from tests.peers.worlds.serving import SERVED, SERVED_AT, STATEFUL_SET
from tests.peers.worlds.serving_controllers import ServingControllers
from tests.peers.worlds.trainer import JOB_SET, RUNTIMES_STORED_AT, is_made, refuse_patches, train
from tests.stage.definitions import definitions_of

STEP_S = 10.0
"""Virtual time from one step to the next."""
_LOOKS, _LOOK_S = 120, 0.25
"""How often, and when, pods are looked after in a world in which something takes time."""
_PLAIN_LOOKS = 40
"""How often in any other world it is looked for those who have to stop."""
_MOST_CALLBACKS = 100_000
"""So much never happens between two steps of a small world that comes to rest."""
LATER_GATES = (
    "FlavorFungibilityPreserveScanProgress",
    "QuotaCheckStrategy",
    "RecomputeAssignmentUponPreemptionTargetsOverlap",
    "TASAssignmentsEncodingByHostnamePrefix",
    "TASHandleOverlappingFlavors",
    "TASRecomputeAssignmentWithinSchedulingCycle",
    "TASValidateWorkloadSliceSize",
    "UnadmittedWorkloadsObservability",
)
"""What Kueue 0.17 does not have yet."""


class NeverAtRest(Exception):
    """kuelog decides for ever about a world in which nothing happens any more; the last of what was `seen` is in the middle of it."""

    def __init__(self, seen: list[Seen]) -> None:
        super().__init__()
        self.seen = seen


def decided_here(
    world: World,
    uids: Mapping[str, str],
    *,
    fair: bool,
    more: JsonObject,
    kinds: Sequence[JsonObject],
    autoscaler: Sequence[JsonObject],
) -> list[Seen]:
    """What is seen after each step; workloads and jobs have the UIDs that they are given. Raises `NeverAtRest`.

    `kinds` are the definitions of other kinds of jobs that worlds have, and `autoscaler` those of what an autoscaler is asked.
    """
    loop = VirtualLoop(f"{world.seed}/order")
    random.seed(f"{world.seed}/patience")
    loop.set_exception_handler(lambda _loop, _context: None)
    played = _Played(loop, world, uids, fair=fair, more=more, kinds=kinds, autoscaler=autoscaler)
    try:
        return loop.run_until_complete(played.played())
    except _GivenUp as given_up:
        raise NeverAtRest([*played.found, played.seen()]) from given_up
    finally:
        loop.close()


class _Played:
    def __init__(
        self,
        loop: VirtualLoop,
        world: World,
        uids: Mapping[str, str],
        *,
        fair: bool,
        more: JsonObject,
        kinds: Sequence[JsonObject],
        autoscaler: Sequence[JsonObject],
    ) -> None:
        self._autoscaler = autoscaler
        self._loop, self._world, self._uids, self._kinds = loop, world, uids, kinds
        self._clock = ScaledClock(1.0, BEGINS, loop.time)
        self._settings = settings_of(more, fair=fair)
        self._cluster = EmbeddedCluster(
            clock=self._clock,
            mutators=(
                self._named,
                self._with_overhead,
                self._limited,
                suspending(self._settings, lambda _namespace: {}),
            ),
            converter=convert,
            validators=(with_checks_for_any_flavors(validating(self._settings)), refuse_patches),
            identity="",
            controllers=False,
        )
        self.found: list[Seen] = []
        """What was seen after each step."""
        self._known: dict[str, str] = {}
        self._names: dict[str, str] = {}
        """By the names of their objects, how Workloads that are or were there are told apart."""
        self._serving: ServingControllers | None = None
        self._running: Running
        self._metrics: Sequence[Collector] = ()

    def _named(self, operation: str, kind: ApiKind, value: Any) -> Any:
        given = kind.kind in MANAGED and operation == "CREATE" and not _is_one_of_many(kind.kind, value)
        uid = self._uids.get(value["metadata"]["name"], "") if given else ""
        return {**value, "metadata": {**value["metadata"], "uid": uid}} if uid else value

    def _with_overhead(self, operation: str, kind: ApiKind, value: Any) -> Any:
        """A pod with the overhead of its RuntimeClass, which the API server gives it before webhooks are asked."""
        name = value["spec"].get("runtimeClassName") if kind.kind == "Pod" and operation == "CREATE" else None
        found = self._cluster.store.of("runtimeclasses.node.k8s.io").get(("", name)) if name else None
        fixed = None if found is None else (found.get("overhead") or {}).get("podFixed")
        return value if fixed is None else {**value, "spec": {**value["spec"], "overhead": fixed}}

    def _limited(self, operation: str, kind: ApiKind, value: Any) -> Any:
        """A pod with what a LimitRange of its namespace gives it."""
        if kind.kind != "Pod" or operation != "CREATE":
            return value
        ranges = self._cluster.store.of("limitranges")
        return limited(value, [one for (space, _), one in ranges.items() if space == value["metadata"]["namespace"]])

    async def played(self) -> list[Seen]:
        for value in (*definitions_of("kueue"), *self._kinds, *self._autoscaler):
            self._cluster.add(value)
        client = InProcessClient(self._cluster.resources, OpenGate(), self._clock.now)
        for value in self._world.objects:
            await make(client, value)
        context = contextvars.copy_context()
        context.run(PROCESS.set, "kuelog")
        task = self._loop.create_task(self._serve(), context=context)
        try:
            await asyncio.sleep(STEP_S)
            for step in self._world.steps:
                self._loop.after_steps("kuelog", _MOST_CALLBACKS, _give_up)
                await do(client, step, self._clock.now())
                await self._rest(client)
                self.found.append(self.seen())
                if "positions" in self._world.features:
                    self.found[-1]["positions"] = await self._positions(self.found[-1])
                if task.done():
                    task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._cluster.stop()
        return self.found

    def seen(self) -> Seen:
        """What is seen now."""
        store = self._cluster.store
        workloads, queues, doors = (
            store.of(f"{one}.kueue.x-k8s.io") for one in ("workloads", "clusterqueues", "localqueues")
        )
        jobs, pods = store.of("jobs.batch"), store.of("pods")
        space = self._world.space
        found = seen(workloads, queues, doors, jobs, pods, self._others(), self._asked(), space, self._known)
        if "metrics" in self._world.features:
            found["metrics"] = told_of_world(chain(*(one.collect() for one in self._metrics)), space)
        if "events" in self._world.features:
            found["events"] = told_in_events(store.of("events").values(), workloads, space, self._known, self._names)
        return found

    async def _positions(self, found: Seen) -> JsonObject:
        visibility = Visibility(Followed(self._running))
        answers: dict[str, JsonObject] = {}
        for path in asked_of(found, self._world.space):
            request = make_mocked_request("GET", f"/apis/{GROUP}/v1beta2/{path}")
            answer = await visibility.handle(request)
            answers[path] = json.loads(answer.text or "")
        return told_of_positions(answers, by_key(self._cluster.store.of("workloads.kueue.x-k8s.io"), self._world.space))

    def _others(self) -> dict[str, Objects]:
        """Jobs of other kinds, by these."""
        return {kind: self._cluster.store.of(key) for kind, key in {**STORED_AT, **SERVED_AT}.items() if self._kinds}

    def _asked(self) -> dict[str, Objects]:
        """What is asked of an autoscaler, and the checks by which it is asked."""
        return {key: self._cluster.store.of(key) for key in ASKED_AT if self._autoscaler}

    async def _rest(self, client: InProcessClient) -> None:
        """Until time has nothing more happen; meanwhile pods of those who are admitted get ready, and Jobs are suspended and resumed."""
        if not self._world.takes_time and not {"jobs", "elastic", "pods", *WITH_DEFINITIONS} & set(
            self._world.features
        ):
            for _ in range(_PLAIN_LOOKS):
                await asyncio.sleep(STEP_S / _PLAIN_LOOKS)
                await let_go(client, self._cluster.store.of("workloads.kueue.x-k8s.io"), self._clock.now())
            return
        served = self._serving = self._serving or ServingControllers(client)
        for _ in range(_LOOKS):
            await asyncio.sleep(_LOOK_S)
            store = self._cluster.store
            others = self._others()
            owners = (store.of("jobs.batch"), store.of("pods"), *others.values())
            workloads = store.of("workloads.kueue.x-k8s.io")
            await let_go(client, workloads, self._clock.now())
            await collect(client, WORKLOADS, workloads, *owners)
            if self._autoscaler:
                requests, templates, _ = (store.of(key) for key in ASKED_AT)
                await collect(client, REQUESTS, requests, workloads)
                await collect(client, TEMPLATES, templates, workloads, requests)
            if self._kinds:
                await served.play({kind: others[kind] for kind in SERVED}, store.of("pods"), self._clock.now())
                if "rays" in self._world.features:
                    await operate(client, others, store.of("pods"))
                await train(client, others, {kind: store.of(key) for kind, key in RUNTIMES_STORED_AT.items()})
            await show_as_controllers(client, others, self._clock.now())
            await play_jobs(client, store.of("jobs.batch"), store.of("pods"))
            await suspend_and_resume(client, list(store.of("jobs.batch").values()), self._clock.now())
            await start(client, list(store.of("workloads.kueue.x-k8s.io").values()), self._clock.now())

    async def _serve(self) -> None:
        running = self._running = running_kuelog(self._cluster, self._clock, self._settings)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(running.run())
            if "metrics" in self._world.features:
                counting = CountersFollowers(running)
                self._metrics = (QueueMetrics(running.world_of_queues, self._clock.now), CounterMetrics(counting))
                tasks.create_task(counting.run())


def settings_of(more: JsonObject, *, fair: bool) -> SettingsObserved:
    """What Kueue's configuration says of all worlds, with the gates of 0.17, which knows of no cards."""
    asked = {LATER_NAMES.get(name, name): on for name, on in (more.get("featureGates") or {}).items()}
    said = {"resources": CONFIGURED, "waitForPodsReady": {"enable": False}, **more, "featureGates": asked}
    configured = configuration_of(said, "the configuration of all worlds").settings
    gates = {**configured.gates, **dict.fromkeys(LATER_GATES, False)}
    return replace(configured, devices=False, fair_sharing=fair, gates=gates)


def running_kuelog(
    cluster: EmbeddedCluster, clock: ScaledClock, settings: SettingsObserved, connector: Connector | None = None
) -> Running:
    """kuelog with all services on this cluster, with a log of its own."""
    client = InProcessClient(cluster.resources, OpenGate(), clock.now)
    ports = Ports(
        bus=MemoryBus(clock.now),
        reader=Reflector(client),
        writer=client,
        clock=clock,
        shelf=MemoryShelf(),
        connector=connector,
    )
    return Running(ports, SERVICES, settings=settings, replica="kuelog", tracer=NoTracer())


def _is_one_of_many(kind: str, value: JsonObject) -> bool:
    """Whether several objects of its name are made, at once or one after the other: the JobSet of a TrainJob, the RayCluster of a RayJob, a pod of a StatefulSet, of a Job or of a RayCluster."""
    owners = value["metadata"].get("ownerReferences") or ()
    return (kind in (JOB_SET, CLUSTERS.kind) and is_made(value)) or (
        kind == "Pod" and any(one["kind"] in (STATEFUL_SET, "Job", CLUSTERS.kind) for one in owners)
    )


def with_checks_for_any_flavors(validate: Validator) -> Validator:
    """As Kueue 0.17.0 has it, whose webhook does not look at the checks of a queue."""

    def without_checks(value: JsonObject) -> JsonObject:
        return {**value, "spec": {**value["spec"], "admissionChecksStrategy": None}}

    def looking(operation: str, kind: ApiKind, value: JsonObject, before: JsonObject | None) -> None:
        if kind.kind == "ClusterQueue":
            value, before = without_checks(value), without_checks(before) if before is not None else None
        validate(operation, kind, value, before)

    return looking


class _GivenUp(Exception):
    """It is decided for ever."""


def _give_up() -> None:
    raise _GivenUp
