"""`kuelog up` and `kuelog run`: services that run until SIGINT or SIGTERM."""

import asyncio
import signal
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console

from events.settings import SettingsObserved
from ops.cli.failures import known_failures
from ops.cli.serving.console_beside import console_beside
from ops.files.run_folder import held, keep_from_demos
from ops.production.archive.archivist import RollLimits, archivist_of
from ops.production.archive.proof.handing_out import HandingOut
from ops.production.configuration.configuration_file import configuration_of, read_configuration
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.listeners.endpoint import Endpoint
from ops.production.log.jetstream.bus import JetStreamBus, without_password
from ops.production.log.jetstream.bus import connect as connect_bus
from ops.production.log.lazy_bus import LazyBus
from ops.production.log.partitioning import divide_at_start
from ops.production.log.server.keeper import kept
from ops.production.log.site_copies import SiteCopies
from ops.production.log.sites import Joining, embedded_server
from ops.production.ports import Ports, Reach
from ops.production.process.clock import ScaledClock
from ops.production.process.crash_points import CrashPoints
from ops.production.process.event_loop import run
from ops.production.process.memory_tuning import tune_memory
from ops.production.served import MULTIKUEUE, SERVICES, VERIFIER
from ops.production.wiring import Running
from ops.terminal.endings import complain
from services.runtime.cluster_port import Connector, Reader, Watches, Writer
from services.runtime.log_errors import LogUnavailable

NOWHERE = Endpoint()
ON_CLUSTER = ("watcher", "applier", MULTIKUEUE)
"""The services that speak with Kubernetes; the others get no client for it."""


def run_service(
    service: str,
    *,
    nats: str,
    kubeconfig: str,
    context: str,
    witness: str,
    hand_out: Sequence[str] = (),
    timestamp: str = "",
    sites: Mapping[str, str] | None = None,
    partitions: Sequence[str] = (),
    scale: float,
    crash: str,
    metrics: Endpoint = NOWHERE,
    health: Endpoint = NOWHERE,
    config: Path | None = None,
    console: Console,
) -> int:
    """One service, until Ctrl-C or SIGTERM."""
    if service not in (*SERVICES, VERIFIER):
        return complain(f"there is no service {service}; there are {', '.join((*SERVICES, VERIFIER))}")
    if hand_out and not witness:
        return complain("--hand-out hands out what a witness has signed: name its folder with --witness")
    handing_out = HandingOut(Path(witness), hand_out, timestamp) if hand_out else None
    with known_failures() as outcome:
        settings = settings_of(config, console)
        tune_memory()
        serving = _serve_one(
            service,
            nats,
            kubeconfig,
            context,
            witness,
            handing_out,
            SiteCopies(sites or {}),
            partitions,
            scale,
            crash,
            metrics,
            health,
            settings,
            console,
        )
        run(until_stopped(serving))
        outcome.code = 0
    return outcome.code


def run_up_on_cluster(
    data: Path,
    *,
    kubeconfig: str,
    context: str,
    nats: str,
    metrics: Endpoint = NOWHERE,
    pages: int = 0,
    config: Path | None = None,
    rolled: RollLimits,
    hand_out: Sequence[str] = (),
    timestamp: str = "",
    partitions: int = 0,
    joining: Joining | None = None,
    console: Console,
) -> int:
    """All services beside a real cluster, until Ctrl-C or SIGTERM."""
    with known_failures() as outcome:
        settings = settings_of(config, console)
        tune_memory()
        handing_out = HandingOut(data.resolve() / "witness", hand_out, timestamp) if hand_out else None
        serving = _up_on_cluster(
            data,
            kubeconfig,
            context,
            nats,
            metrics,
            pages,
            settings,
            rolled,
            handing_out,
            partitions,
            joining,
            console,
        )
        run(until_stopped(serving))
        console.print("stopped")
        outcome.code = 0
    return outcome.code


def settings_of(config: Path | None, console: Console) -> SettingsObserved:
    """The settings of a file, with a word about what in it has no meaning; the defaults without one."""
    if config is None:
        return configuration_of({}, "the defaults").settings
    found = read_configuration(config)
    if found.ignored:
        console.print(f"{config}: of no meaning to kuelog: {', '.join(found.ignored)}", style="dim", highlight=False)
    return found.settings


async def _serve_one(
    service: str,
    nats: str,
    kubeconfig: str,
    context: str,
    witness: str,
    handing_out: HandingOut | None,
    sites: SiteCopies,
    partitions: Sequence[str],
    scale: float,
    crash: str,
    metrics: Endpoint,
    health: Endpoint,
    settings: SettingsObserved,
    console: Console,
) -> None:
    mortal = CrashPoints(crash)
    async with AsyncExitStack() as stack:
        bus = LazyBus(nats)
        stack.push_async_callback(bus.close)
        reader: Reader = AbsentCluster()
        writer: Writer = AbsentCluster()
        watches = Watches()
        connector: Connector | None = None
        reach: Reach | None = None
        if service in ON_CLUSTER:
            reader, writer, watches, connector, reach, _ = await _on_cluster(kubeconfig, context, service, stack)
        ports = Ports(
            bus=mortal.bus(bus),
            reader=reader,
            writer=mortal.writer(writer),
            connector=connector if service == MULTIKUEUE else None,
            watches=watches,
            clock=ScaledClock(scale),
            shelf=bus.shelf,
            leases=bus.leases,
            filled=bus.filled,
            connections=bus.connections,
            unreadable=bus.unreadable,
            reach=reach,
            sites=sites,
        )
        await stack.enter_async_context(sites.looked_at(ports.clock))
        folder = Path(witness) if witness else None
        running = Running(
            ports, (service,), settings=settings, witness=folder, handing_out=handing_out, partitions=partitions
        )
        await stack.enter_async_context(metrics_served(running, metrics))
        await stack.enter_async_context(health_served(running, health))
        console.print(f"{service} on {without_password(nats)} (Ctrl-C stops)", highlight=False)
        await running.run()


