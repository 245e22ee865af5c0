"""Serving the visibility API: to whoever is on this machine, or to the API server's front proxy alone."""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console

from ops.cli.serving.webhook_commands import Source, from_files, from_secret, keep_shown
from ops.production.fold_positions import fold_positions
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.client import connect as connect_kube
from ops.production.listeners.access_review import AccessReviews
from ops.production.listeners.certificate import Certificate
from ops.production.listeners.endpoint import Endpoint
from ops.production.log.jetstream.bus import connect as connect_bus
from ops.production.log.jetstream.bus import without_password
from ops.production.log.lazy_bus import LazyBus
from ops.production.metrics.certificates import CertificateMetrics
from ops.production.metrics.endpoint import served
from ops.production.process.clock import ScaledClock
from ops.production.visibility.access import AccessByReview
from ops.production.visibility.api import Visibility
from ops.production.visibility.api_service import OwnApiServices
from ops.production.visibility.lag_metrics import LagMetrics
from ops.production.visibility.server import (
    Followed,
    VisibilityUnserved,
    follower,
    keep_proxy,
    proxy_in,
    serving,
    shown_from,
)
from ops.production.webhook.trust import CertificateKeeper
from ops.production.wiring import Running


class VisibilityOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How it is to be served."""

    nats: str
    host: str
    port: int
    kubeconfig: str
    context: str
    service: str
    """Namespace and name."""
    files: tuple[Path, Path] | None
    """Certificate and key."""
    client_ca: Path | None
    names: tuple[str, ...]
    scale: float
    metrics: Endpoint
    lag: bool = False
    """Whether its lag is served as external.metrics.k8s.io."""


async def serve_here(asked: VisibilityOptions, console: Console) -> None:
    """Serve to everybody on this machine, until SIGINT or SIGTERM."""
    tls = shown_from(*asked.files).context if asked.files is not None else None
    async with AsyncExitStack() as stack:
        bus = await connect_bus(asked.nats)
        stack.push_async_callback(bus.close)
        running = follower(bus, asked.scale)
        visibility = Visibility(Followed(running), lag=_lag(asked, running))
        found = await stack.enter_async_context(serving(visibility, asked.host, asked.port, tls))
        await stack.enter_async_context(served(running, asked.metrics))
        console.print(
            f"visibility API on port {found}, bus {without_password(asked.nats)} (Ctrl-C stops)", highlight=False
        )
        await running.run()


async def serve_to_api_server(asked: VisibilityOptions, console: Console) -> None:
    """Serve to the front proxy whom the API server allows to read, until SIGINT or SIGTERM."""
    namespace, _, name = asked.service.rpartition("/")
    if not namespace or not name:
        raise VisibilityUnserved(f"--service {asked.service}: expected NAMESPACE/NAME")
    given = proxy_in(asked.client_ca, asked.names) if asked.client_ca is not None else None
    async with AsyncExitStack() as stack:
        client = await connect_kube(asked.kubeconfig, asked.context, service="visibility")
        stack.push_async_callback(client.close)
        # The bus may come later, as it may for the services: probes are answered meanwhile.
        bus = LazyBus(asked.nats)
        stack.push_async_callback(bus.close)
        running, certificate = follower(bus, asked.scale), Certificate(asks_clients=True)
        access = AccessByReview(AccessReviews(client, asyncio.get_running_loop().time))
        keeping = [keep_shown(certificate, _source(asked, client, namespace, name))]
        if given is None:
            keeping.append(keep_proxy(access, certificate, client))
        else:
            access.proxy = given
            certificate.believe(given.authorities)
        for one in keeping:
            task = asyncio.create_task(one)
            stack.callback(task.cancel)
        visibility = Visibility(
            Followed(running), access, _lag(asked, running), lambda: certificate.why_not(running.ports.clock.now())
        )
        found = await stack.enter_async_context(serving(visibility, asked.host, asked.port, certificate.context))
        told = CertificateMetrics(certificate, "visibility")
        await stack.enter_async_context(served(running, asked.metrics, told))
        console.print(f"visibility API on port {found}, bus and cluster {client.host} (Ctrl-C stops)", highlight=False)
        await running.run()


def _lag(asked: VisibilityOptions, running: Running) -> LagMetrics | None:
    return LagMetrics(partial(fold_positions, running), running.ports.clock.now) if asked.lag else None


def _source(asked: VisibilityOptions, client: KubeClient, namespace: str, name: str) -> Source:
    if asked.files is not None:
        return from_files(*asked.files)
    hearers = OwnApiServices(client, namespace=namespace, service=name)
    place = {"namespace": namespace, "service": name, "secret": f"{name}-certificate"}
    return from_secret(CertificateKeeper(client, ScaledClock(), hearers, **place))
