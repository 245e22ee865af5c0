"""A whole platform in one process: a real nats-server, the embedded cluster, and all services on top."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.files.run_folder import check_demo, clear_for_demo, held, keep_from_demos
from ops.production.archive.archivist import RollLimits, archivist_of
from ops.production.crds.definitions import GROUP
from ops.production.crds.definitions import manifests as crds
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.client import connect as connect_kube
from ops.production.kubernetes.reflector import Reflector
from ops.production.kubernetes.remote import HOME, KubeConnector
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.bus import connect as connect_bus
from ops.production.log.partitioning import divide_at_start
from ops.production.log.server.keeper import kept
from ops.production.log.server.server import NatsServer
from ops.production.log.sites import Joining, embedded_server
from ops.production.process.clock import ScaledClock
from ops.production.served import SERVICES
from ops.production.visibility.api import GROUP as VISIBILITY
from ops.production.visibility.api import Visibility
from ops.production.visibility.server import Followed
from ops.production.webhook.configurations import KUEUES, VALIDATING, jobs, serving
from ops.production.webhook.conversion import converted
from ops.production.webhook.default_local_queues import LOCAL_QUEUES
from ops.production.webhook.multikueue_queues import leads_elsewhere
from ops.production.webhook.review import ReviewRequest, judged
from ops.production.webhook.server import reviewed
from ops.production.webhook.verdicts import nowhere, problems_of
from ops.production.wiring import Ports, Running
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.failures import denied
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.resources import Mutator, Validator
from ops.sandbox.embedded_cluster.versions import renamed
from ops.sandbox.scenario.played_clock import PlayedClock
from projections.nodes.affinity import selects
from services.jobs.default_queue import DEFAULT_QUEUE, in_default_queue
from services.jobs.defaulting import suspend_queued
from services.jobs.kinds.managed_by import given_to_multikueue
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.named_queue import named_queue
from services.jobs.owners import answered, depends_on_owner, managed_above
from services.runtime.cluster_port import Resource
from services.runtime.own_task import stopped


class ScenarioPlatform(msgspec.Struct, kw_only=True):
    """Everything that runs, and where to find it."""

    cluster: EmbeddedCluster
    server: NatsServer
    bus: JetStreamBus
    client: KubeClient
    clock: ScaledClock
    running: Running
    task: asyncio.Task[None]

    def check(self) -> None:
        """Raise what a service has failed with, if one has."""
        if self.task.done():
            self.task.result()


def suspend(operation: str, kind: Any, value: dict[str, Any]) -> dict[str, Any]:
    """What the mutating webhook does to a job, played by the embedded API itself."""
    return suspend_queued(operation, kind.kind, value)


def convert(value: dict[str, Any], wanted: str) -> dict[str, Any]:
    """What the converting webhook does, played by the embedded API itself."""
    return converted(value, wanted) if wanted.partition("/")[0] == GROUP else renamed(value, wanted)


def suspending(
    settings: SettingsObserved,
    labels: Callable[[str], Mapping[str, str]],
    elsewhere: Callable[[str, str], bool] = nowhere,
    has_default: Callable[[str], bool] = lambda _: False,
    found: Callable[[Resource, str, str], JsonObject | None] | None = None,
) -> Mutator:
    """The same as `suspend`, under a configuration; `labels` are those of a namespace.

    `elsewhere` says whether a local queue, by namespace and name, leads to other clusters, `has_default` whether a namespace
    has a local queue for those who name none, `found` gives an object, by those, of which another may be a part; without it
    owners go by their kind alone.
    """
    kinds, chosen = kinds_of(settings), settings.managed_namespaces

    def mutate(operation: str, kind: ApiKind, value: dict[str, Any]) -> dict[str, Any]:
        namespace = value["metadata"].get("namespace", "")
        if namespace and chosen is not None and not selects(chosen, labels(namespace)):
            return value
        if namespace and has_default(namespace):
            value = in_default_queue(operation, kind.kind, value, settings)
        if operation == "CREATE" and kinds.of(kind.api_version, kind.kind) and elsewhere(namespace, named_queue(value)):
            value = given_to_multikueue(value, kind.kind)
        owned, read = None, found
        if read is not None and depends_on_owner(value, kind.kind, kinds):
            owned = answered(managed_above(value, kinds), lambda one: read(one.resource, namespace, one.name))
        return suspend_queued(operation, kind.kind, value, kinds, owned=owned)

    return mutate


def validating(settings: SettingsObserved, has_default: Callable[[str], bool] = lambda _: False) -> Validator:
    """The validating webhook, played by the embedded API itself: it asks about the kinds that the real one is asked about."""
    watched = {
        (group, plural)
        for one in (KUEUES, jobs(kinds_of(settings)), serving(kinds_of(settings)))
        for group, _, kinds in one.kinds
        for plural in kinds
    }

    def validate(operation: str, kind: ApiKind, value: dict[str, Any], before: dict[str, Any] | None) -> None:
        if (kind.group, kind.plural) not in watched:
            return
        meta = value["metadata"]
        request = ReviewRequest(
            uid=meta["uid"],
            operation=operation,
            kind={"group": kind.group, "version": kind.version, "kind": kind.kind},
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            object=value,
            old_object=before,
        )
        spaces = {request.namespace} if request.namespace and has_default(request.namespace) else set[str]()
        response = reviewed(request, lambda: judged(request, problems_of(request, settings, spaces)))["response"]
        if not response["allowed"]:
            raise denied(VALIDATING, response["status"])

    return validate


@asynccontextmanager
async def platform(
    data: Path,
    *,
    scale: float = 1.0,
    settings: SettingsObserved | None = None,
    services: Sequence[str] = SERVICES,
    fresh: bool = True,
    port: int = 0,
    rolled: RollLimits | None = None,
    clock: ScaledClock | None = None,
    partitions: int = 0,
    joining: Joining | None = None,
) -> AsyncGenerator[ScenarioPlatform, None]:
    """Start all of it in a folder, and stop all of it at the end; `fresh` as a demo, in a folder that it clears.

    On the `clock` of another platform it goes on as that one does, whatever the scale.

    Raises `FolderHeld`, `FolderUnusable`, `NotADemosFolder`.
    """
    if fresh:
        check_demo(data)
    with held(data):
        if fresh:
            clear_for_demo(data)
        else:
            keep_from_demos(data)
        own = clock or (PlayedClock(scale) if scale > 1 else ScaledClock(scale))
        keeps = clock is None and isinstance(own, PlayedClock)
        async with _served(
            data, own, settings or SettingsObserved(), services, port, rolled, partitions, joining, keeps=keeps
        ) as on:
            yield on


@asynccontextmanager
async def _served(
    data: Path,
    clock: ScaledClock,
    settings: SettingsObserved,
    services: Sequence[str],
    port: int,
    rolled: RollLimits | None,
    partitions: int,
    joining: Joining | None,
    *,
    keeps: bool,
) -> AsyncGenerator[ScenarioPlatform, None]:
    def labels(namespace: str) -> Mapping[str, str]:
        found = cluster.store.get("namespaces", ("", namespace)) or {"metadata": {}}
        return {"kubernetes.io/metadata.name": namespace, **(found["metadata"].get("labels") or {})}

    def found(resource: Resource, namespace: str, name: str) -> JsonObject | None:
        return cluster.store.get(f"{resource.plural}.{resource.group}".rstrip("."), (namespace, name))

    def has_default(namespace: str) -> bool:
        return found(LOCAL_QUEUES, namespace, DEFAULT_QUEUE) is not None

    def elsewhere(namespace: str, queue: str) -> bool:
        return settings.multikueue is not None and leads_elsewhere(found, namespace, queue)

    cluster = EmbeddedCluster(
        clock=clock,
        data_dir=data / "cluster",
        kubeconfig=data / "kubeconfig",
        mutators=(suspending(settings, labels, elsewhere, has_default, found),),
        converter=convert,
        validators=(validating(settings, has_default),),
        serving=True,
        port=port,
    )

    def at_rest() -> bool:
        return bool(running.hosts) and all(host.quiet.is_set() for host in running.hosts.values())

    for crd in crds():
        cluster.add(crd)
    server = embedded_server(data / "nats", joining)
    await cluster.start()
    try:
        await server.start()
        bus = await connect_bus(server.url)
        client = await connect_kube(str(data / "kubeconfig"))
        reader = Reflector(client)
        ports = Ports(
            bus=bus,
            reader=reader,
            writer=client,
            connector=KubeConnector(HOME),
            watches=reader.watches,
            clock=clock,
            shelf=bus.shelf,
            filled=bus.filled,
            connections=lambda: bus.connections() - 1,  # On a bus that was started here nobody else has read anything.
        )
        await divide_at_start(bus, partitions, clock.now())
        archivist = archivist_of(bus, data, limits=rolled)
        running = Running(ports, services, settings=settings, witness=data / "witness", archivist=archivist)
        cluster.aggregated[VISIBILITY] = Visibility(Followed(running))
        task = asyncio.create_task(running.run())
        if isinstance(clock, PlayedClock):
            clock.heed(at_rest)
        played = asyncio.create_task(clock.keep()) if keeps and isinstance(clock, PlayedClock) else None
        try:
            async with kept(server, running.disk_full):
                yield ScenarioPlatform(
                    cluster=cluster, server=server, bus=bus, client=client, clock=clock, running=running, task=task
                )
        finally:
            await stopped(task)
            if played is not None:
                await stopped(played)
            await client.close()
            await bus.close()
    finally:
        await server.stop()
        await cluster.stop()