async def _up_on_cluster(
    data: Path,
    kubeconfig: str,
    context: str,
    nats: str,
    metrics: Endpoint,
    pages: int,
    settings: SettingsObserved,
    rolled: RollLimits,
    handing_out: HandingOut | None,
    partitions: int,
    joining: Joining | None,
    console: Console,
) -> None:
    async with AsyncExitStack() as stack:
        stack.enter_context(held(data.resolve()))
        keep_from_demos(data.resolve())
        server = None
        if not nats:
            server = embedded_server(data.resolve() / "nats", joining)
            stack.push_async_callback(server.stop)
            await server.start()
            nats = server.url
        bus = await reached(nats, console)
        stack.push_async_callback(bus.close)
        await divide_at_start(bus, partitions, ScaledClock().now())
        reader, writer, watches, connector, reach, host = await _on_cluster(kubeconfig, context, "up", stack)
        console.print(f"cluster {host}, bus {without_password(nats)} (Ctrl-C stops)")
        ports = Ports(
            bus=bus,
            reader=reader,
            writer=writer,
            connector=connector,
            watches=watches,
            clock=ScaledClock(),
            shelf=bus.shelf,
            leases=bus.leases,
            filled=bus.filled,
            connections=bus.connections,
            unreadable=bus.unreadable,
            reach=reach,
        )
        archivist = archivist_of(bus, data.resolve(), limits=rolled)
        witness = data.resolve() / "witness"
        running = Running(ports, settings=settings, witness=witness, archivist=archivist, handing_out=handing_out)
        await stack.enter_async_context(metrics_served(running, metrics))
        await stack.enter_async_context(console_beside(nats, pages, console))
        if server is not None:
            await stack.enter_async_context(kept(server, running.disk_full))
        await running.run()


def metrics_served(running: Running, at: Endpoint) -> AbstractAsyncContextManager[None]:
    """The metrics of the services in this process; who serves none at this port loads no server."""
    if not at.port:
        return nullcontext()
    from ops.production.metrics.endpoint import served  # noqa: PLC0415

    return served(running, at)


def health_served(running: Running, at: Endpoint) -> AbstractAsyncContextManager[None]:
    """What probes ask of the services in this process; who answers none at this port loads no server."""
    if not at.port:
        return nullcontext()
    from ops.production.health import health_served as answered  # noqa: PLC0415

    return answered(running, at)


async def _on_cluster(
    kubeconfig: str, context: str, service: str, stack: AsyncExitStack
) -> tuple[Reader, Writer, Watches, Connector, Reach, str]:
    """A client of the cluster, as its ports, and where it is."""
    from ops.production.kubernetes.api_reach import ApiReach  # noqa: PLC0415 - who meets no cluster starts without its client
    from ops.production.kubernetes.client import connect  # noqa: PLC0415
    from ops.production.kubernetes.reflector import Reflector  # noqa: PLC0415
    from ops.production.kubernetes.remote import KubeConnector, home_namespace  # noqa: PLC0415

    client = await connect(kubeconfig, context, service=service)
    stack.push_async_callback(client.close)
    reader = Reflector(client)
    reach = ApiReach(client.answers)
    return reader, client, reader.watches, KubeConnector(home_namespace()), reach, client.host


async def reached(nats: str, console: Console) -> JetStreamBus:
    """The bus, as soon as it answers; once a minute it is logged that it is waited for."""
    last_notice: float | None = None
    while True:
        try:
            return await connect_bus(nats, patience=_PATIENCE_S)
        except LogUnavailable as problem:
            now = asyncio.get_running_loop().time()
            if last_notice is None or now - last_notice >= _SAY_S:
                console.print(f"waiting for the bus: {problem}", highlight=False)
                last_notice = now
            await asyncio.sleep(_AGAIN_S)


async def until_stopped(serving: Coroutine[Any, Any, None]) -> None:
    """Serve, from the first thing that it needs, until a signal comes or it fails; what it holds is let go of.

    In a container nothing else ends a first process: a signal that it does not ask for does not reach it.
    """
    task = asyncio.create_task(serving)
    stop = asyncio.create_task(stop_signal().wait())
    await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()


def stop_signal() -> asyncio.Event:
    """An event that is set at SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stop.set)
    return stop


_PATIENCE_S, _AGAIN_S, _SAY_S = 3.0, 1.0, 60.0
