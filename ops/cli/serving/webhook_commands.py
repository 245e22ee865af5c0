"""`kuelog run webhook`: the webhooks with certificates of their own or from a folder, until SIGINT or SIGTERM."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import structlog
from rich.console import Console

from events.settings import SettingsObserved
from ops.cli.failures import known_failures
from ops.cli.serving.serve import settings_of, until_stopped
from ops.production.kubernetes.client import connect
from ops.production.kubernetes.reflector import Reflector
from ops.production.listeners.certificate import Certificate
from ops.production.listeners.endpoint import Endpoint
from ops.production.metrics.certificates import CertificateMetrics
from ops.production.metrics.endpoint import metrics_alone
from ops.production.process.clock import ScaledClock
from ops.production.process.event_loop import run
from ops.production.webhook.certificates import renewed
from ops.production.webhook.default_local_queues import DefaultLocalQueues, MissingQueues
from ops.production.webhook.managed_namespaces import ManagedNamespaces
from ops.production.webhook.multikueue_queues import MultiKueueQueues
from ops.production.webhook.owners import Owners
from ops.production.webhook.server import served_webhooks, webhook_app
from ops.production.webhook.trust import Callers, CertificateKeeper
from ops.production.webhook.verdicts import nowhere
from ops.terminal.endings import complain
from services.jobs.kinds.managed_kinds import kinds_of
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing

log = structlog.get_logger()

PORT = 9443
_LOOK_S, _AGAIN_S = 60.0, 1.0


def run_webhook(
    *,
    kubeconfig: str,
    context: str,
    port: int,
    cert_dir: Path | None,
    service: str,
    config: Path | None,
    metrics: Endpoint,
    console: Console,
) -> int:
    """The webhooks, until Ctrl-C or SIGTERM."""
    namespace, _, name = service.rpartition("/")
    if not namespace or not name:
        return complain(f"--service {service}: expected NAMESPACE/NAME")
    if cert_dir is not None and not (cert_dir / "tls.crt").exists():
        return complain(f"{cert_dir}: there is no tls.crt; cert-manager writes tls.crt and tls.key")
    with known_failures() as outcome:
        settings = settings_of(config, console)
        run(until_stopped(_serve(kubeconfig, context, port, cert_dir, namespace, name, settings, metrics)))
        outcome.code = 0
    return outcome.code


async def _serve(
    kubeconfig: str,
    context: str,
    port: int,
    cert_dir: Path | None,
    namespace: str,
    name: str,
    settings: SettingsObserved,
    metrics: Endpoint,
) -> None:
    async with AsyncExitStack() as stack:
        client = await connect(kubeconfig, context, service="webhook")
        stack.push_async_callback(client.close)
        local_queues, certificate = DefaultLocalQueues(Reflector(client)), Certificate()
        remote = MultiKueueQueues(Reflector(client)) if settings.multikueue is not None else None
        rooms = ManagedNamespaces(Reflector(client), client, settings.managed_namespaces)
        callers = Callers(client, namespace=namespace, service=name)
        trust = CertificateKeeper(
            client, ScaledClock(), callers, namespace=namespace, service=name, secret=f"{name}-certificate"
        )
        source = from_files(cert_dir / "tls.crt", cert_dir / "tls.key") if cert_dir else from_secret(trust)

        def ready() -> bool:
            return local_queues.listed.is_set() and (remote is None or remote.listed)

        clock = ScaledClock()

        elsewhere = remote.lead_elsewhere if remote is not None else nowhere
        missing = MissingQueues(local_queues, client, settings.missing_queues)
        owners = Owners(client, kinds_of(settings))
        app = webhook_app(
            settings,
            local_queues,
            rooms,
            ready,
            elsewhere=elsewhere,
            missing=missing,
            owners=owners,
            why_not=lambda: certificate.why_not(clock.now()),
            worth_knowing=certificate.worth_knowing,
        )
        tasks = [
            asyncio.create_task(local_queues.run()),
            asyncio.create_task(rooms.run()),
            *([asyncio.create_task(remote.run())] if remote is not None else []),
            asyncio.create_task(keep_shown(certificate, source)),
        ]
        try:
            await stack.enter_async_context(served_webhooks(app, certificate, port))
            told = CertificateMetrics(certificate, "webhook")
            await stack.enter_async_context(metrics_alone(metrics, told))
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


_MAY_PASS = (ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing, OSError, UnicodeDecodeError)
"""What is tried again: also a Secret or a definition that was removed in between, or of which the namespace is not there."""


Source = Callable[[], Awaitable[tuple[str, str]]]


async def keep_shown(certificate: Certificate, source: Source, every: float = _LOOK_S) -> None:
    """Serve with the source's certificate, and with each newer one, until cancelled."""
    certificate.stand_in(*_of_nobody())
    while True:
        pause = every
        try:
            certificate.show(*await source())
        except _MAY_PASS as problem:
            if str(problem) != certificate.unread:
                log.warning("no new certificate", problem=str(problem))
            certificate.unread = str(problem)
            pause = min(every, _AGAIN_S)
        await asyncio.sleep(pause)


def _of_nobody() -> tuple[str, str]:
    made = renewed(None, ["not-there-yet.invalid"], ScaledClock().now())
    assert made is not None, "nothing held is always renewed"
    return made.certificate, made.key


def from_secret(trust: CertificateKeeper) -> Source:
    """The certificate in the Secret, which is renewed when that is due."""

    async def read() -> tuple[str, str]:
        held = await trust.look()
        return held.certificate, held.key

    return read


def from_files(certificate: Path, key: Path) -> Source:
    """The certificate in files, such as those of cert-manager."""

    async def read() -> tuple[str, str]:
        return certificate.read_text(), key.read_text()

    return read
