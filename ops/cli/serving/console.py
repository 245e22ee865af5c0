"""Serving the console until SIGINT or SIGTERM: over a running bus, or over the log in a folder."""

import asyncio
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
from rich.console import Console

from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import archive_of, bus_of
from ops.cli.serving.serve import until_stopped
from ops.cli.serving.webhook_commands import from_files, from_secret, keep_shown
from ops.console.gate import AskersAccess
from ops.console.guard import ConsoleUnserved, check_address
from ops.console.identity import ByProxy, ByToken, Identity, TrustedProxy
from ops.console.rights_review import RightsReviews
from ops.console.server import Door, console_served
from ops.console.sessions import Sessions
from ops.production.kubernetes.client import KubeClient, connect
from ops.production.listeners.certificate import Certificate
from ops.production.listeners.listener_limits import ConnectionLimiter, ListenerLimits
from ops.production.listeners.token_review import TokenReviews
from ops.production.process.clock import ScaledClock
from ops.production.process.event_loop import run
from ops.production.process.memory_tuning import tune_memory
from ops.production.webhook.trust import CertificateKeeper

_CONNECTIONS = 2048
"""An open page holds one for what happens, and up to five for what it asks."""


class ConsoleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the console is to be served, and to whom."""

    address: str
    port: int
    scale: float
    access: str = ""
    """`token`, `proxy`, or empty: then everybody on this machine is answered, and nobody else."""
    kubeconfig: str = ""
    context: str = ""
    audiences: tuple[str, ...] = ()
    proxy: TrustedProxy = TrustedProxy()
    proxy_ca: Path | None = None
    files: tuple[Path, Path] | None = None
    """Certificate and key."""
    service: str = ""
    """Namespace and name of the Service whose certificate it makes itself and keeps in a Secret."""

    @property
    def encrypted(self) -> bool:
        """Whether anything says with which certificate it is served."""
        return self.files is not None or bool(self.service)

    def check(self) -> None:
        """Raise `ConsoleUnserved` for what would show everybody everything, or can't be."""
        check_address(self.address, reviewed=bool(self.access), encrypted=self.encrypted)
        if self.access not in ("", "token", "proxy"):
            raise ConsoleUnserved(f"--access {self.access}: write token or proxy")
        if self.access == "proxy" and self.proxy.secret is None and not self.proxy.certificate:
            raise ConsoleUnserved(
                "--access proxy: say how the proxy is known, or everybody could send its headers: --proxy-secret FILE with what it "
                "sends in X-Kuelog-Proxy-Secret, or --proxy-ca FILE with the authority of its client certificate"
            )
        if self.proxy.certificate and not self.encrypted:
            raise ConsoleUnserved("--proxy-ca: a client certificate is shown over TLS: name --tls-cert and --tls-key")
        if self.service and (not self.access or not all(self.service.partition("/"))):
            raise ConsoleUnserved(f"--service {self.service}: expected NAMESPACE/NAME, with --access")


def run_console(source: LogSource, asked: ConsoleOptions, console: Console) -> int:
    """Serve it; 0 when it was stopped."""
    with known_failures() as outcome:
        asked.check()
        tune_memory()
        run(until_stopped(_serve(source, asked, console)))
        console.print("stopped")
        outcome.code = 0
    return outcome.code


async def _serve(source: LogSource, asked: ConsoleOptions, console: Console) -> None:
    async with AsyncExitStack() as stack:
        door = await _door(asked, stack)
        bus = await stack.enter_async_context(bus_of(source))
        archive = await archive_of(source, bus)
        served = await stack.enter_async_context(console_served(bus, door, archive=archive, scale=asked.scale))
        name = f"[{asked.address}]" if ":" in asked.address else asked.address
        scheme = "https" if door.tls is not None else "http"
        console.print(f"console on {scheme}://{name}:{served.port}/ (Ctrl-C stops)", highlight=False, markup=False)
        await asyncio.wait({served.following})
        served.following.result()


async def _door(asked: ConsoleOptions, stack: AsyncExitStack) -> Door:
    """Where it is reached, with what it needs of the cluster: reviews, and its certificate. Raises the known failures."""
    if not asked.access:
        return Door(port=asked.port, address=asked.address, tls=await _tls(asked, None, stack))
    client = await connect(asked.kubeconfig, asked.context, service="console")
    stack.push_async_callback(client.close)
    now = asyncio.get_running_loop().time
    identity: Identity
    if asked.access == "proxy":
        identity = ByProxy(asked.proxy)
    else:
        identity = ByToken(TokenReviews(client, now, asked.audiences), Sessions(now))
    crowd = ConnectionLimiter(ListenerLimits(connections=_CONNECTIONS))
    access = AskersAccess(identity=identity, reviews=RightsReviews(client, now), crowd=crowd)
    tls = await _tls(asked, client, stack)
    return Door(port=asked.port, address=asked.address, tls=tls, access=access)


async def _tls(asked: ConsoleOptions, client: KubeClient | None, stack: AsyncExitStack) -> ssl.SSLContext | None:
    if not asked.encrypted:
        return None
    certificate = Certificate(asks_clients=asked.proxy_ca is not None)
    if asked.proxy_ca is not None:
        try:
            certificate.believe(asked.proxy_ca.read_text())
        except (OSError, UnicodeDecodeError, ssl.SSLError) as problem:
            raise ConsoleUnserved(f"--proxy-ca {asked.proxy_ca}: {problem}") from problem
    if asked.files is not None:
        source = from_files(*asked.files)
        try:
            certificate.show(*await source())
        except (OSError, UnicodeDecodeError, ssl.SSLError) as problem:
            raise ConsoleUnserved(f"{', '.join(str(file) for file in asked.files)}: {problem}") from problem
    else:
        assert client is not None, "whoever makes a certificate of its own asks for rights"
        namespace, _, name = asked.service.partition("/")
        secret = f"{name}-certificate"
        trust = CertificateKeeper(client, ScaledClock(), _Nobody(), namespace=namespace, service=name, secret=secret)
        source = from_secret(trust)
    keeping = asyncio.create_task(keep_shown(certificate, source))
    stack.callback(keeping.cancel)
    return certificate.context


class _Nobody:
    """Nobody has to be told the authority: who wants to check it reads it in the Secret."""

    async def publish(self, authorities: str) -> None:
        """Nothing to do."""
